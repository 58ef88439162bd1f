// Package bloom has a set of keys that may report keys which were not added.
package bloom

import (
	"hash/maphash"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// Filter is a set of the keys of operations. The zero value is empty. All calls must pass the same seed.
type Filter struct {
	any, all bool
	bits     [32]uint64
}

// touchesAll reports whether an operation may touch keys other than its own.
func touchesAll(op *engine.Op) bool {
	return !op.Verb.HasOneKey() && op.Verb != engine.AcquireAll && op.Verb != engine.Command
}

// Add adds the keys of an operation.
func (t *Filter) Add(seed maphash.Seed, op *engine.Op) {
	t.any = true
	switch {
	case touchesAll(op):
		t.all = true
	case op.Verb == engine.Command:
		for _, key := range op.DeclaredKeys() {
			t.addKey(seed, new(database.Room).NameOf(op.Database, key))
		}
	case op.Verb == engine.AcquireAll:
		for i := range op.Parts {
			t.addKey(seed, op.Parts[i].Key)
		}
	default:
		t.addKey(seed, op.Key)
	}
}

func (t *Filter) addKey(seed maphash.Seed, key []byte) {
	h := maphash.Bytes(seed, key) % uint64(len(t.bits)*64)
	t.bits[h/64] |= 1 << (h % 64)
}

func (t *Filter) hasKey(seed maphash.Seed, key []byte) bool {
	h := maphash.Bytes(seed, key) % uint64(len(t.bits)*64)
	return t.bits[h/64]&(1<<(h%64)) != 0
}

// MayContain reports whether an operation may touch a key that was added. Only true may be wrong.
func (t *Filter) MayContain(seed maphash.Seed, op *engine.Op) bool {
	switch {
	case !t.any:
		return false
	case t.all || touchesAll(op):
		return true
	case op.Verb == engine.Command:
		return slices.ContainsFunc(op.DeclaredKeys(), func(key []byte) bool {
			return t.hasKey(seed, new(database.Room).NameOf(op.Database, key))
		})
	case op.Verb == engine.AcquireAll:
		for i := range op.Parts {
			if t.hasKey(seed, op.Parts[i].Key) {
				return true
			}
		}
		return false
	}
	return t.hasKey(seed, op.Key)
}
