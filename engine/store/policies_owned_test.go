package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// A store that may not have every key refuses the check of a policy with another one, and takes nothing.
func TestChecksWithKeysOfOtherStores(t *testing.T) {
	s := New(Config{Shards: 1, Owns: func(key []byte) bool { return key[0] == 'a' }})
	defer s.Close()
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: 1e9}}
	ops := []engine.Op{
		{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("a"), Limit: limit}, {Key: []byte("{}"), Limit: limit}}},
		{Verb: engine.Check, Key: []byte("p"), Who: []byte("b"), Tokens: 1, MaxKey: 64},
		{Verb: engine.Look, Key: []byte("a")},
		{Verb: engine.Check, Key: []byte("p"), Who: []byte("a2"), Tokens: 1, MaxKey: 64},
	}
	results := make([]engine.Result, len(ops))
	s.Apply(1e18, ops, results)
	if results[1].Status != engine.CrossSlot || results[2].Status != engine.NotFound {
		t.Errorf("with a key of another store: status %d, and then the first key has status %d", results[1].Status, results[2].Status)
	}
	if results[3].Status != engine.OK || !results[3].Allowed {
		t.Errorf("with own keys alone: %+v", results[3])
	}
}
