package disk

import (
	"os"
	"syscall"
)

// syncData syncs a file without its times, which fsync would write as well.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
