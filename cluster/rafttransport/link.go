package rafttransport

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/stintdb/stint/cluster/transport"
)

const (
	// maxMessageBytes bounds a frame. An entry has at most half of that.
	maxMessageBytes = 128 << 20
	// snapshotBytes is the buffer in which a snapshot is sent.
	snapshotBytes = 256 << 10
)

// link is a connection to another node, or a stream in one. It carries one question at a time.
type link struct {
	conn net.Conn
	in   io.Reader
	out  []byte
	id   uint64 // of the last question
	used time.Time
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, in: transport.Buffered(conn)}
}

// ask sends a question, followed by a snapshot if there is one, and reads the answer. refused is an error of the other
// node's Raft.
func (l *link) ask(within time.Duration, h head, question, answer any, snapshot io.Reader) (refused, err error) {
	_ = l.conn.SetDeadline(time.Now().Add(within))
	l.id++
	h.id = l.id
	l.out = appendQuestion(append(l.out[:0], 0, 0, 0, 0), h, question)
	if err := checkSize(l.out); err != nil {
		return nil, err
	}
	if _, err := l.conn.Write(transport.SealFrame(l.out)); err != nil {
		return nil, err
	}
	l.out = transport.KeepFrame(l.out)
	if snapshot != nil {
		out := bufio.NewWriterSize(l.conn, snapshotBytes)
		if _, err := io.Copy(out, snapshot); err != nil {
			return nil, err
		}
		if err := out.Flush(); err != nil {
			return nil, err
		}
	}
	frame, err := transport.ReadFrame(l.in, nil, maxMessageBytes) // Raft may keep the frame
	if err != nil {
		return nil, err
	}
	return readAnswer(frame, h.id, answer)
}

func checkSize(frame []byte) error {
	if n := len(frame) - 4; n > maxMessageBytes {
		return fmt.Errorf("a message of %d bytes, more than the %d that are taken", n, maxMessageBytes)
	}
	return nil
}
