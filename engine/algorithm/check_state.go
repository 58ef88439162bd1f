package algorithm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/reservation"
)

// ErrState refuses a state that does not fit its limit.
var ErrState = errors.New("state does not fit its limit")

// CheckState returns a state in its full size, in room if that is enough, once nothing in it can mislead the limit's
// algorithm. It may lack zero bytes at its end. An error wraps [ErrState].
func CheckState(l *limits.Limit, text []byte, room *[MaxState]byte) ([]byte, error) {
	if !l.Valid() {
		return nil, fmt.Errorf("algorithm %d, capacity %d, %d tokens per %d ns: %w", l.Algorithm, l.Capacity, l.Rate.Tokens, l.Rate.Period, ErrState)
	}
	alg := &Table[l.Algorithm]
	if alg.Bytes != 0 {
		if len(text) > alg.Bytes {
			return nil, ErrState
		}
		clear(room[copy(room[:], text):])
		return room[:alg.Bytes], nil
	}
	var head [layout.VariableHead]byte
	copy(head[:], text) // it may end before: after the size, an empty string has zeros only
	size := binary.LittleEndian.Uint32(head[:])
	if int64(size) < int64(max(layout.VariableHead, len(text))) || size > engine.MaxVariableState || size%engine.RecordAlign != 0 {
		return nil, ErrState
	}
	state := make([]byte, size)
	copy(state, text)
	// Limits within a state are checked by the table, so its rows cannot refer to these checks.
	if !alg.Valid(state) || l.Algorithm == limits.Reservation && !reservation.State(state).LimitsAreValid() || l.Algorithm == limits.Class && !ClassState(state).AssuredIsValid() ||
		l.Algorithm == limits.SlidingSegments && len(state) < layout.SegmentsBytes(l.Segments) {
		return nil, ErrState
	}
	return state, nil
}
