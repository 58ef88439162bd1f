package keyspace

import (
	"fmt"
	"github.com/stintdb/stint/engine/largevalues"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
)

// ErrState refuses an entry whose parts do not fit together.
var ErrState = algorithm.ErrState

// Check reports whether [Store.Load] takes the entry where there is room, or says why not: an error that wraps
// [ErrState].
func (e *Entry) Check() error {
	var room [algorithm.MaxState]byte
	_, err := e.check(&room)
	return err
}

// check returns the entry's state in its full size, in room if that is enough, once nothing in it can mislead the
// algorithm.
func (e *Entry) check(room *[algorithm.MaxState]byte) ([]byte, error) {
	if len(e.Key) > engine.MaxKeyBytes+database.MaxNameBytes {
		return nil, fmt.Errorf("a key of %d bytes: %w", len(e.Key), algorithm.ErrState)
	}
	return algorithm.CheckState(&e.Limit, e.State, room)
}

// Entry is one key as [Store.Scan] shows it. Its slices belong to the store and are only valid during the call.
type Entry struct {
	Key   []byte
	Limit limits.Limit        // the limit the state was last written under
	State []byte              // the algorithm's state, little-endian; of a value in blocks, [Entry.Whole] has all
	large *largevalues.Values // of the shard
}

// Value returns the data of an entry whose limit's algorithm is a kind of value. The data is a copy.
func (e *Entry) Value() (engine.Value, error) {
	state, err := e.check(nil)
	if err != nil {
		return engine.Value{}, err
	}
	data := algorithm.DataOf(state)
	if algorithm.FormOf(state) != algorithm.Flat {
		_, data = algorithm.SplitVersion(data)
	}
	return engine.Value{Kind: engine.KindOf(e.Limit.Algorithm), ExpiresAt: algorithm.ExpiryOf(state), Data: data}, nil
}
