package list

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var listRows = []command.Row{{
	Name: "lpush", Syntax: "key element ...", Group: "list", Summary: "Add elements at the head of a list, one after the other.",
	Example: "log 1 2",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true,
	KeyFlags: "RW insert", Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { push(c, head) }),
}, {
	Name: "rpush", Syntax: "key element ...", Group: "list", Summary: "Add elements at the tail of a list, one after the other.",
	Example: "log 1 2",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true,
	KeyFlags: "RW insert", Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { push(c, tail) }),
}, {
	Name: "lpushx", Syntax: "key element ...", Group: "list", Summary: "Add elements at the head of a list that exists.",
	Example: "log 1 2",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true,
	KeyFlags: "RW insert", Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { pushIfThere(c, head) }),
}, {
	Name: "rpushx", Syntax: "key element ...", Group: "list", Summary: "Add elements at the tail of a list that exists.",
	Example: "log 1 2",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true,
	KeyFlags: "RW insert", Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { pushIfThere(c, tail) }),
}, {
	Name: "lpop", Syntax: "key [count]", Group: "list", Summary: "Remove elements at the head of a list.",
	Example: "log",
	Cost:    command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW access delete", Keys: command.UsedKey, Answers: data.CountedElements,
	Data: data.Code(func(c *data.Call) { pop(c, head) }),
}, {
	Name: "rpop", Syntax: "key [count]", Group: "list", Summary: "Remove elements at the tail of a list.",
	Example: "log",
	Cost:    command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW access delete", Keys: command.UsedKey, Answers: data.CountedElements,
	Data: data.Code(func(c *data.Call) { pop(c, tail) }),
}, {
	Name: "lmove", Syntax: "key destination from to", Group: "list",
	Summary: "Move an element from one end of a list to an end of the same or another list. LEFT is the head, RIGHT the tail.",
	Example: "log other LEFT RIGHT",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, Seeks: true,
	KeyFlags: "RW access delete, RW insert", Keys: command.MovedKey, Data: data.Code(moveBetweenEnds),
}, {
	Name: "rpoplpush", Syntax: "key destination", Group: "list",
	Summary: "Move the element at the tail of a list to the head of the same or another list.",
	Example: "log other",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, Seeks: true,
	KeyFlags: "RW access delete, RW insert", Keys: command.MovedKey,
	Data: data.Code(func(c *data.Call) { moveElement(c, tail, head) }),
}, {
	Name: "llen", Syntax: "key", Group: "list", Summary: "The length of a list.",
	Example: "log",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true,
	KeyFlags: "RO", Keys: command.ReadKey,
	Data: data.Code(data.ReadsLarge(engine.ListKind, listLength, data.CountLarge)),
}}

// listEnd is an end of a list.
type listEnd bool

const (
	head listEnd = false
	tail listEnd = true
)

// push adds elements at this end, one after the other. It changes l.
func (e listEnd) push(l datatype.List, elements [][]byte) datatype.List {
	if e == head {
		return l.PushHead(elements)
	}
	return l.PushTail(elements)
}

// first returns the place of the first of the n elements at this end of a list.
func (e listEnd) first(l datatype.List, n int) int {
	if e == head {
		return 0
	}
	return l.Len() - n
}

func push(c *data.Call, end listEnd) {
	elements := c.Args[2:]
	if l, ok := pushLarge(c, c.Args[1], end, elements); l != nil {
		c.Writer.Int(int64(l.Len()))
		return
	} else if !ok {
		return
	}
	v, _, ok := c.Get(c.Args[1], engine.ListKind)
	length := datatype.List(v.Data).Len() + len(elements)
	if ok && pushTo(c, c.Args[1], v, end, elements) {
		c.Writer.Int(int64(length))
	}
}

func pushIfThere(c *data.Call, end listEnd) {
	if c.Large(c.Args[1], engine.ListKind) != nil {
		push(c, end)
	} else if _, found, ok := c.Get(c.Args[1], engine.ListKind); ok && !found {
		c.Writer.Int(0)
	} else if ok {
		push(c, end)
	}
}

// pushTo adds elements to a key's list, whose present value is v. It writes the error if the list becomes too large.
func pushTo(c *data.Call, key []byte, v engine.Value, end listEnd, elements [][]byte) (ok bool) {
	return c.ChangeKey(key, v, engine.ListKind, datatype.Size(elements), len(elements)*command.WalkWork, func(data []byte) []byte {
		return end.push(data, elements)
	})
}

func pop(c *data.Call, end listEnd) {
	count, counts, ok := popCount(c)
	if !ok {
		return
	}
	if counts {
		if l := c.Large(c.Args[1], engine.ListKind); l != nil {
			popLarge(c, l, end, count)
			return
		}
	} else if popOneLarge(c, c.Args[1], end) {
		return
	}
	v, found, ok := c.Get(c.Args[1], engine.ListKind)
	switch {
	case !ok:
	case !found && counts:
		c.Writer.NullArray()
	case !found:
		c.Writer.Null()
	case !counts:
		c.Writer.Bulk(datatype.List(v.Data).At(end.first(v.Data, 1)))
		dropElements(c, c.Args[1], v, end, 1)
	default:
		n := int(min(count, int64(datatype.List(v.Data).Len())))
		writePopped(c, v.Data, end, n)
		dropElements(c, c.Args[1], v, end, n)
	}
}

// popCount parses the count that may follow the key. The default is 1.
func popCount(c *data.Call) (count int64, counts, ok bool) {
	switch len(c.Args) {
	case 2:
		return 1, false, true
	case 3:
		count, ok = c.Positive(c.Args[2])
		return count, true, ok
	}
	c.Fail(command.ErrArity.With(c.Name()))
	return 0, false, false
}

// writePopped replies with the n elements at an end of a list, the outermost first.
func writePopped(c *data.Call, l datatype.List, end listEnd, n int) {
	if end == head {
		data.WriteParts(c, 0, n, l.At)
		return
	}
	c.Tx.Spend(n * command.WriteWork)
	c.Writer.Array(n)
	for i := range n {
		c.Writer.Bulk(l.At(l.Len() - 1 - i))
	}
}

// dropElements removes n elements at an end of a key's list, whose present value is v.
func dropElements(c *data.Call, key []byte, v engine.Value, end listEnd, n int) {
	if n == 0 {
		return
	}
	c.ChangeKey(key, v, engine.ListKind, 0, command.CopyWork(v.Data), func(data []byte) []byte {
		first := end.first(data, n)
		return datatype.List(data).Splice(first, first+n, nil)
	})
}

func moveBetweenEnds(c *data.Call) {
	from, ok1 := endOf(c.Args[3])
	to, ok2 := endOf(c.Args[4])
	if !ok1 || !ok2 {
		c.Fail(command.ErrSyntax)
		return
	}
	moveElement(c, from, to)
}

// endOf returns the end that a word names.
func endOf(word []byte) (end listEnd, ok bool) {
	end = listEnd(command.IsWord(word, "RIGHT"))
	return end, end == tail || command.IsWord(word, "LEFT")
}

// moveElement moves an element from the first key's list to the second key's list. It adds the element before it
// removes it, so that nothing changes if the element does not fit.
func moveElement(c *data.Call, from, to listEnd) {
	if moveLarge(c, from, to) {
		return
	}
	source, destination := c.Args[1], c.Args[2]
	v, found, ok := c.Get(source, engine.ListKind)
	if !ok {
		return
	}
	if !found {
		c.Writer.Null()
		return
	}
	at := from.first(v.Data, 1)
	element := [][]byte{bytes.Clone(datatype.List(v.Data).At(at))}
	if bytes.Equal(source, destination) {
		ok = c.Change(v, engine.ListKind, datatype.Size(element), 2*command.CopyWork(v.Data), func(data []byte) []byte {
			return to.push(datatype.List(data).Splice(at, at+1, nil), element)
		})
	} else if ok = pushAt(c, destination, to, element); ok {
		dropElements(c, source, v, from, 1)
	}
	if ok {
		c.Writer.Bulk(element[0])
	}
}

func listLength(c *data.Call, l datatype.List) {
	c.Writer.Int(int64(l.Len()))
}
