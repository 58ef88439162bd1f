package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/resp"
)

var setRows = []Row{{
	Name: "sadd", Syntax: "key member ...", Group: "set", Summary: "Add members to a set.",
	Example: "seen a b",
	Cost:    ValuePass, Flags: Write | DenyOOM | Fast, Keys: changedKey, Data: addToSet,
}, {
	Name: "srem", Syntax: "key member ...", Group: "set", Summary: "Remove members from a set.",
	Example: "seen a b",
	Cost:    ValuePass, Flags: Write | Fast, Keys: changedKey, Data: removeFromSet,
}, {
	Name: "scard", Syntax: "key", Group: "set", Summary: "The number of members of a set.",
	Example: "seen",
	Cost:    ValueCopy, Flags: ReadOnly | Fast, Keys: readKey, Data: reads(limits.SetValue, sizeOfSet),
}, {
	Name: "sismember", Syntax: "key member", Group: "set", Summary: "Whether a set has a member.",
	Example: "seen a",
	Cost:    ValueCopy, Flags: ReadOnly | Fast, Keys: readKey, Data: reads(limits.SetValue, isInSet),
}, {
	Name: "smismember", Syntax: "key member ...", Group: "set", Summary: "Whether a set has each of several members.",
	Example: "seen a b",
	Cost:    ValueCopy, Flags: ReadOnly | Fast, Keys: readKey, Data: reads(limits.SetValue, areInSet),
}, {
	Name: "smembers", Syntax: "key", Group: "set",
	Summary: "All members of a set, in the order of their bytes. Redis has another order.",
	Example: "seen",
	Cost:    ValuePass, Flags: ReadOnly, Keys: readKey, Shape: resp.Set, Data: reads(limits.SetValue, getSet),
}, {
	Name: "sdiffstore", Syntax: "destination key ...", Group: "set",
	Summary: "Keep the members that are in the first set and in none of the others, in place of data at the destination.",
	Example: "other seen",
	Cost:    ValueSort, Flags: Write | DenyOOM, Keys: storedKey, Data: storeDifference,
}, {
	Name: "sunionstore", Syntax: "destination key ...", Group: "set",
	Summary: "Keep the members that are in any of the sets, in place of data at the destination.",
	Example: "other seen",
	Cost:    ValueSort, Flags: Write | DenyOOM, Keys: storedKey, Data: storeUnion,
}}

func addToSet(c *DataCall) {
	v, found, ok := c.get(c.Args[1], limits.SetValue)
	if !ok {
		return
	}
	members, added := c.Args[2:], 0
	if found && len(members) == 1 && datatype.Set(v.Data).Has(members[0]) {
		c.Writer.Int(0)
		return
	}
	if c.change(v, limits.SetValue, datatype.Size(members), workOnSet(v.Data, len(members)), func(data []byte) []byte {
		s, n := datatype.Set(data).Add(members)
		added = n
		return s
	}) {
		c.Writer.Int(int64(added))
	}
}

func removeFromSet(c *DataCall) {
	v, _, ok := c.get(c.Args[1], limits.SetValue)
	if !ok {
		return
	}
	there, removed := false, 0
	for _, member := range c.Args[2:] {
		there = there || datatype.Set(v.Data).Has(member)
	}
	if there {
		c.change(v, limits.SetValue, 0, workOnSet(v.Data, len(c.Args)-2), func(data []byte) []byte {
			s, n := datatype.Set(data).Remove(c.Args[2:])
			removed = n
			return s
		})
	}
	c.Writer.Int(int64(removed))
}

// workOnSet is the work of adding members to a set, or of removing them.
func workOnSet(s datatype.Set, members int) int {
	if members <= datatype.FewMembers {
		return members * copyWork(s)
	}
	return s.Len()*walkWork + members*sortWork
}

func sizeOfSet(c *DataCall, s datatype.Set) {
	c.Writer.Int(int64(s.Len()))
}

func isInSet(c *DataCall, s datatype.Set) {
	c.Writer.Bool(s.Has(c.Args[2]))
}

func areInSet(c *DataCall, s datatype.Set) {
	c.Writer.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		c.Writer.Bool(s.Has(member))
	}
}

func getSet(c *DataCall, s datatype.Set) {
	c.Tx.Spend(s.Len() * writeWork)
	c.Writer.Array(s.Len())
	for i := range s.Len() {
		c.Writer.Bulk(s.At(i))
	}
}

func storeDifference(c *DataCall) {
	if sets, ok := c.sets(); ok {
		c.storeSet(sets[0].Diff(datatype.SetOf(membersOf(sets[1:]))))
	}
}

func storeUnion(c *DataCall) {
	if sets, ok := c.sets(); ok {
		c.storeSet(datatype.SetOf(membersOf(sets)))
	}
}

// sets reads the sets to be combined; a key that does not exist is an empty one. Together they are no larger than one
// may be, so that combining many is no more work than changing one.
func (c *DataCall) sets() (sets []datatype.Set, ok bool) {
	size, members := 0, 0
	for _, key := range c.Args[2:] {
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
	c.Tx.Spend(members * (sortWork + walkWork))
	return sets, true
}

// maxCombined bounds the members of the sets, or sorted sets, that one command combines: it sorts them all.
const maxCombined = 20_000

// mayCombine reports whether a command may combine sets of that many members, and writes the error.
func (c *DataCall) mayCombine(members int) bool {
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
func (c *DataCall) storeSet(s datatype.Set) {
	to := c.Args[1]
	if !c.mayReplace(to) {
		return
	}
	if len(s) == 0 {
		c.Tx.Delete(to)
	} else {
		c.Tx.Set(to, engine.Value{Kind: limits.SetValue, Data: s})
	}
	c.Writer.Int(int64(s.Len()))
}
