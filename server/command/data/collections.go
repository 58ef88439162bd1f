package data

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// reads is the Data of a row that reads the hash, list, set or sorted set of its key, empty if the key does not exist.
func reads[T ~[]byte](kind limits.Algorithm, read func(*Call, T)) func(*Call) {
	return func(c *Call) {
		if v, _, ok := c.get(c.Args[1], kind); ok {
			read(c, v.Data)
		}
	}
}

// writeParts replies with the parts from from to to-1 of a collection: its elements, members, fields or values.
func writeParts(c *Call, from, to int, part func(i int) []byte) {
	c.Tx.Spend((to - from) * command.WriteWork)
	c.Writer.Array(to - from)
	for i := from; i < to; i++ {
		c.Writer.Bulk(part(i))
	}
}

// change makes or changes the hash, list or set of the command's first key, and drops the key if the result is empty. The caller has read v
// from the key; the change adds most bytes at most, and is work beyond the copying of the value. If the result is too large for a value, change writes the error, and
// nothing is changed.
func (c *Call) change(v engine.Value, kind limits.Algorithm, most, work int, change func(data []byte) []byte) (ok bool) {
	return c.changeKey(c.Args[1], v, kind, most, work, change)
}

// changeKey is change of any key.
func (c *Call) changeKey(key []byte, v engine.Value, kind limits.Algorithm, most, work int, change func(data []byte) []byte) (ok bool) {
	c.Tx.Spend(work)
	if len(v.Data)+most > engine.MaxValueBytes {
		data := change(bytes.Clone(v.Data))
		if !c.fits(len(data)) {
			return false
		}
		c.Tx.Set(key, engine.Value{Kind: kind, ExpiresAt: v.ExpiresAt, Data: data})
		return true
	}
	edited := c.Tx.Edit(key, kind)
	if edited.Data = change(edited.Data); len(edited.Data) == 0 {
		c.Tx.Delete(key)
	}
	return true
}
