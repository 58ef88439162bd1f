package key

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Only data can be renamed or copied. Nodes, regions and processes know a limiter's loans, leases and purses by its
// key, and a copy would grant its tokens twice.

var renameRows = []command.Row{{
	Name: "rename", Syntax: "key newkey", Group: "generic", Summary: "Move data to another key, replacing the data of that key.",
	Returns: "`OK`.",
	Example: "counter other", Cost: command.ValueCopy, Flags: command.Write,
	KeyFlags: "RW access delete, OW update", Keys: command.MovedKey, Data: data.Code(rename),
}, {
	Name: "renamenx", Syntax: "key newkey", Group: "generic", Summary: "Move data to another key, if that key does not exist.",
	Returns: "1, or 0 if the other key exists.",
	Example: "counter other", Cost: command.ValueCopy, Flags: command.Write | command.Fast,
	KeyFlags: "RW access delete, OW insert", Keys: command.MovedKey, Data: data.Code(renameIfAbsent),
}, {
	Name: "copy", Syntax: "key destination [DB index] [REPLACE]", Group: "generic", Summary: "Copy data to another key.",
	Returns: "1, or 0 if the source does not exist, or if the destination exists and REPLACE is not given.",
	Example: "counter other", Cost: command.ValueCopy, Flags: command.Write | command.DenyOOM,
	KeyFlags: "RO access, OW update", Keys: command.Keys{First: 1, Last: 2, Access: command.Reads, Others: command.Changes},
	Data: data.Code(copyKey),
}}

func rename(c *data.Call) {
	if v, ok := renamed(c); ok && c.MayReplace(c.Args[2]) {
		moveKey(c, v)
		c.Writer.Status("OK")
	}
}

func renameIfAbsent(c *data.Call) {
	v, ok := renamed(c)
	if !ok {
		return
	}
	_, taken := c.Look(c.Args[2])
	if !taken {
		moveKey(c, v)
	}
	c.Writer.Bool(!taken)
}

// renamed returns the value of the first key, which must hold data.
func renamed(c *data.Call) (v engine.Value, ok bool) {
	v, found := c.Tx.Get(c.Args[1])
	if !found {
		c.Fail(data.ErrNoSuchKey)
		return v, false
	}
	return v, c.MayReplace(c.Args[1])
}

// moveKey moves the value of the first key to the second.
func moveKey(c *data.Call, v engine.Value) {
	if from, to := c.Args[1], c.Args[2]; !bytes.Equal(from, to) {
		c.Tx.Set(to, v)
		c.Tx.Delete(from)
	}
}

func copyKey(c *data.Call) {
	replace, source, target := false, c.Tx.Database(), c.Tx.Database()
	for words := c.Args[3:]; len(words) > 0; words = words[1:] {
		switch {
		case command.IsWord(words[0], "REPLACE"):
			replace = true
		case command.IsWord(words[0], "DB") && len(words) > 1:
			words = words[1:]
			var err error
			if target, err = command.ReadDatabase(words[0], max(c.Databases(), 1)); err != nil {
				c.Fail(err)
				return
			}
		default:
			c.Fail(command.ErrSyntax)
			return
		}
	}
	from, to := c.Args[1], c.Args[2]
	if source == target && bytes.Equal(from, to) {
		c.Fail(errSameKey)
		return
	}
	v, found := c.Tx.Get(from)
	if !found {
		c.Writer.Int(0)
		return
	}
	if !c.MayReplace(from) {
		return
	}
	c.Tx.Select(target)
	switch _, taken := c.Look(to); {
	case taken && !replace:
		c.Writer.Int(0)
	case c.MayReplace(to):
		c.Tx.Set(to, v)
		c.Writer.Int(1)
	}
	c.Tx.Select(source)
}
