//go:build !race

package offheap

import "syscall"

// discard makes the bytes of a block zero and gives their memory back. It returns false if the block cannot be used
// again.
func discard(b []byte) bool { return syscall.Madvise(b, syscall.MADV_DONTNEED) == nil }
