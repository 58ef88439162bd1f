package data

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var setRows = []command.Row{{
	Name: "sadd", Syntax: "key member ...", Group: "set", Summary: "Add members to a set.",
	Example: "seen a b",
	Cost:    command.ValuePass, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.ChangedKey, Data: code(addToSet),
}, {
	Name: "srem", Syntax: "key member ...", Group: "set", Summary: "Remove members from a set.",
	Example: "seen a b",
	Cost:    command.ValuePass, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: code(removeFromSet),
}, {
	Name: "smove", Syntax: "key destination member", Group: "set", Summary: "Move a member from a set to another.",
	Example: "seen other a",
	Cost:    command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.MovedKey, Data: code(moveMember),
}, {
	Name: "scard", Syntax: "key", Group: "set", Summary: "The number of members of a set.",
	Example: "seen",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(reads(limits.SetValue, sizeOfSet)),
}, {
	Name: "sismember", Syntax: "key member", Group: "set", Summary: "Whether a set has a member.",
	Example: "seen a",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(reads(limits.SetValue, isInSet)),
}, {
	Name: "smismember", Syntax: "key member ...", Group: "set", Summary: "Whether a set has each of several members.",
	Example: "seen a b",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(reads(limits.SetValue, areInSet)),
}, {
	Name: "smembers", Syntax: "key", Group: "set",
	Summary: "All members of a set, in the order of their bytes. Redis has another order.",
	Example: "seen",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Shape: resp.Set, Data: code(reads(limits.SetValue, getSet)),
}}

func addToSet(c *Call) {
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

func removeFromSet(c *Call) {
	v, _, ok := c.get(c.Args[1], limits.SetValue)
	if !ok {
		return
	}
	there, removed := false, 0
	for _, member := range c.Args[2:] {
		there = there || datatype.Set(v.Data).Has(member)
	}
	if there {
		removed = dropMembers(c, v, c.Args[2:])
	}
	c.Writer.Int(int64(removed))
}

// dropMembers removes members of the set v of the command's key, and counts those that there were.
func dropMembers(c *Call, v engine.Value, members [][]byte) (removed int) {
	c.change(v, limits.SetValue, 0, workOnSet(v.Data, len(members)), func(data []byte) []byte {
		s, n := datatype.Set(data).Remove(members)
		removed = n
		return s
	})
	return removed
}

// moveMember adds the member there before it removes it here, so that nothing is changed if it does not fit.
func moveMember(c *Call) {
	source, destination, member := c.Args[1], c.Args[2], c.Args[3:]
	v, found, ok := c.get(source, limits.SetValue)
	if !ok {
		return
	}
	if !found {
		c.Writer.Int(0)
		return
	}
	target, _, ok := c.get(destination, limits.SetValue)
	if !ok {
		return
	}
	has := datatype.Set(v.Data).Has(member[0])
	if has && !bytes.Equal(source, destination) {
		if !c.changeKey(destination, target, limits.SetValue, datatype.Size(member), workOnSet(target.Data, 1), func(data []byte) []byte {
			s, _ := datatype.Set(data).Add(member)
			return s
		}) {
			return
		}
		c.changeKey(source, v, limits.SetValue, 0, workOnSet(v.Data, 1), func(data []byte) []byte {
			s, _ := datatype.Set(data).Remove(member)
			return s
		})
	}
	c.Writer.Bool(has)
}

// workOnSet is the work of adding members to a set, or of removing them.
func workOnSet(s datatype.Set, members int) int {
	if members <= datatype.FewMembers {
		return members * command.CopyWork(s)
	}
	return s.Len()*command.WalkWork + members*command.SortWork
}

func sizeOfSet(c *Call, s datatype.Set) {
	c.Writer.Int(int64(s.Len()))
}

func isInSet(c *Call, s datatype.Set) {
	c.Writer.Bool(s.Has(c.Args[2]))
}

func areInSet(c *Call, s datatype.Set) {
	c.Writer.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		c.Writer.Bool(s.Has(member))
	}
}

func getSet(c *Call, s datatype.Set) {
	writeParts(c, 0, s.Len(), s.At)
}
