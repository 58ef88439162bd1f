package group

import (
	"hash/maphash"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// bloomFilter is a set of keys with false positives.
type bloomFilter struct {
	any, all bool
	bits     [32]uint64
}

// touchesAll reports whether an operation may touch keys other than its own.
func touchesAll(op *engine.Op) bool {
	return !op.Verb.HasOneKey() && op.Verb != engine.AcquireAll && op.Verb != engine.Command
}

func (t *bloomFilter) add(seed maphash.Seed, op *engine.Op) {
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

func (t *bloomFilter) addKey(seed maphash.Seed, key []byte) {
	h := maphash.Bytes(seed, key) % uint64(len(t.bits)*64)
	t.bits[h/64] |= 1 << (h % 64)
}

func (t *bloomFilter) hasKey(seed maphash.Seed, key []byte) bool {
	h := maphash.Bytes(seed, key) % uint64(len(t.bits)*64)
	return t.bits[h/64]&(1<<(h%64)) != 0
}

func (t *bloomFilter) mayContain(seed maphash.Seed, op *engine.Op) bool {
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
