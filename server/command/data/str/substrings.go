package str

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var substringRows = []command.Row{{
	Name: "strlen", Syntax: "key", Group: "string", Summary: "The bytes of a string.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast,
	KeyFlags: "RO", Keys: command.ReadKey, Data: data.Code(stringLength),
}, {
	Name: "append", Syntax: "key value", Group: "string", Summary: "Add bytes to the end of a string.",
	Example: "counter 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast,
	KeyFlags: "RW insert", Keys: command.ChangedKey, Data: data.Code(appendString),
}, {
	Name: "getrange", Syntax: "key start end", Group: "string",
	Summary: "Bytes of a string from one index to another, both included: 0 is the first, -1 the last.",
	Example: "counter 0 -1",
	Cost:    command.ValueCopy, Flags: command.ReadOnly, Keys: command.ReadKey, Data: data.Code(bytesBetween),
}, {
	Name: "substr", Syntax: "key start end", Group: "string", Summary: "Same as GETRANGE.",
	Example: "counter 0 -1",
	Cost:    command.ValueCopy, Flags: command.ReadOnly, Keys: command.ReadKey, Data: data.Code(bytesBetween),
}, {
	Name: "setrange", Syntax: "key offset value", Group: "string",
	Summary: "Overwrite bytes of a string from an index on. Zeros fill a gap.",
	Example: "counter 0 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, Keys: command.ChangedKey, Data: data.Code(overwriteBytes),
}}

func stringLength(c *data.Call) {
	if v, _, ok := c.Get(c.Args[1], engine.StringKind); ok {
		c.Writer.Int(int64(len(v.Data)))
	}
}

func appendString(c *data.Call) {
	v, _, ok := c.Get(c.Args[1], engine.StringKind)
	if !ok || !c.Fits(engine.StringKind, len(v.Data)+len(c.Args[2])) {
		return
	}
	edited := c.Tx.Edit(c.Args[1], engine.StringKind)
	edited.Data = append(edited.Data, c.Args[2]...)
	c.Writer.Int(int64(len(edited.Data)))
}

// bytesBetween differs from LRANGE: an end before the first byte stands for the first byte, unless both indexes are
// negative and start is after end.
func bytesBetween(c *data.Call) {
	start, end, ok := c.Integers(c.Args[2], c.Args[3])
	if !ok {
		return
	}
	v, _, ok := c.Get(c.Args[1], engine.StringKind)
	if !ok {
		return
	}
	size := int64(len(v.Data))
	if start < 0 && end < 0 && start > end {
		size = 0
	}
	if start < 0 {
		start = max(start+size, 0)
	}
	if end < 0 {
		end = max(end+size, 0)
	}
	if end = min(end, size-1); start > end {
		c.Writer.Bulk(nil)
		return
	}
	c.Writer.Bulk(v.Data[start : end+1])
}

func overwriteBytes(c *data.Call) {
	offset, ok := c.Integer(c.Args[2])
	if !ok {
		return
	}
	if offset < 0 {
		c.Fail(errOffset)
		return
	}
	v, _, ok := c.Get(c.Args[1], engine.StringKind)
	if !ok {
		return
	}
	value := c.Args[3]
	if len(value) == 0 {
		c.Writer.Int(int64(len(v.Data)))
		return
	}
	if !c.Fits(engine.StringKind, int(min(offset, maxOffset))+len(value)) {
		return
	}
	edited := c.Tx.Edit(c.Args[1], engine.StringKind)
	for end := int(offset) + len(value); len(edited.Data) < end; {
		edited.Data = append(edited.Data, make([]byte, end-len(edited.Data))...)
	}
	copy(edited.Data[offset:], value)
	c.Writer.Int(int64(len(edited.Data)))
}

// maxOffset is larger than any value, and small enough that adding to it does not overflow.
const maxOffset = 1 << 40
