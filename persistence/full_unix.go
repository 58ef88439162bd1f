//go:build unix

package persistence

import (
	"errors"
	"syscall"
)

// isFull reports whether a disk is full, which is temporary.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
