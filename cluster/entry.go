package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stintdb/stint/engine"
)

// An entry of the log, little-endian:
//
//	offset  size  field
//	0       1     version of the format
//	1       1     kind
//	2       8     the cluster's time, nanoseconds since the Unix epoch
//	10      8     who proposed it: a number of the process, random
//	18      8     and which of its entries it is
//	26      …     of a decision: groups; of anything else: JSON
//
//	group
//	varint  number of operations ×2, +1 if nothing may come between them
//	varint  length of the operations in bytes
//	…       operations, as [engine.OpWriter] writes them
const (
	entryVersion = 1
	entryHead    = 26

	kindDecisions = 1 // groups
	kindFound     = 2 // the cluster begins: its id
	kindMember    = 3 // what is known of a member
	kindTick      = 4 // time has passed
)

var (
	errEntry      = errors.New("not an entry of Stint's")
	errNewerEntry = errors.New("an entry of a newer version of Stint; start that version on this node")
)

// stampEntry fills in an entry's head, for which room was left.
func stampEntry(b []byte, kind byte, now int64, proposer, number uint64) {
	b[0], b[1] = entryVersion, kind
	binary.LittleEndian.PutUint64(b[2:], uint64(now))
	binary.LittleEndian.PutUint64(b[10:], proposer)
	binary.LittleEndian.PutUint64(b[18:], number)
}

// entryView is an entry as it is read.
type entryView struct {
	kind             byte
	now              int64
	proposer, number uint64
	body             []byte
}

func readEntry(b []byte) (e entryView, err error) {
	switch {
	case len(b) < entryHead || b[0] == 0:
		return e, errEntry
	case b[0] > entryVersion:
		return e, fmt.Errorf("version %d: %w", b[0], errNewerEntry)
	case b[1] < kindDecisions || b[1] > kindTick:
		return e, fmt.Errorf("kind %d: %w", b[1], errNewerEntry)
	}
	return entryView{
		kind: b[1], now: int64(binary.LittleEndian.Uint64(b[2:])),
		proposer: binary.LittleEndian.Uint64(b[10:]), number: binary.LittleEndian.Uint64(b[18:]), body: b[entryHead:],
	}, nil
}

// maxGroupOps bounds the operations of one group: a transaction's commands, each with several keys.
const maxGroupOps = 1 << 20

// appendGroup appends the operations of b at the positions in which, or all if that is nil, as one group.
func appendGroup(buf []byte, w *engine.OpWriter, b *engine.Batch, which []uint32) []byte {
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

// maxGroupBytes is what a padded length of four bytes can tell.
const maxGroupBytes = 1<<28 - 1

// groupView is a group as it is read.
type groupView struct {
	count  int
	atomic bool
	ops    []byte
}

// nextGroup reads the group at the beginning of b.
func nextGroup(b []byte) (g groupView, rest []byte, err error) {
	head, n := binary.Uvarint(b)
	if n <= 0 || head>>1 > maxGroupOps {
		return g, nil, errEntry
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 || length > uint64(len(b)-n-m) || head>>1 > length {
		return g, nil, errEntry
	}
	b = b[n+m:]
	return groupView{count: int(head >> 1), atomic: head&1 == 1, ops: b[:length:length]}, b[length:], nil
}

// readGroup appends a group's operations to ops. They refer to the reader's and the group's memory.
func readGroup(r *engine.OpReader, g groupView, ops []engine.Op) ([]engine.Op, error) {
	r.Reset(g.ops)
	for range g.count {
		ops = append(ops, engine.Op{})
		if err := r.Next(&ops[len(ops)-1]); err != nil {
			return nil, err
		}
	}
	if r.More() {
		return nil, errEntry
	}
	return ops, nil
}
