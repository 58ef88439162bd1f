package netio

import "golang.org/x/sys/unix"

// discardUnread reads and drops the input of a socket that has arrived.
func discardUnread(fd int) {
	var b [16 << 10]byte
	for range unreadBytes / len(b) {
		if n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_DONTWAIT); n <= 0 || err != nil {
			return
		}
	}
}
