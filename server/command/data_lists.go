package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
)

var listRows = []Row{{
	Name: "lpush", Syntax: "key element ...", Group: "list", Summary: "Add elements at the head of a list, one after the other.",
	Example: "log 1 2",
	Cost:    ValueCopy, Flags: Write | DenyOOM | Fast, Keys: changedKey, Data: func(c *DataCall) { push(c, datatype.List.PushHead) },
}, {
	Name: "rpush", Syntax: "key element ...", Group: "list", Summary: "Add elements at the tail of a list, one after the other.",
	Example: "log 1 2",
	Cost:    ValueCopy, Flags: Write | DenyOOM | Fast, Keys: changedKey, Data: func(c *DataCall) { push(c, datatype.List.PushTail) },
}, {
	Name: "lpop", Syntax: "key [count]", Group: "list", Summary: "Remove elements at the head of a list.",
	Example: "log",
	Cost:    ValuePass, Flags: Write | Fast, Keys: usedKey, Data: popHead,
}, {
	Name: "lindex", Syntax: "key index", Group: "list",
	Summary: "An element of a list: 0 is the head, -1 the tail.",
	Example: "log -1",
	Cost:    ValueCopy, Flags: ReadOnly, Keys: readKey, Data: elementAt,
}, {
	Name: "lrange", Syntax: "key start stop", Group: "list",
	Summary: "Elements of a list from one index to another, both included: 0 is the head, -1 the tail.",
	Example: "log 0 -1",
	Cost:    ValuePass, Flags: ReadOnly, Keys: readKey, Data: elementsBetween,
}, {
	Name: "ltrim", Syntax: "key start stop", Group: "list",
	Summary: "Remove all elements of a list but those from one index to another, both included.",
	Example: "log 0 99",
	Cost:    ValueCopy, Flags: Write, Keys: changedKey, Data: trimList,
}, {
	Name: "llen", Syntax: "key", Group: "list", Summary: "The length of a list.",
	Example: "log",
	Cost:    ValueCopy, Flags: ReadOnly | Fast, Keys: readKey, Data: reads(limits.ListValue, listLength),
}}

func push(c *DataCall, add func(l datatype.List, elements [][]byte) datatype.List) {
	v, _, ok := c.get(c.Args[1], limits.ListValue)
	elements := c.Args[2:]
	length := datatype.List(v.Data).Len() + len(elements)
	if ok && c.change(v, limits.ListValue, datatype.Size(elements), len(elements)*walkWork, func(data []byte) []byte {
		return add(data, elements)
	}) {
		c.Writer.Int(int64(length))
	}
}

func popHead(c *DataCall) {
	if len(c.Args) > 3 {
		c.fail(errArity.With("lpop"))
		return
	}
	count, counts := int64(1), len(c.Args) == 3
	if counts {
		var ok bool
		if count, ok = parseRedisInt(c.Args[2]); !ok || count < 0 {
			c.fail(errNotPositive)
			return
		}
	}
	v, found, ok := c.get(c.Args[1], limits.ListValue)
	l := datatype.List(v.Data)
	n := int(min(count, int64(l.Len())))
	switch {
	case !ok:
	case !found && counts:
		c.Writer.NullArray()
	case !found:
		c.Writer.Null()
	case !counts:
		c.Writer.Bulk(l.At(0))
		c.keep(v, 1, l.Len())
	default:
		c.elements(l, 0, n)
		c.keep(v, n, l.Len())
	}
}

// keep removes all elements but those from from to to-1.
func (c *DataCall) keep(v engine.Value, from, to int) {
	if from == 0 && to == datatype.List(v.Data).Len() {
		return
	}
	c.change(v, limits.ListValue, 0, copyWork(v.Data), func(data []byte) []byte { return datatype.List(data).Keep(from, to) })
}

// elements writes the elements from from to to-1.
func (c *DataCall) elements(l datatype.List, from, to int) {
	c.Tx.Spend((to - from) * writeWork)
	c.Writer.Array(to - from)
	for i := from; i < to; i++ {
		c.Writer.Bulk(l.At(i))
	}
}

func elementAt(c *DataCall) {
	v, found, ok := c.get(c.Args[1], limits.ListValue)
	if !ok {
		return
	}
	if !found {
		c.Writer.Null() // even if the index is none
		return
	}
	i, ok := c.integer(c.Args[2])
	if !ok {
		return
	}
	l := datatype.List(v.Data)
	n := int64(l.Len())
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		c.Writer.Null()
		return
	}
	c.Writer.Bulk(l.At(int(i)))
}

// listRange reads the list of a key, and the indexes start and stop: the elements from from to to-1 are meant.
func (c *DataCall) listRange() (v engine.Value, from, to int, ok bool) {
	start, stop, ok := c.integers(c.Args[2], c.Args[3])
	if !ok {
		return v, 0, 0, false
	}
	if v, _, ok = c.get(c.Args[1], limits.ListValue); !ok {
		return v, 0, 0, false
	}
	from, to = places(start, stop, datatype.List(v.Data).Len())
	return v, from, to, true
}

func elementsBetween(c *DataCall) {
	if v, from, to, ok := c.listRange(); ok {
		c.elements(v.Data, from, to)
	}
}

func trimList(c *DataCall) {
	if v, from, to, ok := c.listRange(); ok {
		c.keep(v, from, to)
		c.Writer.Status("OK")
	}
}

func listLength(c *DataCall, l datatype.List) {
	c.Writer.Int(int64(l.Len()))
}
