package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// ErrState refuses an entry whose parts do not fit together.
var ErrState = errors.New("state does not fit its limit")

// Check reports whether [Store.Load] takes the entry where there is room, or says why not: an error that wraps [ErrState].
func (e *Entry) Check() error {
	var room [algorithm.MaxState]byte
	_, err := e.check(&room)
	return err
}

// check returns the entry's state in its full size, in room if that is enough, once nothing in it can mislead the
// algorithm.
func (e *Entry) check(room *[algorithm.MaxState]byte) ([]byte, error) {
	l := &e.Limit
	if !l.Valid() || len(e.Key) > engine.MaxKeyBytes {
		return nil, fmt.Errorf("algorithm %d, capacity %d, %d tokens per %d ns: %w", l.Algorithm, l.Capacity, l.Rate.Tokens, l.Rate.Period, ErrState)
	}
	alg := &algorithm.Table[l.Algorithm]
	if alg.Bytes != 0 {
		if len(e.State) > alg.Bytes {
			return nil, ErrState
		}
		clear(room[copy(room[:], e.State):])
		return room[:alg.Bytes], nil
	}
	var head [algorithm.VariableHead]byte
	copy(head[:], e.State) // it may end before: behind the size, an empty string has zeros only
	size := binary.LittleEndian.Uint32(head[:])
	if int64(size) < int64(max(algorithm.VariableHead, len(e.State))) || size > engine.MaxVariableState || size%engine.RecordAlign != 0 {
		return nil, ErrState
	}
	state := make([]byte, size)
	copy(state, e.State)
	// Limits within a state are checked by the table, so its rows cannot refer to these checks.
	if !alg.Valid(state) || l.Algorithm == limits.Reservation && !algorithm.Reservation(state).LimitsAreValid() || l.Algorithm == limits.Class && !algorithm.ClassState(state).AssuredIsValid() {
		return nil, ErrState
	}
	return state, nil
}

// Entry is one key as [Store.Scan] shows it. Its slices belong to the store and are only valid during the call.
type Entry struct {
	Key   []byte
	Limit limits.Limit // the limit the state was last written under
	State []byte       // the algorithm's state, little-endian
}

// Value returns the data of an entry whose limit's algorithm is a kind of value. The data is a copy.
func (e *Entry) Value() (engine.Value, error) {
	state, err := e.check(nil)
	if err != nil {
		return engine.Value{}, err
	}
	return engine.Value{Kind: e.Limit.Algorithm, ExpiresAt: algorithm.ExpiryOf(state), Data: algorithm.DataOf(state)}, nil
}
