package set

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var setRows = []command.Row{{
	Name: "sadd", Syntax: "key member ...", Group: "set", Summary: "Add members to a set.",
	Example: "seen a b",
	Cost:    command.ValuePass, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true,
	KeyFlags: "RW insert", Keys: command.ChangedKey, Data: data.Code(addToSet),
}, {
	Name: "srem", Syntax: "key member ...", Group: "set", Summary: "Remove members from a set.",
	Example: "seen a b",
	Cost:    command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW delete", Keys: command.ChangedKey, Data: data.Code(removeFromSet),
}, {
	Name: "smove", Syntax: "key destination member", Group: "set", Summary: "Move a member from a set to another.",
	Example: "seen other a",
	Cost:    command.ValueCopy, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW access delete, RW insert", Keys: command.MovedKey, Data: data.Code(moveMember),
}, {
	Name: "scard", Syntax: "key", Group: "set", Summary: "The number of members of a set.",
	Example: "seen",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true,
	KeyFlags: "RO", Keys: command.ReadKey, Data: data.Code(data.ReadsLarge(engine.SetKind, sizeOfSet, data.CountLarge)),
}, {
	Name: "sismember", Syntax: "key member", Group: "set", Summary: "Whether a set has a member.",
	Example: "seen a",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true,
	KeyFlags: "RO", Keys: command.ReadKey, Data: data.Code(data.ReadsLarge(engine.SetKind, isInSet, data.HasLarge)),
}, {
	Name: "smismember", Syntax: "key member ...", Group: "set", Summary: "Whether a set has each of several members.",
	Example: "seen a b",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true, Keys: command.ReadKey, Data: data.Code(data.ReadsLarge(engine.SetKind, areInSet, areInLarge)),
}, {
	Name: "smembers", Syntax: "key", Group: "set",
	Summary: "All members of a set. Unlike in Redis, they are ordered by their bytes.",
	Example: "seen",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Shape: resp.Set, Data: data.Code(data.ReadsLarge(engine.SetKind, getSet, getLarge)),
}}

func addToSet(c *data.Call) {
	if added, ok := addTo(c, c.Args[1], c.Args[2:]); ok {
		c.Writer.Int(int64(added))
	}
}

// addTo adds members to a key's set, and writes the error if it cannot.
func addTo(c *data.Call, key []byte, members [][]byte) (added int, ok bool) {
	added, ok, done := addLarge(c, key, members)
	if done {
		return added, ok
	}
	v, found, ok := c.Get(key, engine.SetKind)
	if !ok || found && len(members) == 1 && datatype.Set(v.Data).Has(members[0]) {
		return 0, ok
	}
	ok = c.ChangeKey(key, v, engine.SetKind, datatype.Size(members), workOnSet(v.Data, len(members)), func(data []byte) []byte {
		s, n := datatype.Set(data).Add(members)
		added = n
		return s
	})
	return added, ok
}

func removeFromSet(c *data.Call) {
	if removed, ok := removeFrom(c, c.Args[1], c.Args[2:]); ok {
		c.Writer.Int(int64(removed))
	}
}

// removeFrom removes members from a key's set, and writes the error if it cannot.
func removeFrom(c *data.Call, key []byte, members [][]byte) (removed int, ok bool) {
	if removed, done := c.DeleteLarge(key, engine.SetKind, members); done {
		return removed, true
	}
	v, _, ok := c.Get(key, engine.SetKind)
	there := false
	for _, member := range members {
		there = there || datatype.Set(v.Data).Has(member)
	}
	if ok && there {
		removed = dropMembers(c, key, v, members)
	}
	return removed, ok
}

// dropMembers removes members of a key's set, whose present value is v, and returns how many it removed.
func dropMembers(c *data.Call, key []byte, v engine.Value, members [][]byte) (removed int) {
	c.ChangeKey(key, v, engine.SetKind, 0, workOnSet(v.Data, len(members)), func(data []byte) []byte {
		s, n := datatype.Set(data).Remove(members)
		removed = n
		return s
	})
	return removed
}

// moveMember adds the member before it removes it, so that nothing changes if the member does not fit.
func moveMember(c *data.Call) {
	source, destination, member := c.Args[1], c.Args[2], c.Args[3:]
	has, found, ok := hasMember(c, source, member[0])
	if !ok {
		return
	}
	if !found {
		c.Writer.Int(0)
		return
	}
	if _, _, ok = hasMember(c, destination, member[0]); !ok {
		return
	}
	if has && !bytes.Equal(source, destination) {
		if _, ok = addTo(c, destination, member); !ok {
			return
		}
		removeFrom(c, source, member)
	}
	c.Writer.Bool(has)
}

// hasMember reports whether a key's set, in blocks or not, has a member. It writes the error if the key holds something
// else.
func hasMember(c *data.Call, key, member []byte) (has, found, ok bool) {
	if s := c.Large(key, engine.SetKind); s != nil {
		_, has = s.Find(member)
		return has, true, true
	}
	v, found, ok := c.Get(key, engine.SetKind)
	return ok && datatype.Set(v.Data).Has(member), found, ok
}

// workOnSet is the work of adding a number of members to a set, or removing them.
func workOnSet(s datatype.Set, members int) int {
	if members <= datatype.FewMembers {
		return members * command.CopyWork(s)
	}
	return s.Len()*command.WalkWork + members*command.SortWork
}

func sizeOfSet(c *data.Call, s datatype.Set) {
	c.Writer.Int(int64(s.Len()))
}

func isInSet(c *data.Call, s datatype.Set) {
	c.Writer.Bool(s.Has(c.Args[2]))
}

func areInSet(c *data.Call, s datatype.Set) {
	c.Writer.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		c.Writer.Bool(s.Has(member))
	}
}

func getSet(c *data.Call, s datatype.Set) {
	data.WriteParts(c, 0, s.Len(), s.At)
}
