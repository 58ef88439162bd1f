package keyspace

import (
	"github.com/stintdb/stint/engine/largevalues"
	"sync"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/limits"
)

// Shard is one lock's worth of the store: a table of its keys, and the operations on one of them.
type Shard struct {
	mu     sync.Mutex
	latest latestTime
	table
	admission *admission.Admission
}

// latestTime is the time of the last operation that could change keys of a shard.
type latestTime int64

// instant returns the time at which an operation is decided that read the clock at now, before it locked the shard: now
// or the latest time, whichever is later. Another goroutine can read the clock later and lock the shard first. At the
// earlier time, the tokens that refill between the two times would be missing, and the last token of a limit would be
// denied.
func (l *latestTime) instant(now int64, writes bool) int64 {
	if now = max(now, int64(*l)); writes {
		*l = latestTime(now)
	}
	return now
}

// Lock locks the shard. Several are locked in the order of their numbers, or with TryLock.
func (s *Shard) Lock() { s.mu.Lock() }

// TryLock locks the shard unless another goroutine holds the lock.
func (s *Shard) TryLock() bool { return s.mu.TryLock() }

// Unlock unlocks the shard.
func (s *Shard) Unlock() { s.mu.Unlock() }

// StateAt is the limit and the state of the key at p, which may have expired. Both are valid until the table changes.
func (s *Shard) StateAt(p Place) (limit *limits.Limit, state []byte) {
	return s.stateOf(s.record(p.ref))
}

// SizeAt is the bytes of the record at p, and of the blocks of its value.
func (s *Shard) SizeAt(p Place) int {
	r := s.record(p.ref)
	limit, state := s.stateOf(r)
	size := RecordBytes(len(state), r.keyLen())
	if s.large.Owns(limit, state) {
		size += largevalues.Stored(state)
	}
	return size
}

// PreserveAt is to be called before the state at p changes: a snapshot may have to copy it.
func (s *Shard) PreserveAt(p Place) { s.preserve(s.record(p.ref)) }

// NoteAt notes for the journal that the state at p changed.
func (s *Shard) NoteAt(p Place) { s.note(p.ref) }

// IsCopied reports whether a snapshot may have to copy records before they change.
func (s *Shard) IsCopied() bool { return s.snapshot != nil }

// Touch reads the first slot that a look-up of tag will read, so that the processor fetches it. Callers keep the value,
// because the compiler leaves out a load whose value nobody uses.
func (s *Shard) Touch(tag uint32) uint64 { return s.index.Touch(tag) }

// Each visits every key, expired ones too.
func (s *Shard) Each(visit func(key []byte, limit *limits.Limit, state []byte)) {
	s.each(func(r record) {
		limit, state := s.stateOf(r)
		visit(r.key(), limit, state)
	})
}
