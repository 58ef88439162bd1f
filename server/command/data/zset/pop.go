package zset

import (
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var popRows = []command.Row{{
	Name: "zpopmin", Syntax: "key [count]", Group: "sorted-set", Summary: "Remove the members with the lowest scores.",
	Example: "hits", Cost: command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW access delete", Keys: command.UsedKey, ShapeOf: shapeOfPop, Answers: data.CountedElements,
	Data: data.Code(func(c *data.Call) { popMembers(c, lowest) }),
}, {
	Name: "zpopmax", Syntax: "key [count]", Group: "sorted-set", Summary: "Remove the members with the highest scores.",
	Example: "hits", Cost: command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW access delete", Keys: command.UsedKey, ShapeOf: shapeOfPop, Answers: data.CountedElements,
	Data: data.Code(func(c *data.Call) { popMembers(c, highest) }),
}}

// shapeOfPop is the shape of the reply of ZPOPMIN and ZPOPMAX: an array of arrays only if a count is given.
func shapeOfPop(args [][]byte) resp.Shape {
	if len(args) > 2 {
		return resp.Scored
	}
	return resp.FlatScored
}

// setEnd is an end of a sorted set.
type setEnd bool

const (
	lowest  setEnd = false
	highest setEnd = true
)

func popMembers(c *data.Call, end setEnd) {
	count := int64(1)
	switch len(c.Args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = c.Positive(c.Args[2]); !ok {
			return
		}
	default:
		c.Fail(command.ErrSyntax)
		return
	}
	if s := largeSet(c); s != nil {
		n := int(min(count, int64(s.Len())))
		from := 0
		if end == highest {
			from = s.Len() - n
		}
		writeLarge(c, s, from, from+n, end == highest, true)
		dropPlaces(c, c.Args[1], from, from+n)
		return
	}
	if s, ok := readSortedSet(c, c.Args[1]); ok {
		popEnd(c, c.Args[1], s, end, int(min(count, int64(s.Len()))))
	}
}

// popEnd replies with n members at an end of a key's sorted set, the outermost first, and removes them.
func popEnd(c *data.Call, key []byte, s datatype.SortedSet, end setEnd, n int) {
	from, step, first := 0, 1, 0
	if end == highest {
		from, step, first = s.Len()-n, -1, s.Len()-1
	}
	writeMembers(c, s, first, step, n, true)
	dropPlaces(c, key, from, from+n)
}
