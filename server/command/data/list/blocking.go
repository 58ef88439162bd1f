package list

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var blockingListRows = []command.Row{{
	Name: "blpop", Syntax: "key ... timeout", Group: "list", Summary: "Remove an element at the head of the first list that has one." + data.UntilTimeout,
	Example: "log 1", Cost: command.ValuePass, Flags: command.Write | command.Blocking | command.NotInScripts, Seeks: true,
	KeyFlags: "RW access delete", Keys: data.WaitedKeys, Waits: engine.ListKind,
	Data: data.Code(func(c *data.Call) { popFirst(c, head) }),
}, {
	Name: "brpop", Syntax: "key ... timeout", Group: "list", Summary: "Remove an element at the tail of the first list that has one." + data.UntilTimeout,
	Example: "log 1", Cost: command.ValuePass, Flags: command.Write | command.Blocking | command.NotInScripts, Seeks: true,
	KeyFlags: "RW access delete", Keys: data.WaitedKeys, Waits: engine.ListKind,
	Data: data.Code(func(c *data.Call) { popFirst(c, tail) }),
}, {
	Name: "blmove", Syntax: "key destination from to timeout", Group: "list",
	Summary: "Move an element from one end of a list to an end of the same or another list." + data.UntilTimeout,
	Example: "log other LEFT RIGHT 1", Cost: command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Blocking | command.NotInScripts, Seeks: true,
	KeyFlags: "RW access delete, RW insert", Keys: command.MovedKey, Waits: engine.ListKind,
	Parse: parseBlockingMove, Data: data.Code(moveBetweenEnds),
}, {
	Name: "brpoplpush", Syntax: "key destination timeout", Group: "list",
	Summary: "Move the element at the tail of a list to the head of the same or another list." + data.UntilTimeout,
	Example: "log other 1", Cost: command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Blocking | command.NotInScripts, Seeks: true,
	KeyFlags: "RW access delete, RW insert", Keys: command.MovedKey, Waits: engine.ListKind,
	Data: data.Code(func(c *data.Call) { moveElement(c, tail, head) }),
}}

// parseBlockingMove parses BLMOVE. Like Redis, it checks the ends before the timeout.
func parseBlockingMove(r *command.Request) error {
	_, ok1 := endOf(r.Args[3])
	_, ok2 := endOf(r.Args[4])
	if !ok1 || !ok2 {
		return command.ErrSyntax
	}
	return data.ParseWait(r, command.LookUp(r.Args[0]))
}

func popFirst(c *data.Call, end listEnd) {
	for _, key := range c.Args[1 : len(c.Args)-1] {
		if l := c.Large(key, engine.ListKind); l != nil {
			c.Writer.Array(2)
			c.Writer.Bulk(key)
			c.Writer.Bulk(l.At(end.firstOf(l, 1)).Key)
			dropLarge(c, key, end, 1)
			return
		}
		v, found, ok := c.Get(key, engine.ListKind)
		if !ok {
			return
		}
		if found {
			c.Writer.Array(2)
			c.Writer.Bulk(key)
			c.Writer.Bulk(datatype.List(v.Data).At(end.first(v.Data, 1)))
			dropElements(c, key, v, end, 1)
			return
		}
	}
	c.Writer.NullArray()
}
