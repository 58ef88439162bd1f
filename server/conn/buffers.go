package conn

import (
	"errors"
)

// Usage is the memory of a session's own buffers, in bytes.
type Usage struct {
	Input       int // not executed yet
	Arguments   int // scratch of the reader
	Transaction int // commands between MULTI and EXEC, and watched keys
	Handshake   int // of TLS
	Decision    int // a batch that the decider has not finished
	Monitor     int // the backlog of MONITOR
	Backlog     int // the lines in it
	Messages    int // of channels, not written yet, and the names of the channels
	KeyWait     int // a command that waits for keys
	Tracking    int // keys and prefixes that it tracks, and messages about them

	Queued int // commands between MULTI and EXEC, not bytes
}

// Usage returns the sizes of the session's buffers. The owner of the connection calls it.
func (s *Session) Usage() Usage {
	u := Usage{Input: cap(s.rest), Arguments: s.reader.Bytes(),
		Transaction: s.multi.memoryBytes + s.watched.memory(), Handshake: s.handshakeBytes, Queued: len(s.multi.queued)}
	if s.deciding != nil {
		u.Decision = s.deciding.memory()
	}
	if s.backlog != nil {
		u.Monitor, u.Backlog = s.backlog.Bytes()
	}
	if s.subscriptions.subscriber != nil {
		u.Messages = s.subscriptions.subscriber.Bytes()
	}
	if s.keyWait != nil {
		u.KeyWait = s.keyWait.Bytes()
	}
	u.Tracking = s.public.Cache.Bytes()
	return u
}

// bufferBytes is the memory of a connection's buffers. Unsent replies lie in blocks whose sizes are powers of two.
func (s *Session) bufferBytes(unsent int) int {
	u := s.Usage()
	bytes := 2*unsent + u.Input + u.Transaction + u.Handshake + u.Decision + u.Monitor + u.Messages + u.KeyWait + u.Tracking
	if u.Arguments > KeepRestBytes {
		bytes += u.Arguments
	}
	return bytes
}

// ErrClientMemory ends a connection whose buffers are more than its share of --client-memory.
var ErrClientMemory = errors.New("the buffers of all clients are full, and this connection has more than its share")

// CountHandshake adds bytes to those of a TLS handshake, and reports whether they are too much.
func (s *Session) CountHandshake(bytes int) (tooMuch bool) {
	s.handshakeBytes += bytes
	return s.public.OverMemoryLimit(s.bufferBytes(0))
}

// HandshakeBytes is the sum of the bytes given to CountHandshake.
func (s *Session) HandshakeBytes() int { return s.handshakeBytes }
