package data

import (
	"math/big"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var hashRows = []command.Row{{
	Name: "hset", Syntax: "key field value [field value ...]", Group: "hash", Summary: "Set fields of a hash.",
	Example: "bucket tokens 5",
	Cost:    command.ValuePass, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.ChangedKey, Data: code(func(c *Call) {
		if added, ok := setFields(c, "hset"); ok {
			c.Writer.Int(int64(added))
		}
	}),
}, {
	Name: "hmset", Syntax: "key field value [field value ...]", Group: "hash", Summary: "Set fields of a hash.",
	Example: "bucket tokens 5",
	Cost:    command.ValuePass, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.ChangedKey, Data: code(func(c *Call) {
		if _, ok := setFields(c, "hmset"); ok {
			c.Writer.Status("OK")
		}
	}),
}, {
	Name: "hsetnx", Syntax: "key field value", Group: "hash", Summary: "Set a field of a hash if it does not exist.",
	Example: "bucket tokens 5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.ChangedKey, Data: code(setFieldIfAbsent),
}, {
	Name: "hget", Syntax: "key field", Group: "hash", Summary: "The value of a field of a hash.",
	Example: "bucket tokens",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(reads(limits.HashValue, getField)),
}, {
	Name: "hmget", Syntax: "key field ...", Group: "hash", Summary: "The values of several fields of a hash.",
	Example: "bucket tokens time",
	Cost:    command.ValuePass, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(reads(limits.HashValue, getFields)),
}, {
	Name: "hgetall", Syntax: "key", Group: "hash", Summary: "All fields of a hash and their values, in the order in which the fields came.",
	Example: "bucket",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Shape: resp.Map, Data: code(reads(limits.HashValue, getHash)),
}, {
	Name: "hkeys", Syntax: "key", Group: "hash", Summary: "All fields of a hash, in the order in which they came.",
	Example: "bucket",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: code(reads(limits.HashValue, getFieldNames)),
}, {
	Name: "hvals", Syntax: "key", Group: "hash", Summary: "All values of a hash, in the order in which the fields came.",
	Example: "bucket",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: code(reads(limits.HashValue, getFieldValues)),
}, {
	Name: "hlen", Syntax: "key", Group: "hash", Summary: "The number of fields of a hash.",
	Example: "bucket",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(reads(limits.HashValue, countFields)),
}, {
	Name: "hexists", Syntax: "key field", Group: "hash", Summary: "Whether a hash has a field.",
	Example: "bucket tokens",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(reads(limits.HashValue, hasField)),
}, {
	Name: "hstrlen", Syntax: "key field", Group: "hash", Summary: "The bytes of the value of a field of a hash.",
	Example: "bucket tokens",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(reads(limits.HashValue, getFieldLength)),
}, {
	Name: "hincrby", Syntax: "key field increment", Group: "hash", Summary: "Add to a number in a field of a hash.",
	Example: "bucket tokens -1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: code(incrementField),
}, {
	Name: "hincrbyfloat", Syntax: "key field increment", Group: "hash", Summary: "Add to a number in a field of a hash that may have a fraction.",
	Example: "bucket tokens -0.5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: code(incrementFieldByFloat),
}, {
	Name: "hdel", Syntax: "key field ...", Group: "hash", Summary: "Remove fields of a hash.",
	Example: "bucket tokens",
	Cost:    command.ValuePass, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: code(deleteFields),
}}

func setFields(c *Call, name string) (added int, ok bool) {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		c.fail(command.ErrArity.With(name))
		return 0, false
	}
	v, _, ok := c.get(c.Args[1], limits.HashValue)
	if !ok {
		return 0, false
	}
	return c.setPairs(v, pairs)
}

// workOnHash is the work of finding or changing fields of a hash.
func workOnHash(h datatype.Hash, fields int) int {
	if fields <= datatype.FewFields {
		return fields * command.CopyWork(h)
	}
	return (h.Len() + fields) * command.IndexWork
}

// setPairs sets fields of the hash v that the command has read, given each before its value, and counts those that are new.
func (c *Call) setPairs(v engine.Value, pairs [][]byte) (added int, ok bool) {
	ok = c.change(v, limits.HashValue, datatype.Size(pairs), 2*workOnHash(v.Data, len(pairs)/2), func(data []byte) []byte {
		h, n := datatype.Hash(data).Set(pairs)
		added = n
		return h
	})
	return added, ok
}

func setFieldIfAbsent(c *Call) {
	v, _, ok := c.get(c.Args[1], limits.HashValue)
	switch {
	case !ok:
	case datatype.Hash(v.Data).Find(c.Args[2]) >= 0:
		c.Writer.Int(0)
	default:
		if _, ok := setFields(c, "hsetnx"); ok {
			c.Writer.Int(1)
		}
	}
}

// bulkField writes the value of a field by its position, null for -1.
func (c *Call) bulkField(h datatype.Hash, at int) {
	if at < 0 {
		c.Writer.Null()
		return
	}
	c.Writer.Bulk(h.Value(at))
}

func getField(c *Call, h datatype.Hash) {
	c.bulkField(h, h.Find(c.Args[2]))
}

func getFields(c *Call, h datatype.Hash) {
	fields := c.Args[2:]
	start, fits := len(c.Writer.Buf), true
	c.Writer.Array(len(fields))
	c.Tx.Spend(workOnHash(h, len(fields)))
	h.FindAll(fields, func(at int) {
		if fits = fits && len(c.Writer.Buf)-start <= maxRepeatedBytes; fits {
			c.bulkField(h, at)
		}
	})
	if !fits {
		c.Writer.Buf = c.Writer.Buf[:start]
		c.fail(errReplyTooBig.With(maxRepeatedBytes))
	}
}

// maxRepeatedBytes bounds the reply of a command that can name the same value many times; one value may go beyond it.
const maxRepeatedBytes = 2 * engine.MaxValueBytes

func getHash(c *Call, h datatype.Hash) {
	c.Tx.Spend(2 * h.Len() * command.WriteWork)
	c.Writer.Array(2 * h.Len())
	for i := range h.Len() {
		c.Writer.Bulk(h.Field(i))
		c.Writer.Bulk(h.Value(i))
	}
}

func getFieldNames(c *Call, h datatype.Hash) { writeParts(c, 0, h.Len(), h.Field) }

func getFieldValues(c *Call, h datatype.Hash) { writeParts(c, 0, h.Len(), h.Value) }

func countFields(c *Call, h datatype.Hash) { c.Writer.Int(int64(h.Len())) }

func hasField(c *Call, h datatype.Hash) { c.Writer.Bool(h.Find(c.Args[2]) >= 0) }

func getFieldLength(c *Call, h datatype.Hash) {
	size := 0
	if at := h.Find(c.Args[2]); at >= 0 {
		size = len(h.Value(at))
	}
	c.Writer.Int(int64(size))
}

func incrementField(c *Call) {
	by, ok := c.integer(c.Args[3])
	if !ok {
		return
	}
	v, _, ok := c.get(c.Args[1], limits.HashValue)
	if !ok {
		return
	}
	n, h := int64(0), datatype.Hash(v.Data)
	if at := h.Find(c.Args[2]); at >= 0 {
		if n, ok = command.ParseRedisInt(h.Value(at)); !ok {
			c.fail(errHashNotInteger)
			return
		}
	}
	sum, ok := addInts(n, by)
	if !ok && by != 0 {
		c.fail(errOverflow)
		return
	}
	pair := [][]byte{c.Args[2], strconv.AppendInt(c.digits[:0], sum, 10)}
	if _, ok := c.setPairs(v, pair); ok {
		c.Writer.Int(sum)
	}
}

func incrementFieldByFloat(c *Call) {
	sum, by := new(big.Float).SetPrec(longDoubleBits), new(big.Float).SetPrec(longDoubleBits)
	if !parseLongDouble(c.Args[3], by) {
		c.fail(errNotFloat)
		return
	}
	if by.IsInf() {
		c.fail(errInfinite)
		return
	}
	v, _, ok := c.get(c.Args[1], limits.HashValue)
	if !ok {
		return
	}
	h := datatype.Hash(v.Data)
	if at := h.Find(c.Args[2]); at >= 0 && !parseLongDouble(h.Value(at), sum) {
		c.fail(errHashNotFloat)
		return
	}
	if !addLongDouble(sum, by) {
		c.fail(errNaN)
		return
	}
	text := appendLongDouble(nil, sum)
	if _, ok := c.setPairs(v, [][]byte{c.Args[2], text}); ok {
		c.Writer.Bulk(text)
	}
}

func deleteFields(c *Call) {
	v, _, ok := c.get(c.Args[1], limits.HashValue)
	if !ok {
		return
	}
	there, fields := false, c.Args[2:]
	c.Tx.Spend(workOnHash(v.Data, len(fields)))
	datatype.Hash(v.Data).FindAll(fields, func(at int) { there = there || at >= 0 })
	deleted := 0
	if there {
		c.change(v, limits.HashValue, 0, workOnHash(v.Data, len(fields)), func(data []byte) []byte {
			h, n := datatype.Hash(data).Delete(fields)
			deleted = n
			return h
		})
	}
	c.Writer.Int(int64(deleted))
}
