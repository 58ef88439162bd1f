//go:build linux && !goroutines

package netio

import (
	"unsafe"

	"github.com/stintdb/stint/server/conn"
	"golang.org/x/sys/unix"
)

// The runtime need not hear of system calls that never wait: telling it costs a good part of a short one. It does hear
// of a large copy, for which the garbage collector would have to wait.
const maxRawBytes = conn.MaxInputBytes

// sendNow sends as much as the kernel takes at once.
func sendNow(fd int, b []byte) (n int, err error) {
	return transfer(unix.SYS_SENDTO, fd, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// receiveNow receives the bytes that have arrived. 0 without an error is the end of the stream.
func receiveNow(fd int, b []byte) (n int, err error) {
	return transfer(unix.SYS_RECVFROM, fd, b, unix.MSG_DONTWAIT)
}

func transfer(number uintptr, fd int, b []byte, flags uintptr) (n int, err error) {
	var done uintptr
	var errno unix.Errno
	if at := unsafe.Pointer(unsafe.SliceData(b)); len(b) > maxRawBytes {
		done, _, errno = unix.Syscall6(number, uintptr(fd), uintptr(at), uintptr(len(b)), flags, 0, 0)
	} else {
		done, _, errno = unix.RawSyscall6(number, uintptr(fd), uintptr(at), uintptr(len(b)), flags, 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(done), nil
}

// epollRaw waits for events as epoll_wait does, and returns their number. It is 0 after a signal, too. The runtime does
// not hear of the wait.
func epollRaw(epoll int, events []unix.EpollEvent, ms int) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), uintptr(ms), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}
