package persistence

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// isFull reports whether a disk is full, which is temporary. Tests fill a disk with the error of Unix.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED) ||
		errors.Is(err, syscall.ENOSPC)
}
