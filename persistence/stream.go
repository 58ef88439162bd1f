package persistence

import (
	"io"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
)

// stateName stands for a file's name in the errors of [ReadState].
const stateName = "the state"

// WriteState writes the entries that have not expired at now, Unix nanoseconds, and the policies of an
// [store.Snapshot], in the format of a snapshot with the number 0. It rests between blocks, so that decisions do not
// wait for the core, and does not release the snapshot. It returns the number of entries and of bytes written.
func WriteState(w io.Writer, frozen *store.Snapshot, now int64) (states, bytes int64, err error) {
	return WriteStateOf(w, frozen, now, func(keyspace.Entry) bool { return true })
}

// WriteStateOf is [WriteState] with those of the entries that keep accepts.
func WriteStateOf(w io.Writer, frozen *store.Snapshot, now int64, keep func(keyspace.Entry) bool) (states, bytes int64, err error) {
	b := &blockWriter{to: w, rest: func() { time.Sleep(snapshotRest) }}
	b.write(header(snapshotMagic, 0, int64(frozen.Len())))
	b.enc.start(now)
	frozen.PolicyOps(func(op *engine.Op) { b.enc.policy(op); b.flushFull(now) })
	frozen.Scan(now, func(e keyspace.Entry) {
		if b.err != nil || !keep(e) {
			return // after an error the scan goes on without effect, but quickly
		}
		b.enc.entry(e)
		states++
		b.flushFull(now)
	})
	b.enc.end(states)
	b.flush(now)
	return states, b.offset, b.err
}

// ReadState reads the output of [WriteState], to the end of in, into an empty store. Entries expired at now, Unix
// nanoseconds, are left out; 0 leaves out none. It returns the time the state was written at, and the number of entries
// read. Damage is a [DamageError] with the offset; one that [errors.Is] [ErrNewer] was written by a newer version.
// After an error the store has a part of the state, and must be cleared.
func ReadState(in io.Reader, keys *store.Store, now int64) (stateTime, states int64, err error) {
	found, err := ReadBackup(stateName, in, keys, now)
	return found.Time, found.Keys, err
}
