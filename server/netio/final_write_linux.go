package netio

import (
	"golang.org/x/sys/unix"
)

// WriteFinal implements conn.ReplyConn: the kernel holds the bytes back until the end of the stream is there too, and sends both in
// one segment. A client that has read the replies then knows that no more can be asked here.
func (l *eventLoopConn) WriteFinal(b []byte) (n int, err error) {
	l.writes.flush()
	fd := l.Fd()
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_CORK, 1) // of a unix socket there is nothing to hold back
	if n, err = l.Conn.Write(b); err != nil {
		return n, err
	}
	if l.Unsent() == 0 {
		_ = unix.Shutdown(fd, unix.SHUT_WR)
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_CORK, 0)
	return n, nil
}
