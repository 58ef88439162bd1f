package command

import (
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/resp"
)

var popRows = []Row{{
	Name: "zpopmin", Syntax: "key [count]", Group: "sorted-set", Summary: "Remove the members with the lowest scores.",
	Example: "hits", Cost: ValuePass, Flags: Write | Fast, Keys: usedKey, ShapeOf: shapeOfPop, answers: countedElements,
	Data: func(c *DataCall) { popMembers(c, lowest) },
}, {
	Name: "zpopmax", Syntax: "key [count]", Group: "sorted-set", Summary: "Remove the members with the highest scores.",
	Example: "hits", Cost: ValuePass, Flags: Write | Fast, Keys: usedKey, ShapeOf: shapeOfPop, answers: countedElements,
	Data: func(c *DataCall) { popMembers(c, highest) },
}}

// shapeOfPop is the form of a reply of ZPOPMIN and ZPOPMAX, which is an array of arrays only where a number is given.
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

func popMembers(c *DataCall, end setEnd) {
	count := int64(1)
	switch len(c.Args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = positiveArg(c, c.Args[2]); !ok {
			return
		}
	default:
		c.fail(ErrSyntax)
		return
	}
	if s, ok := c.sortedSet(c.Args[1]); ok {
		popEnd(c, c.Args[1], s, end, int(min(count, int64(s.Len()))))
	}
}

// popEnd writes n members at an end of the sorted set of a key, the outermost first, and removes them.
func popEnd(c *DataCall, key []byte, s datatype.SortedSet, end setEnd, n int) {
	from, step, first := 0, 1, 0
	if end == highest {
		from, step, first = s.Len()-n, -1, s.Len()-1
	}
	c.members(s, first, step, n, true)
	dropPlaces(c, key, from, from+n)
}
