//go:build !race

package offheap

import "syscall"

// discard makes the bytes of a block zero and gives their memory back. It returns false if the block cannot be used
// again.
func discard(b []byte) bool { return syscall.Madvise(b, syscall.MADV_DONTNEED) == nil }

// avoidHugePages has the system give a block memory for the pages that are used, and not for those around them.
func avoidHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_NOHUGEPAGE) }
