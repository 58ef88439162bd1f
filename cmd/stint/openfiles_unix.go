//go:build unix

package main

import (
	"math"
	"syscall"
)

// openFilesLimit is the number of file descriptors that this process may have open.
func openFilesLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // FreeBSD has an int64
}
