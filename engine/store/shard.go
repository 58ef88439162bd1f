package store

import (
	"sync"

	"github.com/stintdb/stint/engine/admission"
)

// shard is one lock's worth of the store: a table of its keys, and the operations on one of them.
type shard struct {
	mu sync.Mutex
	table
	admission *admission.Admission
	_         [64]byte
}

func (s *shard) lock()         { s.mu.Lock() }
func (s *shard) tryLock() bool { return s.mu.TryLock() }
func (s *shard) unlock()       { s.mu.Unlock() }
