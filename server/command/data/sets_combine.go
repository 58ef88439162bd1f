package data

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var combineRows = []command.Row{{
	Name: "sinter", Syntax: "key ...", Group: "set", Summary: "The members that are in all of the sets.",
	Example: "seen other",
	Cost:    command.ValueSort, Flags: command.ReadOnly, Keys: command.ReadKeys, Shape: resp.Set, Data: code(combines(intersect)),
}, {
	Name: "sunion", Syntax: "key ...", Group: "set", Summary: "The members that are in any of the sets.",
	Example: "seen other",
	Cost:    command.ValueSort, Flags: command.ReadOnly, Keys: command.ReadKeys, Shape: resp.Set, Data: code(combines(unite)),
}, {
	Name: "sdiff", Syntax: "key ...", Group: "set", Summary: "The members that are in the first set and in none of the others.",
	Example: "seen other",
	Cost:    command.ValueSort, Flags: command.ReadOnly, Keys: command.ReadKeys, Shape: resp.Set, Data: code(combines(subtract)),
}, {
	Name: "sinterstore", Syntax: "destination key ...", Group: "set",
	Summary: "Keep the members that are in all of the sets, in place of data at the destination.",
	Example: "other seen",
	Cost:    command.ValueSort, Flags: command.Write | command.DenyOOM, Keys: command.StoredKey, Data: code(stores(intersect)),
}, {
	Name: "sunionstore", Syntax: "destination key ...", Group: "set",
	Summary: "Keep the members that are in any of the sets, in place of data at the destination.",
	Example: "other seen",
	Cost:    command.ValueSort, Flags: command.Write | command.DenyOOM, Keys: command.StoredKey, Data: code(stores(unite)),
}, {
	Name: "sdiffstore", Syntax: "destination key ...", Group: "set",
	Summary: "Keep the members that are in the first set and in none of the others, in place of data at the destination.",
	Example: "other seen",
	Cost:    command.ValueSort, Flags: command.Write | command.DenyOOM, Keys: command.StoredKey, Data: code(stores(subtract)),
}, {
	Name: "sintercard", Syntax: "numkeys key ... [LIMIT limit]", Group: "set",
	Summary: "The number of members that are in all of the sets, at most the limit.",
	Example: "2 seen other",
	Cost:    command.ValueSort, Flags: command.ReadOnly | command.MovableKeys, Keys: numberedKeys, Data: code(countIntersection),
}}

func intersect(sets []datatype.Set) datatype.Set {
	all := sets[0]
	for _, s := range sets[1:] {
		all = all.Inter(s)
	}
	return all
}

func unite(sets []datatype.Set) datatype.Set { return datatype.SetOf(membersOf(sets)) }

func subtract(sets []datatype.Set) datatype.Set {
	return sets[0].Diff(datatype.SetOf(membersOf(sets[1:])))
}

// combines is the Data of a row that replies with a combination of its sets.
func combines(combine func([]datatype.Set) datatype.Set) func(*Call) {
	return func(c *Call) {
		if sets, ok := c.sets(c.Args[1:]); ok {
			getSet(c, combine(sets))
		}
	}
}

// stores is the Data of a row that keeps a combination of its sets.
func stores(combine func([]datatype.Set) datatype.Set) func(*Call) {
	return func(c *Call) {
		if sets, ok := c.sets(c.Args[2:]); ok {
			c.storeSet(combine(sets))
		}
	}
}

// readNumberedKeys returns the keys that the first argument counts, and the words behind them.
func readNumberedKeys(c *Call) (keys, words [][]byte, ok bool) {
	n, ok := command.ParseRedisInt(c.Args[1])
	switch {
	case !ok || n < 1:
		c.fail(errFewKeys)
		return nil, nil, false
	case n > int64(len(c.Args)-2):
		c.fail(errManyScriptKeys)
		return nil, nil, false
	}
	return c.Args[2 : 2+n], c.Args[2+n:], true
}

// readLimit reads the LIMIT of SINTERCARD and ZINTERCARD, 0 for none.
func readLimit(c *Call, words [][]byte) (limit int64, ok bool) {
	for ; len(words) > 0; words = words[2:] {
		if len(words) == 1 || !command.IsWord(words[0], "LIMIT") {
			c.fail(command.ErrSyntax)
			return 0, false
		}
		if limit, ok = c.atLeast(words[1], errNegativeLimit); !ok {
			return 0, false
		}
	}
	return limit, true
}

// writeUpTo writes a number, at most the limit.
func writeUpTo(c *Call, n int, limit int64) {
	if limit == 0 {
		limit = int64(n)
	}
	c.Writer.Int(min(int64(n), limit))
}

func countIntersection(c *Call) {
	keys, words, ok := readNumberedKeys(c)
	if !ok {
		return
	}
	limit, ok := readLimit(c, words)
	if !ok {
		return
	}
	if sets, ok := c.sets(keys); ok {
		writeUpTo(c, intersect(sets).Len(), limit)
	}
}

// sets reads the sets to be combined; a key that does not exist is an empty one. Together they are no larger than one
// may be, so that combining many is no more work than changing one.
func (c *Call) sets(keys [][]byte) (sets []datatype.Set, ok bool) {
	size, members := 0, 0
	for _, key := range keys {
		v, _, ok := c.get(key, limits.SetValue)
		if !ok {
			return nil, false
		}
		if size += len(v.Data); size > engine.MaxValueBytes {
			c.fail(errSetsTooBig.With(engine.MaxValueBytes))
			return nil, false
		}
		if members += datatype.Set(v.Data).Len(); !c.mayCombine(members) {
			return nil, false
		}
		sets = append(sets, v.Data)
	}
	c.Tx.Spend(members * (command.SortWork + command.WalkWork))
	return sets, true
}

// maxCombined bounds the members of the sets, or sorted sets, that one command combines: it sorts them all.
const maxCombined = 20_000

// mayCombine reports whether a command may combine sets of that many members, and writes the error.
func (c *Call) mayCombine(members int) bool {
	if members > maxCombined {
		c.fail(errManyMembers.With(maxCombined))
		return false
	}
	return true
}

func membersOf(sets []datatype.Set) (members [][]byte) {
	for _, s := range sets {
		for i := range s.Len() {
			members = append(members, s.At(i))
		}
	}
	return members
}

// storeSet keeps a set in the first key, in place of its data.
func (c *Call) storeSet(s datatype.Set) {
	if storeValue(c, c.Args[1], limits.SetValue, s) {
		c.Writer.Int(int64(s.Len()))
	}
}

// storeValue keeps a value in a key, in place of its data, or nothing if it is empty. It writes the error if a limiter has the key.
func storeValue(c *Call, to []byte, kind limits.Algorithm, data []byte) (ok bool) {
	if !c.mayReplace(to) {
		return false
	}
	if len(data) == 0 {
		c.Tx.Delete(to)
	} else {
		c.Tx.Set(to, engine.Value{Kind: kind, Data: data})
	}
	return true
}
