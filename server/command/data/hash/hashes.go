package hash

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var hashRows = []command.Row{{
	Name: "hset", Syntax: "key field value [field value ...]", Group: "hash", Summary: "Set fields of a hash.",
	Example: "bucket tokens 5",
	Cost:    command.ValuePass, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true, Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) {
		if added, ok := setFields(c); ok {
			c.Writer.Int(int64(added))
		}
	}),
}, {
	Name: "hmset", Syntax: "key field value [field value ...]", Group: "hash", Summary: "Set fields of a hash.",
	Example: "bucket tokens 5",
	Cost:    command.ValuePass, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true, Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) {
		if _, ok := setFields(c); ok {
			c.Writer.Status("OK")
		}
	}),
}, {
	Name: "hsetnx", Syntax: "key field value", Group: "hash", Summary: "Set a field of a hash if it does not exist.",
	Example: "bucket tokens 5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true,
	KeyFlags: "RW insert", Keys: command.ChangedKey, Data: data.Code(setFieldIfAbsent),
}, {
	Name: "hget", Syntax: "key field", Group: "hash", Summary: "The value of a field of a hash.",
	Example: "bucket tokens",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true, Keys: command.ReadKey, Data: data.Code(data.ReadsLarge(engine.HashKind, getField, getFieldLarge)),
}, {
	Name: "hmget", Syntax: "key field ...", Group: "hash", Summary: "The values of several fields of a hash.",
	Example: "bucket tokens time",
	Cost:    command.ValuePass, Flags: command.ReadOnly | command.Fast, Seeks: true, Keys: command.ReadKey, Data: data.Code(data.ReadsLarge(engine.HashKind, getFields, getFieldsLarge)),
}, {
	Name: "hgetall", Syntax: "key", Group: "hash", Summary: "All fields of a hash and their values, in the order in which the fields came while the hash is small.",
	Example: "bucket",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Shape: resp.Map, Data: data.Code(data.ReadsLarge(engine.HashKind, getHash, getLarge(true, true))),
}, {
	Name: "hkeys", Syntax: "key", Group: "hash", Summary: "All fields of a hash, in the order in which they came while the hash is small.",
	Example: "bucket",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: data.Code(data.ReadsLarge(engine.HashKind, getFieldNames, getLarge(true, false))),
}, {
	Name: "hvals", Syntax: "key", Group: "hash", Summary: "All values of a hash, in the order in which the fields came while the hash is small.",
	Example: "bucket",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: data.Code(data.ReadsLarge(engine.HashKind, getFieldValues, getLarge(false, true))),
}, {
	Name: "hlen", Syntax: "key", Group: "hash", Summary: "The number of fields of a hash.",
	Example: "bucket",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true,
	KeyFlags: "RO", Keys: command.ReadKey,
	Data: data.Code(data.ReadsLarge(engine.HashKind, countFields, data.CountLarge)),
}, {
	Name: "hexists", Syntax: "key field", Group: "hash", Summary: "Whether a hash has a field.",
	Example: "bucket tokens",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true,
	KeyFlags: "RO", Keys: command.ReadKey, Data: data.Code(data.ReadsLarge(engine.HashKind, hasField, data.HasLarge)),
}, {
	Name: "hstrlen", Syntax: "key field", Group: "hash", Summary: "The bytes of the value of a field of a hash.",
	Example: "bucket tokens",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true,
	KeyFlags: "RO", Keys: command.ReadKey,
	Data: data.Code(data.ReadsLarge(engine.HashKind, getFieldLength, getFieldLengthLarge)),
}, {
	Name: "hincrby", Syntax: "key field increment", Group: "hash", Summary: "Add to a number in a field of a hash.",
	Example: "bucket tokens -1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true, Keys: command.UsedKey, Data: data.Code(incrementField),
}, {
	Name: "hincrbyfloat", Syntax: "key field increment", Group: "hash", Summary: "Add to a number in a field of a hash that may have a fraction.",
	Example: "bucket tokens -0.5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true, Keys: command.UsedKey, Data: data.Code(incrementFieldByFloat),
}, {
	Name: "hdel", Syntax: "key field ...", Group: "hash", Summary: "Remove fields of a hash.",
	Example: "bucket tokens",
	Cost:    command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW delete", Keys: command.ChangedKey, Data: data.Code(deleteFields),
}}

func setFields(c *data.Call) (added int, ok bool) {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		c.Fail(command.ErrArity.With(c.Name()))
		return 0, false
	}
	return setPairs(c, pairs)
}

// workOnHash is the work of finding or changing a number of fields in a hash.
func workOnHash(h datatype.Hash, fields int) int {
	if fields <= datatype.FewFields {
		return fields * command.CopyWork(h)
	}
	return (h.Len() + fields) * command.IndexWork
}

// setPairs sets fields of the command's hash, and returns the number of new fields. pairs alternates fields and values.
func setPairs(c *data.Call, pairs [][]byte) (added int, ok bool) {
	added, ok, done := setLarge(c, pairs)
	if done {
		return added, ok
	}
	v, _, ok := c.Get(c.Args[1], engine.HashKind)
	if !ok {
		return 0, false
	}
	ok = c.Change(v, engine.HashKind, datatype.Size(pairs), 2*workOnHash(v.Data, len(pairs)/2), func(data []byte) []byte {
		h, n := datatype.Hash(data).Set(pairs)
		added = n
		return h
	})
	return added, ok
}

func setFieldIfAbsent(c *data.Call) {
	_, found, ok := readField(c)
	switch {
	case !ok:
	case found:
		c.Writer.Int(0)
	default:
		if _, ok := setFields(c); ok {
			c.Writer.Int(1)
		}
	}
}

// writeField writes the value of the field at a position, null for -1.
func writeField(c *data.Call, h datatype.Hash, at int) {
	if at < 0 {
		c.Writer.Null()
		return
	}
	c.Writer.Bulk(h.Value(at))
}

func getField(c *data.Call, h datatype.Hash) {
	writeField(c, h, h.Find(c.Args[2]))
}

func getFields(c *data.Call, h datatype.Hash) {
	fields := c.Args[2:]
	start, fits := len(c.Writer.Buf), true
	c.Writer.Array(len(fields))
	c.Tx.Spend(workOnHash(h, len(fields)))
	h.FindAll(fields, func(at int) {
		if fits = fits && len(c.Writer.Buf)-start <= data.MaxRepeatedBytes; fits {
			writeField(c, h, at)
		}
	})
	if !fits {
		c.FailTooBig(start)
	}
}

func getHash(c *data.Call, h datatype.Hash) {
	c.Tx.Spend(2 * h.Len() * command.WriteWork)
	c.Writer.Array(2 * h.Len())
	for i := range h.Len() {
		c.Writer.Bulk(h.Field(i))
		c.Writer.Bulk(h.Value(i))
	}
}

func getFieldNames(c *data.Call, h datatype.Hash) { data.WriteParts(c, 0, h.Len(), h.Field) }

func getFieldValues(c *data.Call, h datatype.Hash) { data.WriteParts(c, 0, h.Len(), h.Value) }

func countFields(c *data.Call, h datatype.Hash) { c.Writer.Int(int64(h.Len())) }

func hasField(c *data.Call, h datatype.Hash) { c.Writer.Bool(h.Find(c.Args[2]) >= 0) }

func getFieldLength(c *data.Call, h datatype.Hash) {
	size := 0
	if at := h.Find(c.Args[2]); at >= 0 {
		size = len(h.Value(at))
	}
	c.Writer.Int(int64(size))
}

func incrementField(c *data.Call) {
	by, ok := c.Integer(c.Args[3])
	if !ok {
		return
	}
	value, found, ok := readField(c)
	if !ok {
		return
	}
	n := int64(0)
	if found {
		if n, ok = command.ParseRedisInt(value); !ok {
			c.Fail(errHashNotInteger)
			return
		}
	}
	sum, ok := data.AddInts(n, by)
	if !ok && by != 0 {
		c.Fail(data.ErrOverflow)
		return
	}
	pair := [][]byte{c.Args[2], c.FormatInt(sum)}
	if _, ok := setPairs(c, pair); ok {
		c.Writer.Int(sum)
	}
}

func incrementFieldByFloat(c *data.Call) {
	sum, by := data.NewLongDouble(), data.NewLongDouble()
	if !data.ParseLongDouble(c.Args[3], by) {
		c.Fail(data.ErrNotFloat)
		return
	}
	if by.IsInf() {
		c.Fail(errInfinite)
		return
	}
	value, found, ok := readField(c)
	if !ok {
		return
	}
	if found && !data.ParseLongDouble(value, sum) {
		c.Fail(errHashNotFloat)
		return
	}
	if !data.AddLongDouble(sum, by) {
		c.Fail(data.ErrNaN)
		return
	}
	text := data.AppendLongDouble(nil, sum)
	if _, ok := setPairs(c, [][]byte{c.Args[2], text}); ok {
		c.Writer.Bulk(text)
	}
}

func deleteFields(c *data.Call) {
	if deleted, done := c.DeleteLarge(c.Args[1], engine.HashKind, c.Args[2:]); done {
		c.Writer.Int(int64(deleted))
		return
	}
	v, _, ok := c.Get(c.Args[1], engine.HashKind)
	if !ok {
		return
	}
	there, fields := false, c.Args[2:]
	c.Tx.Spend(workOnHash(v.Data, len(fields)))
	datatype.Hash(v.Data).FindAll(fields, func(at int) { there = there || at >= 0 })
	deleted := 0
	if there {
		c.Change(v, engine.HashKind, 0, workOnHash(v.Data, len(fields)), func(data []byte) []byte {
			h, n := datatype.Hash(data).Delete(fields)
			deleted = n
			return h
		})
	}
	c.Writer.Int(int64(deleted))
}
