package set

import (
	"math"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var combineRows = []command.Row{{
	Name: "sinter", Syntax: "key ...", Group: "set", Summary: "The members that are in all of the sets.",
	Example: "seen other",
	Cost:    command.ValueSort, Flags: command.ReadOnly, Keys: command.ReadKeys, Shape: resp.Set, Data: data.Code(combines(intersectKeys)),
}, {
	Name: "sunion", Syntax: "key ...", Group: "set", Summary: "The members that are in any of the sets.",
	Example: "seen other",
	Cost:    command.ValueSort, Flags: command.ReadOnly, Keys: command.ReadKeys, Shape: resp.Set, Data: data.Code(combines(uniteKeys)),
}, {
	Name: "sdiff", Syntax: "key ...", Group: "set", Summary: "The members that are in the first set and in none of the others.",
	Example: "seen other",
	Cost:    command.ValueSort, Flags: command.ReadOnly, Keys: command.ReadKeys, Shape: resp.Set, Data: data.Code(combines(subtractKeys)),
}, {
	Name: "sinterstore", Syntax: "destination key ...", Group: "set",
	Summary: "Store the members that are in all of the sets, replacing data at the destination.",
	Example: "other seen",
	Cost:    command.ValueSort, Flags: command.Write | command.DenyOOM,
	KeyFlags: "RW update, RO access", Keys: command.StoredKey, Data: data.Code(stores(intersectKeys)),
}, {
	Name: "sunionstore", Syntax: "destination key ...", Group: "set",
	Summary: "Store the members that are in any of the sets, replacing data at the destination.",
	Example: "other seen",
	Cost:    command.ValueSort, Flags: command.Write | command.DenyOOM,
	KeyFlags: "OW update, RO access", Keys: command.StoredKey, Data: data.Code(stores(uniteKeys)),
}, {
	Name: "sdiffstore", Syntax: "destination key ...", Group: "set",
	Summary: "Store the members that are in the first set and in none of the others, replacing data at the destination.",
	Example: "other seen",
	Cost:    command.ValueSort, Flags: command.Write | command.DenyOOM,
	KeyFlags: "OW update, RO access", Keys: command.StoredKey, Data: data.Code(stores(subtractKeys)),
}, {
	Name: "sintercard", Syntax: "numkeys key ... [LIMIT limit]", Group: "set",
	Summary: "The number of members that are in all of the sets, at most the limit.",
	Example: "2 seen other",
	Cost:    command.ValueSort, Flags: command.ReadOnly | command.MovableKeys, Keys: command.NumberedKeys, Data: data.Code(countIntersection),
}}

// combination combines the sets of keys. It writes the error if it cannot.
type combination func(c *data.Call, keys [][]byte) (all datatype.Set, ok bool)

// intersectKeys looks the members of the smallest set up in those that are in blocks.
func intersectKeys(c *data.Call, keys [][]byte) (all datatype.Set, ok bool) {
	flat, inBlocks := apart(c, keys)
	if len(flat) == 0 {
		smallest, least := 0, math.MaxInt
		for i, key := range inBlocks {
			if n := transaction.Large(c.Tx, key, engine.SetKind).Len(); n < least {
				smallest, least = i, n
			}
		}
		flat = [][]byte{inBlocks[smallest]}
		inBlocks = slices.Delete(inBlocks, smallest, smallest+1)
	}
	sets, ok := readSets(c, flat)
	if !ok {
		return nil, false
	}
	all = sets[0]
	for _, s := range sets[1:] {
		all = all.Inter(s)
	}
	for _, key := range inBlocks {
		all = filter(c, all, key, true)
	}
	return all, true
}

func uniteKeys(c *data.Call, keys [][]byte) (all datatype.Set, ok bool) {
	sets, ok := readSets(c, keys)
	return datatype.SetOf(membersOf(sets)), ok
}

// subtractKeys looks the members of the first set up in the others that are in blocks.
func subtractKeys(c *data.Call, keys [][]byte) (all datatype.Set, ok bool) {
	others, inBlocks := apart(c, keys[1:])
	sets, ok := readSets(c, append([][]byte{keys[0]}, others...))
	if !ok {
		return nil, false
	}
	all = sets[0].Diff(datatype.SetOf(membersOf(sets[1:])))
	for _, key := range inBlocks {
		all = filter(c, all, key, false)
	}
	return all, true
}

// apart divides keys into those whose sets are in blocks, and all others.
func apart(c *data.Call, keys [][]byte) (flat, inBlocks [][]byte) {
	for _, key := range keys {
		if transaction.Large(c.Tx, key, engine.SetKind) != nil {
			inBlocks = append(inBlocks, key)
		} else {
			flat = append(flat, key)
		}
	}
	return flat, inBlocks
}

// filter returns the members of a set that a key's set in blocks has, or has not.
func filter(c *data.Call, of datatype.Set, key []byte, has bool) datatype.Set {
	s := c.Large(key, engine.SetKind)
	c.SpendOn(of.Len(), 0)
	var members [][]byte
	for i := range of.Len() {
		if _, found := s.Find(of.At(i)); found == has {
			members = append(members, of.At(i))
		}
	}
	return datatype.SetOf(members)
}

// combines makes the function of a command that replies with a combination of sets.
func combines(combine combination) func(*data.Call) {
	return func(c *data.Call) {
		if all, ok := combine(c, c.Args[1:]); ok {
			getSet(c, all)
		}
	}
}

// stores makes the function of a command that stores a combination of sets.
func stores(combine combination) func(*data.Call) {
	return func(c *data.Call) {
		if all, ok := combine(c, c.Args[2:]); ok {
			storeSet(c, all)
		}
	}
}

// readNumberedKeys returns the keys whose number is the first argument, and the words after them.
func readNumberedKeys(c *data.Call) (keys, words [][]byte, ok bool) {
	n, ok := command.ParseRedisInt(c.Args[1])
	switch {
	case !ok || n < 1:
		c.Fail(errFewKeys)
		return nil, nil, false
	case n > int64(len(c.Args)-2):
		c.Fail(data.ErrManyScriptKeys)
		return nil, nil, false
	}
	return c.Args[2 : 2+n], c.Args[2+n:], true
}

func countIntersection(c *data.Call) {
	keys, words, ok := readNumberedKeys(c)
	if !ok {
		return
	}
	limit, ok := data.ReadLimit(c, words)
	if !ok {
		return
	}
	if all, ok := intersectKeys(c, keys); ok {
		data.WriteUpTo(c, all.Len(), limit)
	}
}

// readSets reads the sets to combine; a key that does not exist is an empty set. Together they may not be larger than
// one set may be, so that combining many sets is no more work than changing one.
func readSets(c *data.Call, keys [][]byte) (sets []datatype.Set, ok bool) {
	size, members := 0, 0
	for _, key := range keys {
		v, _, ok := c.Get(key, engine.SetKind)
		if !ok {
			return nil, false
		}
		if size += len(v.Data); size > engine.MaxValueBytes {
			c.Fail(data.ErrSetsTooBig.With(engine.MaxValueBytes))
			return nil, false
		}
		if members += datatype.Set(v.Data).Len(); !c.MayCombine(members) {
			return nil, false
		}
		sets = append(sets, v.Data)
	}
	c.Tx.Spend(members * (command.SortWork + command.WalkWork))
	return sets, true
}

func membersOf(sets []datatype.Set) (members [][]byte) {
	for _, s := range sets {
		for i := range s.Len() {
			members = append(members, s.At(i))
		}
	}
	return members
}

// storeSet stores a set in the first key, replacing its data.
func storeSet(c *data.Call, s datatype.Set) {
	if data.StoreValue(c, c.Args[1], engine.SetKind, s) {
		c.Writer.Int(int64(s.Len()))
	}
}
