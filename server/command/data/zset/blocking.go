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
	Example: "hits 1", Cost: command.ValuePass, Flags: command.Write | command.Fast | command.Blocking | command.NotInScripts,
	KeyFlags: "RW access delete", Keys: data.WaitedKeys, Waits: engine.SortedSetKind, Shape: resp.KeyScored,
	Data: data.Code(func(c *data.Call) { popFirstMember(c, lowest) }),
}, {
	Name: "bzpopmax", Syntax: "key ... timeout", Group: "sorted-set",
	Summary: "Remove the member with the highest score of the first sorted set that has one." + data.UntilTimeout,
	Example: "hits 1", Cost: command.ValuePass, Flags: command.Write | command.Fast | command.Blocking | command.NotInScripts,
	KeyFlags: "RW access delete", Keys: data.WaitedKeys, Waits: engine.SortedSetKind, Shape: resp.KeyScored,
	Data: data.Code(func(c *data.Call) { popFirstMember(c, highest) }),
}}

func popFirstMember(c *data.Call, end setEnd) {
	for _, key := range c.Args[1 : len(c.Args)-1] {
		s, ok := readSortedSet(c, key)
		if !ok {
			return
		}
		if n := s.Len(); n > 0 {
			place := 0
			if end == highest {
				place = n - 1
			}
			c.Writer.Array(3)
			c.Writer.Bulk(key)
			c.Writer.Bulk(s.Member(place))
			writeScore(c, s.Score(place))
			dropPlaces(c, key, place, place+1)
			return
		}
	}
	c.Writer.NullArray()
}
