package data

import (
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

var substringRows = []command.Row{{
	Name: "strlen", Syntax: "key", Group: "string", Summary: "The bytes of a string.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(stringLength),
}, {
	Name: "append", Syntax: "key value", Group: "string", Summary: "Add bytes to the end of a string.",
	Example: "counter 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.ChangedKey, Data: code(appendString),
}, {
	Name: "getrange", Syntax: "key start end", Group: "string",
	Summary: "Bytes of a string from one index to another, both included: 0 is the first, -1 the last.",
	Example: "counter 0 -1",
	Cost:    command.ValueCopy, Flags: command.ReadOnly, Keys: command.ReadKey, Data: code(bytesBetween),
}, {
	Name: "substr", Syntax: "key start end", Group: "string", Summary: "Same as GETRANGE.",
	Example: "counter 0 -1",
	Cost:    command.ValueCopy, Flags: command.ReadOnly, Keys: command.ReadKey, Data: code(bytesBetween),
}, {
	Name: "setrange", Syntax: "key offset value", Group: "string",
	Summary: "Overwrite bytes of a string from an index on. Zeros fill a gap.",
	Example: "counter 0 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, Keys: command.ChangedKey, Data: code(overwriteBytes),
}}

func stringLength(c *Call) {
	if v, _, ok := c.get(c.Args[1], limits.StringValue); ok {
		c.Writer.Int(int64(len(v.Data)))
	}
}

func appendString(c *Call) {
	v, _, ok := c.get(c.Args[1], limits.StringValue)
	if !ok || !c.fits(len(v.Data)+len(c.Args[2])) {
		return
	}
	edited := c.Tx.Edit(c.Args[1], limits.StringValue)
	edited.Data = append(edited.Data, c.Args[2]...)
	c.Writer.Int(int64(len(edited.Data)))
}

// bytesBetween differs from LRANGE: an end in front of the first byte is the first byte, unless both ends say so from the end on.
func bytesBetween(c *Call) {
	start, end, ok := c.integers(c.Args[2], c.Args[3])
	if !ok {
		return
	}
	v, _, ok := c.get(c.Args[1], limits.StringValue)
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

func overwriteBytes(c *Call) {
	offset, ok := c.integer(c.Args[2])
	if !ok {
		return
	}
	if offset < 0 {
		c.fail(errOffset)
		return
	}
	v, _, ok := c.get(c.Args[1], limits.StringValue)
	if !ok {
		return
	}
	value := c.Args[3]
	if len(value) == 0 {
		c.Writer.Int(int64(len(v.Data)))
		return
	}
	if !c.fits(int(min(offset, maxOffset)) + len(value)) {
		return
	}
	edited := c.Tx.Edit(c.Args[1], limits.StringValue)
	for end := int(offset) + len(value); len(edited.Data) < end; {
		edited.Data = append(edited.Data, make([]byte, end-len(edited.Data))...)
	}
	copy(edited.Data[offset:], value)
	c.Writer.Int(int64(len(edited.Data)))
}

// maxOffset is beyond every value, and far from the largest integer.
const maxOffset = 1 << 40
