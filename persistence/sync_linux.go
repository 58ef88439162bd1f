package persistence

import (
	"os"
	"syscall"
)

// syncData spares the disk the times of a file, which fsync would write as well.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
