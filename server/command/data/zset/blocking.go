package zset

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var blockingSortedSetRows = []command.Row{{
	Name: "bzpopmin", Syntax: "key ... timeout", Group: "sorted-set",
	Summary: "Remove the member with the lowest score of the first sorted set that has one." + data.UntilTimeout,
	Example: "hits 1", Cost: command.ValuePass, Flags: command.Write | command.Fast | command.Blocking | command.NotInScripts, Seeks: true,
	KeyFlags: "RW access delete", Keys: data.WaitedKeys, Waits: engine.SortedSetKind, Shape: resp.KeyScored,
	Data: data.Code(func(c *data.Call) { popFirstMember(c, lowest) }),
}, {
	Name: "bzpopmax", Syntax: "key ... timeout", Group: "sorted-set",
	Summary: "Remove the member with the highest score of the first sorted set that has one." + data.UntilTimeout,
	Example: "hits 1", Cost: command.ValuePass, Flags: command.Write | command.Fast | command.Blocking | command.NotInScripts, Seeks: true,
	KeyFlags: "RW access delete", Keys: data.WaitedKeys, Waits: engine.SortedSetKind, Shape: resp.KeyScored,
	Data: data.Code(func(c *data.Call) { popFirstMember(c, highest) }),
}}

func popFirstMember(c *data.Call, end setEnd) {
	for _, key := range c.Args[1 : len(c.Args)-1] {
		if s := c.Large(key, engine.SortedSetKind); s != nil {
			place := end.place(s.Len())
			member, score := s.Scored(place)
			popKeyed(c, key, place, member, score)
			return
		}
		s, ok := readSortedSet(c, key)
		if !ok {
			return
		}
		if n := s.Len(); n > 0 {
			place := end.place(n)
			popKeyed(c, key, place, s.Member(place), s.Score(place))
			return
		}
	}
	c.Writer.NullArray()
}

// place returns the place of the outermost member at this end of a set of n members.
func (e setEnd) place(n int) int {
	if e == highest {
		return n - 1
	}
	return 0
}

// popKeyed replies with a key and the member at a place of its sorted set, and removes the member.
func popKeyed(c *data.Call, key []byte, place int, member []byte, score float64) {
	c.Writer.Array(3)
	c.Writer.Bulk(key)
	c.Writer.Bulk(member)
	writeScore(c, score)
	dropPlaces(c, key, place, place+1)
}
