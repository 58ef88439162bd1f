package server

import (
	"fmt"
	"time"

	"github.com/stintdb/stint/server/command"
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
	if s.cluster != nil {
		s.cluster.Snapshot(func(err error) {
			if err != nil {
				err = fmt.Errorf("ERR the snapshot could not be written: %w", err)
			}
			done(err)
		})
		return nil
	}
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
	case s.cluster != nil:
		s.cluster.Snapshot(func(error) {})
	case s.keeper == nil:
		return command.ErrNoDir
	case s.keeper.SaveAlone() != nil:
		return command.ErrSaveBusy
	}
	return nil
}

// LastSave implements [command.Server].
func (s *Server) LastSave() int64 {
	if s.cluster != nil {
		if at := s.cluster.Status().LastSnapshot; !at.IsZero() {
			return at.Unix()
		}
	} else if s.keeper != nil {
		if at := s.keeper.Status().LastSave; !at.IsZero() {
			return at.Unix()
		}
	}
	return s.clock.startNano / int64(time.Second)
}

func (s *Server) infoPersistence() []field {
	if s.cluster != nil {
		return []field{{"loading", 0}, {"aof_enabled", 1}, {"rdb_last_save_time", s.LastSave()}, {"durability", "raft"}}
	}
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
