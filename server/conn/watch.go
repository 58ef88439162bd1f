package conn

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// watchedKeys are the keys that a connection watches, with their fingerprints when they were first watched. The keys
// are those of the operations of WATCH, which a row's Parse makes.
type watchedKeys struct {
	expect engine.Op // of the keys
	bytes  int       // of them
	lost   bool      // some WATCH failed: nobody knows whether its keys change, so EXEC does nothing
}

// watchOverhead is about the memory of a watched key beside its bytes.
const watchOverhead = 64

// watch is called with the outcome of a WATCH, and returns the error of its reply.
func (w *watchedKeys) watch(batch *commandBatch, r *reply, mostBytes int, err error) error {
	for i := 0; i < r.count && err == nil; i++ {
		if !w.add(batch.key(r.first+i, 0), batch.decision.Results[r.first+i].Reply, mostBytes) {
			err = command.ErrWatchesTooMuch.With(engine.MaxExpected)
		}
	}
	w.lost = w.lost || err != nil
	return err
}

// add watches a key; it reports false if that is too much. A key that is watched already may have changed since.
func (w *watchedKeys) add(key, seen []byte, mostBytes int) (ok bool) {
	op := &w.expect
	if slices.ContainsFunc(op.Args, func(known []byte) bool { return bytes.Equal(known, key) }) {
		return true
	}
	if len(op.Args) == engine.MaxExpected || w.bytes+len(key)+watchOverhead > mostBytes {
		return false
	}
	w.bytes += len(key) + watchOverhead
	op.Verb, op.Args, op.KeyCount, op.Who = engine.Expect, append(op.Args, bytes.Clone(key)), op.KeyCount+1,
		append(op.Who, seen...)
	return true
}

// count is the number of keys, 0 for nil.
func (w *watchedKeys) count() int {
	if w == nil {
		return 0
	}
	return len(w.expect.Args)
}

// memory is the memory of the keys in bytes, 0 for nil.
func (w *watchedKeys) memory() int {
	if w == nil {
		return 0
	}
	return w.bytes
}
