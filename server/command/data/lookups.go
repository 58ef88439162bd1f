package data

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine"
)

// Lookups counts the keys that read-only commands looked for, as keyspace_hits and keyspace_misses of INFO. Any goroutine
// may call its methods.
type Lookups struct {
	hits, misses  atomic.Int64
	hitsAtReset   atomic.Int64
	missesAtReset atomic.Int64
}

// Note counts a key that was found, or not.
func (l *Lookups) Note(found bool) {
	if found {
		l.hits.Add(1)
		return
	}
	l.misses.Add(1)
}

// NoteLooks counts the keys of operations that only look at keys.
func (l *Lookups) NoteLooks(ops []engine.Op, results []engine.Result) {
	for i := range ops {
		if ops[i].Verb == engine.Look {
			l.Note(results[i].Status != engine.NotFound)
		}
	}
}

// SinceReset returns the counts since the last Reset.
func (l *Lookups) SinceReset() (hits, misses int64) {
	return l.hits.Load() - l.hitsAtReset.Load(), l.misses.Load() - l.missesAtReset.Load()
}

// Reset begins the counts of SinceReset again.
func (l *Lookups) Reset() {
	l.hitsAtReset.Store(l.hits.Load())
	l.missesAtReset.Store(l.misses.Load())
}
