package keyspace

import (
	"sync"

	"github.com/stintdb/stint/engine/admission"
)

// Shard is one lock's worth of the store: a table of its keys, and the operations on one of them.
type Shard struct {
	mu sync.Mutex
	table
	admission *admission.Admission
	_         [64]byte
}

// Lock locks the shard. Whoever locks several goes in the order of their numbers, or by TryLock.
func (s *Shard) Lock() { s.mu.Lock() }

// TryLock locks the shard unless another goroutine holds the lock.
func (s *Shard) TryLock() bool { return s.mu.TryLock() }

// Unlock unlocks the shard.
func (s *Shard) Unlock() { s.mu.Unlock() }
