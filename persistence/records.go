package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"
)

// A payload has the time of its states, the offset up to which the journal was durable when it was written, and
// records. Each record begins with a byte for its kind. A limit is described before its first use in a block and then
// referred to by number, so that every block can be read without the others.
//
//	8  time, nanoseconds since the Unix epoch
//	8  offset in this journal up to which everything had been synced to disk; 0 in a snapshot
//
//	recLimit    algorithm, span, and as varints capacity, tokens, period, of some algorithms the least tokens: the next limit
//	recState    varints: limit, length of the key, length of the state without the zeros at its end; key; state
//	recDeleted  varint length of the key; key
//	recFlushed  every key before this is gone
//	recPolicy   verb, options, name, id, and the parts: limit, key, holder. With partsWithCosts among the options, each part
//	            also has options, tokens (varint) and Keep (zigzag varint), and with partWithWeight among these, a weight (varint)
//	recForget   every policy before this is gone
//	recEnd      varint number of states in the whole snapshot, which is complete
const (
	recLimit = 1 + iota
	recState
	recDeleted
	recFlushed
	recPolicy
	recEnd
	recForget
)

// newerPolicy on the verb of a recPolicy says that builds from before [engine.NamedFields] would not understand it:
// they would take {name} for text. They refuse the verb instead.
const newerPolicy = 0x80

// partsWithCosts among the options of a recPolicy says that some part has a COST, a KEEP or a WEIGHT.
const partsWithCosts = byte(engine.FixedCost)

// partWithWeight among the options of a part says that it has a WEIGHT.
const partWithWeight = byte(engine.Shadow) // which no part has

// encoder builds the payload of one block, after room for the block's head.
type encoder struct {
	buf    []byte
	limits map[limits.Limit]uint64
	last   limits.Limit
	lastID uint64
	states int // in this block
}

func (e *encoder) start(now int64) {
	e.buf = append(e.buf[:0], make([]byte, disk.BlockHead)...)
	e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(now))
	e.buf = append(e.buf, make([]byte, 8)...)
	if e.limits == nil {
		e.limits = map[limits.Limit]uint64{}
	}
	clear(e.limits)
	e.last, e.states = limits.Limit{}, 0
}

// setSynced records the offset up to which the journal is durable.
func (e *encoder) setSynced(offset int64) {
	binary.LittleEndian.PutUint64(e.buf[disk.BlockHead+8:], uint64(offset))
}

func (e *encoder) isEmpty() bool { return len(e.buf) == disk.BlockHead+disk.PayloadHead }

// limit returns the number of a limit in this block. It first describes a new one.
func (e *encoder) limit(l limits.Limit) uint64 {
	if l == e.last {
		return e.lastID
	}
	id, known := e.limits[l]
	if !known {
		id = uint64(len(e.limits))
		e.limits[l] = id
		e.buf = l.Append(append(e.buf, recLimit))
	}
	e.last, e.lastID = l, id
	return id
}

func (e *encoder) entry(n keyspace.Entry) {
	n = n.Whole()
	id := e.limit(n.Limit)
	state := n.State
	for len(state) > 0 && state[len(state)-1] == 0 {
		state = state[:len(state)-1]
	}
	e.buf = binary.AppendUvarint(append(e.buf, recState), id)
	e.buf = binary.AppendUvarint(e.buf, uint64(len(n.Key)))
	e.buf = binary.AppendUvarint(e.buf, uint64(len(state)))
	e.buf = append(append(e.buf, n.Key...), state...)
	e.states++
}

func (e *encoder) bytes(b []byte) {
	e.buf = append(binary.AppendUvarint(e.buf, uint64(len(b))), b...)
}

func (e *encoder) change(c keyspace.Change) {
	switch c.Kind {
	case keyspace.Changed:
		e.entry(c.Entry)
	case keyspace.Deleted:
		e.buf = append(e.buf, recDeleted)
		e.bytes(c.Entry.Key)
	case keyspace.Flushed:
		e.buf = append(e.buf, recFlushed)
	case keyspace.PolicyChanged:
		e.policy(c.Op)
	case keyspace.PoliciesForgotten:
		e.buf = append(e.buf, recForget)
	}
}

func (e *encoder) policy(op *engine.Op) {
	ids := make([]uint64, len(op.Parts))
	for i := range op.Parts {
		ids[i] = e.limit(op.Parts[i].Limit)
	}
	verb, options, costs := byte(op.Verb), op.OptionBits(), hasCosts(op.Parts)
	if costs {
		options |= partsWithCosts
	}
	if costs || op.Options&engine.NamedFields != 0 {
		verb |= newerPolicy
	}
	e.buf = append(e.buf, recPolicy, verb, options)
	e.bytes(op.Key)
	e.bytes(op.Who)
	e.buf = binary.AppendUvarint(e.buf, uint64(len(op.Parts)))
	for i := range op.Parts {
		e.buf = binary.AppendUvarint(e.buf, ids[i])
		e.bytes(op.Parts[i].Key)
		e.bytes(op.Parts[i].Who)
		if costs {
			e.costs(&op.Parts[i])
		}
	}
}

// costs writes the options, tokens, Keep and Weight of a part.
func (e *encoder) costs(part *engine.Op) {
	options := byte(part.Options)
	if part.Weight != 0 {
		options |= partWithWeight
	}
	e.buf = binary.AppendUvarint(append(e.buf, options), uint64(part.Tokens))
	e.buf = binary.AppendVarint(e.buf, int64(part.Keep))
	if part.Weight != 0 {
		e.buf = binary.AppendUvarint(e.buf, uint64(part.Weight))
	}
}

// hasCosts reports whether a limit of a policy has a COST, a KEEP or a WEIGHT.
func hasCosts(parts []engine.Op) bool {
	for i := range parts {
		if parts[i].Options != 0 || parts[i].Keep != 0 || parts[i].Weight != 0 {
			return true
		}
	}
	return false
}

func (e *encoder) end(states int64) {
	e.buf = binary.AppendUvarint(append(e.buf, recEnd), uint64(states))
}

// RecordError names a record that is undamaged but cannot be applied.
type RecordError struct {
	What string // such as: the state of key "k"
	Err  error
}

func (e *RecordError) Error() string { return e.What + " cannot be applied: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// checkChange returns a [RecordError] for a change that cannot be applied. Both the start of a server and an inspection
// use it.
func checkChange(c keyspace.Change) error {
	switch c.Kind {
	case keyspace.Changed:
		return recordError(c, c.Entry.Check())
	case keyspace.PolicyChanged:
		return recordError(c, store.CheckPolicy(c.Op))
	}
	return nil
}

// recordError wraps the error of a change, if there is one.
func recordError(c keyspace.Change, err error) error {
	if err == nil || !errors.Is(err, keyspace.ErrState) {
		return err
	}
	what := fmt.Sprintf("the state of key %q", truncate(database.KeyOf(c.Entry.Key)))
	if c.Kind == keyspace.PolicyChanged {
		what = fmt.Sprintf("a change of the policy, or of new keys, %q", truncate(c.Op.Key))
	}
	return &RecordError{what, err}
}

// truncate shortens a key for an error.
func truncate(key []byte) []byte { return key[:min(len(key), 128)] }
