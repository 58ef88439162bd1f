package call

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// A group is the operations of a call as bytes, in an entry of the log and in a frame to the leader:
//
//	varint  number of operations ×2, +1 if nothing may come between them
//	varint  length of the operations in bytes
//	…       operations, as [opcodec.Writer] writes them

// ErrFormat is the error of bytes that are no group, or no entry.
var ErrFormat = errors.New("not an entry of Stint's")

// MaxGroupOps bounds the operations of one group, such as a transaction's commands, each with several keys.
const MaxGroupOps = 1 << 20

// AppendGroup appends operations of b as one group: those at the positions in which, or all if which is nil.
func AppendGroup(buf []byte, w *opcodec.Writer, b *engine.Batch, which []uint32) []byte {
	n := len(which)
	if which == nil {
		n = len(b.Ops)
	}
	head := uint64(n) << 1
	if b.Atomic {
		head |= 1
	}
	buf = binary.AppendUvarint(buf, head)
	const room = 4 // for the length, which is not known yet
	at := len(buf)
	buf = append(buf, make([]byte, room)...)
	w.Reset()
	if which == nil {
		for i := range b.Ops {
			buf = w.Append(buf, &b.Ops[i])
		}
	} else {
		for _, i := range which {
			buf = w.Append(buf, &b.Ops[i])
		}
	}
	putPaddedUvarint(buf[at:at+room], uint64(len(buf)-at-room))
	return buf
}

// putPaddedUvarint writes n as a varint that takes all of b, whose last byte ends it.
func putPaddedUvarint(b []byte, n uint64) {
	for i := range b[:len(b)-1] {
		b[i] = byte(n) | 0x80
		n >>= 7
	}
	b[len(b)-1] = byte(n)
}

// MaxBytes bounds a group. With an entry that is nearly full before it, it fits a block of the log (40 MiB) and a frame
// between nodes (64 MiB).
const MaxBytes = 32 << 20

// PackGroup is AppendGroup with the checks that proposed and forwarded groups need. A group that some reader would
// refuse is left out, and the status is the reason: the group would stay in the log, and no node could get past it.
func PackGroup(buf []byte, w *opcodec.Writer, b *engine.Batch, which []uint32) ([]byte, engine.Status) {
	if len(b.Ops) > MaxGroupOps {
		return buf, engine.TooBig
	}
	packed := AppendGroup(buf, w, b, which)
	switch {
	case w.Err() != nil:
		return buf, engine.Unreadable
	case len(packed)-len(buf) > MaxBytes:
		return buf, engine.TooBig
	}
	return packed, engine.OK
}

// Group is a group as it is read.
type Group struct {
	Count  int
	Atomic bool // nothing may come between its operations
	Ops    []byte
}

// NextGroup reads the group at the beginning of b.
func NextGroup(b []byte) (g Group, rest []byte, err error) {
	head, n := binary.Uvarint(b)
	if n <= 0 || head>>1 > MaxGroupOps {
		return g, nil, ErrFormat
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 || length > uint64(len(b)-n-m) || head>>1 > length {
		return g, nil, ErrFormat
	}
	b = b[n+m:]
	return Group{Count: int(head >> 1), Atomic: head&1 == 1, Ops: b[:length:length]}, b[length:], nil
}

// ReadGroup appends a group's operations to ops. They refer to the reader's and the group's memory.
func ReadGroup(r *opcodec.Reader, g Group, ops []engine.Op) ([]engine.Op, error) {
	r.Reset(g.Ops)
	for range g.Count {
		ops = slices.Grow(ops, 1)[:len(ops)+1] // Next sets all of it
		if err := r.Next(&ops[len(ops)-1]); err != nil {
			return nil, err
		}
	}
	if r.More() {
		return nil, ErrFormat
	}
	return ops, nil
}

// Pack makes a call ready to be forwarded. The leader answers reads from its applied state, which may be older than
// this node's. The reads of a batch in order therefore go into an entry, as two or more operations do between which
// nothing may come.
func (c *Call) Pack() (status engine.Status) {
	b := *c.Batch
	if b.InOrder {
		b.Atomic = true
		switch {
		case len(c.Unanswered) == 1:
			c.Unanswered = []uint32{c.Unanswered[0], c.Unanswered[0]}
		case len(b.Ops) == 1:
			c.Unanswered = []uint32{0, 0}
		}
	}
	c.Group, status = PackGroup(nil, &opcodec.Writer{}, &b, c.Unanswered)
	c.Summarize()
	return status
}
