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

// CheckPolicy returns [ErrState] unless a decoded operation is one on a policy that can be applied.
func CheckPolicy(o *engine.Op) error {
	switch o.Verb {
	case engine.Restrict, engine.KeepOverflow:
		return checkRestrict(o)
	case engine.KeepScript, engine.DropScripts:
		if len(o.Who) > engine.MaxScriptBytes || len(o.Key) > 0 || len(o.Parts) > 0 {
			return ErrState
		}
		return nil
	}
	switch {
	case o.Verb != engine.SetPolicy && o.Verb != engine.DropPolicy && o.Verb != engine.SetOverride, len(o.Parts) > engine.MaxParts,
		o.Verb == engine.SetPolicy && len(o.Parts) == 0, len(o.Key) > engine.MaxPolicyName, len(o.Who) > engine.MaxKeyBytes:
		return ErrState
	}
	for i := range o.Parts {
		p := &o.Parts[i]
		if !p.Limit.IsAskable() || len(p.Key) > engine.MaxKeyBytes || len(p.Who) > engine.MaxKeyBytes || p.Options&^engine.FixedCost != 0 ||
			p.Tokens < 0 || p.Tokens > limits.MaxTokens || !p.KeepsValidly() || !p.WeighsValidly() {
			return ErrState
		}
	}
	if _, err := o.CheckTemplates(); err != nil || !o.TreesValidly() {
		return ErrState
	}
	return nil
}

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

// checkRestrict reports whether an operation on restrictions that was read from somewhere can be applied, or [ErrState].
func checkRestrict(o *engine.Op) error {
	switch {
	case o.Verb == engine.Restrict && len(o.Parts) == 0 && len(o.Key) <= engine.MaxKeyBytes && len(o.Who) <= engine.MaxKeyBytes && o.Options == 0 && o.NewKeys <= engine.OverflowNew:
		return nil
	case o.Verb == engine.KeepOverflow && len(o.Parts) == 1 && o.Parts[0].Limit.IsAskable() && len(o.Key) <= engine.MaxPrefix && o.Options == 0 && o.Instance < engine.MaxParts:
		return (&Entry{Limit: o.Parts[0].Limit, State: o.Who}).Check()
	}
	return ErrState
}
