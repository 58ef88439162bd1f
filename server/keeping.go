package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Keeper keeps the store's state on disk, as the server sees it.
type Keeper interface {
	// Save starts a snapshot, after one that is being written; done is told when it is complete.
	Save() (done <-chan error)
	// SaveAlone starts a snapshot. It fails if one is being written.
	SaveAlone() error
	// SkipLastSnapshot has none written at the end.
	SkipLastSnapshot()
	Status() KeeperStatus
}

// KeeperStatus is what INFO shows of a Keeper.
type KeeperStatus struct {
	Mode          string
	Err           error // why state is not kept at the moment, nil if it is
	Saving        bool
	LastSave      time.Time
	LastSaveErr   error
	SnapshotBytes int64
	SnapshotKeys  int64
	JournalBytes  int64
	Journaled     int64     // bytes written to journals since the start
	FlushedUntil  time.Time // all decided before is in the kernel's hands at least
}

// Save implements [command.Server].
func (s *Server) Save(done func(error)) error {
	if s.keeper == nil {
		return command.ErrNoDir
	}
	result := s.keeper.Save()
	go func() {
		if err := <-result; err != nil {
			done(fmt.Errorf("ERR the snapshot could not be written: %w", err))
			return
		}
		done(nil)
	}()
	return nil
}

// SaveAlone implements [command.Server].
func (s *Server) SaveAlone() error {
	switch {
	case s.keeper == nil:
		return command.ErrNoDir
	case s.keeper.SaveAlone() != nil:
		return command.ErrSaveBusy
	}
	return nil
}

// LastSave implements [command.Server].
func (s *Server) LastSave() int64 {
	if s.keeper != nil {
		if at := s.keeper.Status().LastSave; !at.IsZero() {
			return at.Unix()
		}
	}
	return s.clock.startNano / int64(time.Second)
}

func (s *Server) infoPersistence() []field {
	if s.keeper == nil {
		return []field{{"loading", 0}, {"aof_enabled", 0}, {"durability", "none"}}
	}
	st := s.keeper.Status()
	fields := []field{{"loading", 0}, {"aof_enabled", zeroOrOne(st.Mode != "snapshot")}}
	if st.Mode != "snapshot" {
		fields = append(fields, field{"aof_last_write_status", okOrErr(st.Err)})
	}
	fields = append(fields, []field{
		{"rdb_bgsave_in_progress", zeroOrOne(st.Saving)},
		{"rdb_last_save_time", s.LastSave()}, {"rdb_last_bgsave_status", okOrErr(st.LastSaveErr)},
		{"durability", st.Mode}, {"snapshot_bytes", st.SnapshotBytes}, {"snapshot_keys", st.SnapshotKeys},
		{"journal_bytes", st.JournalBytes}, {"journal_written_bytes", st.Journaled}, {"journal_flushed_until_usec", st.FlushedUntil.UnixMicro()},
	}...)
	if st.Err != nil {
		fields = append(fields, field{"persistence_error", st.Err})
	}
	if st.LastSaveErr != nil {
		fields = append(fields, field{"snapshot_error", st.LastSaveErr})
	}
	return fields
}

func okOrErr(err error) string {
	if err != nil {
		return "err"
	}
	return "ok"
}

func zeroOrOne(b bool) int {
	if b {
		return 1
	}
	return 0
}

// awaited is a reply that comes when something outside the session is done.
type awaited struct {
	over   atomic.Bool
	err    error // set before over
	quiet  bool
	finish func(w *resp.Writer) // if not nil, writes the reply
	wait   *waiter              // what sets over, if that is a time
}

// finishAwaited writes the reply that has become ready.
func (s *session) finishAwaited(ws *workspace) {
	a, w := s.awaited, &ws.out
	s.awaited = nil
	mark := len(w.Buf)
	switch {
	case a.finish != nil:
		a.finish(w)
		s.publish()
	case a.err != nil:
		w.Error(a.err.Error())
	default:
		w.Status("OK")
	}
	if a.quiet {
		w.Buf = w.Buf[:mark]
	}
}

// Await implements [command.Session].
func (s *session) Await(start func(done func(error))) {
	a := &awaited{quiet: s.silent}
	s.awaited = a
	start(func(err error) {
		a.err = err
		a.over.Store(true)
		s.wake()
	})
}
