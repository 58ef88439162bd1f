package netio

import (
	"io"
	"net"
	"syscall"
	"time"
)

// If a connection closes with unread input, the kernel resets it, and its client may lose the answer. So the stream of
// answers is ended first, and what the client still sends is read, within these bounds.
const (
	halfClosedFor   = 500 * time.Millisecond
	halfClosedBytes = 64 << 20
	unreadBytes     = 1 << 20 // the most bytes that are read where there is no time to wait
)

// HalfClose ends the stream of answers, and reads what the client still sends, until it closes too.
func HalfClose(c net.Conn) error {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	if err := half.CloseWrite(); err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Now().Add(halfClosedFor))
	_, _ = io.CopyN(io.Discard, c, halfClosedBytes)
	return nil
}

// EndStream ends the stream of answers, and reads the input that has arrived. It does not wait.
func EndStream(c net.Conn) {
	half, ok := c.(interface {
		CloseWrite() error
		syscall.Conn
	})
	if !ok || half.CloseWrite() != nil {
		return
	}
	if raw, err := half.SyscallConn(); err == nil { // Control, since another goroutine may wait in Read
		_ = raw.Control(func(fd uintptr) { discardUnread(int(fd)) })
	}
}
