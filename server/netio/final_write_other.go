//go:build !linux

package netio

// WriteFinal implements conn.ReplyConn; closing the connection then ends the stream.
func (l eventLoopConn) WriteFinal(b []byte) (int, error) { return l.Write(b) }
