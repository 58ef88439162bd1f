package algorithm

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// The state of a value:
//
//	offset  size  field
//	0       4     size of the state
//	4       4     length of the data; its highest bits are the form
//	8       8     ExpiresAt
//	16      n     data; zeros after it
const valueHead = 16

// Form is how a value is kept.
type Form uint32

// The forms of values. Only the first two are in memory, and all but [InBlocks] in files.
const (
	Flat     Form = 0
	InBlocks Form = 1 << 31 // the data is a [large.Head]
	Whole    Form = 1 << 30 // of a value in blocks: the data is its version and its flat bytes
	Log      Form = 1 << 29 // of a value in blocks: the data is a version, and the changes since
	lengths       = 1<<29 - 1
)

// FormOf is the form of the value in a state.
func FormOf(state []byte) Form { return Form(binary.LittleEndian.Uint32(state[4:]) &^ lengths) }

// versionBytes are the bytes of a version.
const versionBytes = 8

// SplitVersion returns the version in the data of a form with versions, and the rest of the data.
func SplitVersion(data []byte) (version uint64, rest []byte) {
	return binary.LittleEndian.Uint64(data), data[versionBytes:]
}

// AppendForm appends the state of a value in a form that only files have: the version, and the rest of its data.
func AppendForm(b []byte, f Form, expiresAt int64, version uint64, rest []byte) []byte {
	start, size := len(b), valueHead+versionBytes+len(rest)
	b = binary.LittleEndian.AppendUint32(b, uint32(engine.Align(size)))
	b = binary.LittleEndian.AppendUint32(b, uint32(f)|uint32(versionBytes+len(rest)))
	b = binary.LittleEndian.AppendUint64(b, uint64(expiresAt))
	b = binary.LittleEndian.AppendUint64(b, version)
	b = append(b, rest...)
	return append(b, make([]byte, start+engine.Align(size)-len(b))...)
}

func valueKind(valid func(data []byte) bool) Row {
	return Row{Look: lookValue, Expired: valueExpired, Rewind: rewindTimes(8), Plain: plainValue,
		Full:  func(*limits.Limit) int64 { return 0 }, // a value that does not fit is refused as a whole
		Valid: func(state []byte) bool { return validValue(state) && validForm(state, valid) }}
}

// flatKind is the row of a kind whose values are never in blocks.
func flatKind(valid func(data []byte) bool) Row {
	row := valueKind(valid)
	row.Valid = func(state []byte) bool { return validValue(state) && FormOf(state) == Flat && valid(DataOf(state)) }
	return row
}

// validForm reports whether the data of a state is of its form, which is one that files have.
func validForm(state []byte, valid func(data []byte) bool) bool {
	data := DataOf(state)
	switch form := FormOf(state); {
	case form == Flat:
		return valid(data)
	case len(data) < versionBytes:
		return false
	case form == Whole:
		return valid(data[versionBytes:])
	}
	return FormOf(state) == Log && large.ValidLog(data[versionBytes:])
}

var (
	stringKind    = flatKind(func([]byte) bool { return true })
	hashKind      = valueKind(datatype.ValidHash)
	sortedSetKind = valueKind(datatype.ValidSortedSet)
	listKind      = valueKind(datatype.ValidList)
	setKind       = valueKind(datatype.ValidSet)
	streamKind    = valueKind(datatype.ValidStream)
	gcraKind      = gcraValueKind()
)

// gcraValueKind is the row of the state of Redis's GCRA. Redis keeps its clock and expiries in milliseconds, and the
// key through the last of them: with short intervals it counts.
func gcraValueKind() Row {
	row := flatKind(datatype.ValidGCRA)
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
	n := int(binary.LittleEndian.Uint32(state[4:]) & lengths)
	return state[valueHead : valueHead+n : valueHead+n]
}

// ExpiryOf is the time at which the value of a state expires, 0 for never.
func ExpiryOf(state []byte) int64 { return int64(binary.LittleEndian.Uint64(state[8:])) }

func validValue(state []byte) bool {
	return len(state) >= valueHead && uint64(binary.LittleEndian.Uint32(state[4:])&lengths) <= uint64(len(state)-valueHead) && ExpiryOf(state) >= 0
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
	case v.Kind == engine.StringKind, v.Kind == engine.GCRAKind, v.InBlocks:
		return need
	}
	return engine.Align(valueHead + len(v.Data) + len(v.Data)/4) // a collection grows element by element
}

// StoreValue writes a value to its state.
func StoreValue(state []byte, v *engine.Value) {
	layout.SetVariableSize(state, len(state))
	length := uint32(len(v.Data))
	if v.InBlocks {
		length |= uint32(InBlocks)
	}
	binary.LittleEndian.PutUint32(state[4:], length)
	binary.LittleEndian.PutUint64(state[8:], uint64(v.ExpiresAt))
	clear(state[valueHead+copy(state[valueHead:], v.Data):])
}
