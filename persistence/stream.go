package persistence

import (
	"io"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"
)

// stateName stands for a file's name in the errors of [ReadState].
const stateName = "the state"

// WriteState writes the entries that have not expired at now, Unix nanoseconds, and the policies of a
// [store.Snapshot], in the format of a snapshot with the number 0. It rests between blocks, so that decisions do not
// wait for the core, and does not release the snapshot. It returns the number of entries and of bytes written.
func WriteState(w io.Writer, frozen *store.Snapshot, now int64) (states, bytes int64, err error) {
	s := newStateWriter(w, int64(frozen.Len()), now)
	frozen.PolicyOps(s.policy)
	frozen.Scan(now, s.entry)
	return s.end()
}

// DivideState writes several states in one scan, in the format of [WriteState]: each has all policies, and those
// entries of which place returns its number. Entries of a number below 0 are in none. It keeps one block of each state
// in memory.
func DivideState(to []io.Writer, frozen *store.Snapshot, now int64, place func(keyspace.Entry) int) error {
	states := make([]*stateWriter, len(to))
	for i, w := range to {
		states[i] = newStateWriter(w, 0, now)
		frozen.PolicyOps(states[i].policy)
	}
	frozen.Scan(now, func(e keyspace.Entry) {
		if at := place(e); at >= 0 {
			states[at].entry(e)
		}
	})
	for _, s := range states {
		if _, _, err := s.end(); err != nil {
			return err
		}
	}
	return nil
}

// stateWriter writes the state of one moment.
type stateWriter struct {
	blockWriter
	now    int64
	states int64 // entries
}

// newStateWriter begins with a number of entries to reserve memory for.
func newStateWriter(w io.Writer, reserve, now int64) *stateWriter {
	s := &stateWriter{blockWriter: blockWriter{to: w, rest: func() { time.Sleep(snapshotRest) }}, now: now}
	s.write(disk.Header(disk.SnapshotMagic, 0, reserve))
	s.enc.start(now)
	return s
}

func (s *stateWriter) policy(op *engine.Op) {
	s.enc.policy(op)
	s.flushFull(s.now)
}

func (s *stateWriter) entry(e keyspace.Entry) {
	if s.err != nil {
		return // the scan goes on without effect, but quickly
	}
	s.enc.entry(e)
	s.states++
	s.flushFull(s.now)
}

func (s *stateWriter) end() (states, bytes int64, err error) {
	s.enc.end(s.states)
	s.flush(s.now)
	return s.states, s.offset, s.err
}

// ReadState reads the output of [WriteState], to the end of in, into an empty store. Entries expired at now, Unix
// nanoseconds, are left out; 0 leaves out none. It returns the time the state was written at, and the number of entries
// read. Damage is a [disk.DamageError] with the offset; one that [errors.Is] [disk.ErrNewer] was written by a newer
// version. After an error the store has a part of the state, and must be cleared.
func ReadState(in io.Reader, keys *store.Store, now int64) (stateTime, states int64, err error) {
	return ReadStateResting(in, keys, now, nil)
}

// ReadStateResting is [ReadState] beside other work: after each block rest gets the time that the block took, and may
// sleep. Several goroutines call it. nil never rests.
func ReadStateResting(in io.Reader, keys *store.Store, now int64, rest func(took time.Duration)) (stateTime, states int64,
	err error) {
	r := &recovery{store: keys, now: now, rest: rest}
	err = r.readBackup(stateName, in)
	return r.found.Time, r.found.Keys, err
}
