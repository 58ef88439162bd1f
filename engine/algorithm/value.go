package algorithm

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// The state of a value:
//
//	offset  size  field
//	0       4     size of the state
//	4       4     length of the data
//	8       8     ExpiresAt
//	16      n     data; zeros after it
const valueHead = 16

func valueKind(valid func(data []byte) bool) Row {
	return Row{Look: lookValue, Expired: valueExpired, Rewind: rewindTimes(8), Plain: plainValue,
		Full:  func(*limits.Limit) int64 { return 0 }, // a value that does not fit is refused as a whole
		Valid: func(state []byte) bool { return validValue(state) && valid(DataOf(state)) }}
}

var (
	stringKind    = valueKind(func([]byte) bool { return true })
	hashKind      = valueKind(datatype.ValidHash)
	sortedSetKind = valueKind(datatype.ValidSortedSet)
	listKind      = valueKind(datatype.ValidList)
	setKind       = valueKind(datatype.ValidSet)
	gcraKind      = gcraValueKind()
)

// gcraValueKind is the row of the state of Redis's GCRA. Redis keeps its clock and expiries in milliseconds, and the
// key through the last of them: with short intervals it counts.
func gcraValueKind() Row {
	row := valueKind(datatype.ValidGCRA)
	row.Expired = func(state []byte, _ *limits.Limit, now int64) bool {
		at := ExpiryOf(state)
		return at != 0 && at <= now-int64(time.Millisecond)
	}
	row.Look = func(c *Call) {
		if lookValue(c); ExpiryOf(c.State) != 0 {
			c.Result.Reset = max(0, c.Result.Reset)
		}
	}
	row.Rewind = func(state []byte, _ *limits.Limit, by int64) {
		turnBack(state, by, 8)
		turnBack(state, by/int64(time.Microsecond), valueHead)
	}
	return row
}

// DataOf is the data in the state of a value.
func DataOf(state []byte) []byte {
	n := int(binary.LittleEndian.Uint32(state[4:]))
	return state[valueHead : valueHead+n : valueHead+n]
}

// ExpiryOf is the time at which the value of a state expires, 0 for never.
func ExpiryOf(state []byte) int64 { return int64(binary.LittleEndian.Uint64(state[8:])) }

func validValue(state []byte) bool {
	return len(state) >= valueHead && uint64(binary.LittleEndian.Uint32(state[4:])) <= uint64(len(state)-valueHead) && ExpiryOf(state) >= 0
}

func valueExpired(state []byte, _ *limits.Limit, now int64) bool {
	at := ExpiryOf(state)
	return at != 0 && at <= now
}

// lookValue reports the time until the key expires, [engine.NeverExpires] if it does not.
func lookValue(c *Call) {
	c.Result.Reset = engine.NeverExpires
	if at := ExpiryOf(c.State); at != 0 {
		c.Result.Reset = at - c.Now
	}
}

// plainValue leaves out the room to grow.
func plainValue(state []byte, _ int64) []byte {
	return bytes.Clone(state[4 : valueHead+len(DataOf(state))])
}

// ValueSize is the size of the state that keeps a value in place of one of had bytes, 0 for none. It depends on the
// earlier values of the key alone: a replica stores the same.
func ValueSize(v *engine.Value, had int) int {
	need := engine.Align(valueHead + len(v.Data))
	switch {
	case need <= had && (need >= had/4 || had <= 4*valueHead):
		return had
	case v.Kind == engine.StringKind, v.Kind == engine.GCRAKind:
		return need
	}
	return engine.Align(valueHead + len(v.Data) + len(v.Data)/4) // a collection grows element by element
}

// StoreValue writes a value to its state.
func StoreValue(state []byte, v *engine.Value) {
	layout.SetVariableSize(state, len(state))
	binary.LittleEndian.PutUint32(state[4:], uint32(len(v.Data)))
	binary.LittleEndian.PutUint64(state[8:], uint64(v.ExpiresAt))
	clear(state[valueHead+copy(state[valueHead:], v.Data):])
}
