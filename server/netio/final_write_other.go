//go:build !linux

package netio

// WriteFinal implements conn.ReplyConn; closing the connection then ends the stream.
func (l *eventLoopConn) WriteFinal(b []byte) (int, error) {
	l.writes.flush()
	return l.Conn.Write(b)
}
