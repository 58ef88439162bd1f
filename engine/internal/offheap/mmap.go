//go:build unix && !race

package offheap

import (
	"sync/atomic"
	"syscall"
)

// maxMappings bounds the mappings of this package. Linux allows a process 65,530, and Go needs some.
const maxMappings = 32 << 10

var mappings atomic.Int64

// mapBlock returns nil when there are many, or when the system refuses; the caller then uses the heap.
func mapBlock(n int) []byte {
	if mappings.Load() >= maxMappings {
		return nil
	}
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	mappings.Add(1)
	return b
}

// unmapBlock gives a block back. One that came from the heap is unknown to Munmap and is left to the collector.
func unmapBlock(b []byte) {
	if syscall.Munmap(b) == nil {
		mappings.Add(-1)
	}
}
