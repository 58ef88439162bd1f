//go:build unix && !race

package offheap

import "syscall"

// mapBlock returns nil when the system refuses; the caller then uses the heap.
func mapBlock(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

// unmapBlock gives a block back. One that came from the heap is unknown to Munmap and is left to the collector.
func unmapBlock(b []byte) { _ = syscall.Munmap(b) }
