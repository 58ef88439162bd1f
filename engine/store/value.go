package store

import (
	"bytes"
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
)

// MaxValueBytes bounds the data of one value: a command reads and copies all of it.
const MaxValueBytes = 1 << 20

// Value is the data of a key that holds no limiter: a string, hash, sorted set, list or set of Redis.
type Value struct {
	Kind      limits.Algorithm // of a limiter's key, its algorithm: such a key has no Data
	ExpiresAt int64            // nanoseconds since the Unix epoch; 0 for never
	Data      []byte           // laid out as package datatype says
}

// The state of a value:
//
//	offset  size  field
//	0       4     size of the state
//	4       4     length of the data
//	8       8     ExpiresAt
//	16      n     data; zeros behind it
const valueHead = 16

func valueKind(valid func(data []byte) bool) algorithm {
	return algorithm{look: lookValue, expired: valueExpired, rewind: rewindTimes(8), plain: plainValue,
		full:  func(*limits.Limit) int64 { return 0 }, // a value that does not fit is refused as a whole
		valid: func(state []byte) bool { return validValue(state) && valid(dataOf(state)) }}
}

var (
	stringKind    = valueKind(func([]byte) bool { return true })
	hashKind      = valueKind(datatype.ValidHash)
	sortedSetKind = valueKind(datatype.ValidSortedSet)
	listKind      = valueKind(datatype.ValidList)
	setKind       = valueKind(datatype.ValidSet)
)

func dataOf(state []byte) []byte {
	n := int(binary.LittleEndian.Uint32(state[4:]))
	return state[valueHead : valueHead+n : valueHead+n]
}

// Value returns the data of an entry whose limit's algorithm is a kind of value. The data is a copy.
func (e *Entry) Value() (Value, error) {
	state, err := e.check(nil)
	if err != nil {
		return Value{}, err
	}
	return Value{Kind: e.Limit.Algorithm, ExpiresAt: expiryOf(state), Data: dataOf(state)}, nil
}

func expiryOf(state []byte) int64 { return int64(binary.LittleEndian.Uint64(state[8:])) }

func validValue(state []byte) bool {
	return len(state) >= valueHead && uint64(binary.LittleEndian.Uint32(state[4:])) <= uint64(len(state)-valueHead) && expiryOf(state) >= 0
}

func valueExpired(state []byte, _ *limits.Limit, now int64) bool {
	at := expiryOf(state)
	return at != 0 && at <= now
}

// lookValue reports the time until the key expires, [NeverExpires] if it does not.
func lookValue(c *call) {
	c.result.Reset = engine.NeverExpires
	if at := expiryOf(c.state); at != 0 {
		c.result.Reset = at - c.now
	}
}

// plainValue leaves out the room to grow.
func plainValue(state []byte, _ int64) []byte {
	return bytes.Clone(state[4 : valueHead+len(dataOf(state))])
}

// valueSize is the size of the state that keeps a value in place of one of had bytes, 0 for none. It depends on the
// earlier values of the key alone: a replica stores the same.
func valueSize(v *Value, had int) int {
	need := engine.Align(valueHead + len(v.Data))
	switch {
	case need <= had && (need >= had/4 || had <= 4*valueHead):
		return had
	case v.Kind == limits.StringValue:
		return need
	}
	return engine.Align(valueHead + len(v.Data) + len(v.Data)/4) // a collection grows element by element
}

// storeValue writes a value to its state.
func storeValue(state []byte, v *Value) {
	setVariableSize(state, len(state))
	binary.LittleEndian.PutUint32(state[4:], uint32(len(v.Data)))
	binary.LittleEndian.PutUint64(state[8:], uint64(v.ExpiresAt))
	clear(state[valueHead+copy(state[valueHead:], v.Data):])
}
