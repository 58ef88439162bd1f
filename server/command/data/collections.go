package data

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// Reads is the Data of a row that reads the hash, list, set or sorted set of its key, empty if the key does not exist.
func Reads[T ~[]byte](kind limits.Algorithm, read func(*Call, T)) func(*Call) {
	return func(c *Call) {
		if v, _, ok := c.Get(c.Args[1], kind); ok {
			read(c, v.Data)
		}
	}
}

// WriteParts replies with the parts from from to to-1 of a collection: its elements, members, fields or values.
func WriteParts(c *Call, from, to int, part func(i int) []byte) {
	c.Tx.Spend((to - from) * command.WriteWork)
	c.Writer.Array(to - from)
	for i := from; i < to; i++ {
		c.Writer.Bulk(part(i))
	}
}

// Change makes or changes the hash, list or set of the command's first key, and drops the key if the result is empty. The caller has read v
// from the key; the change adds most bytes at most, and is work beyond the copying of the value. If the result is too large for a value, change writes the error, and
// nothing is changed.
func (c *Call) Change(v engine.Value, kind limits.Algorithm, most, work int, change func(data []byte) []byte) (ok bool) {
	return c.ChangeKey(c.Args[1], v, kind, most, work, change)
}

// ChangeKey is change of any key.
func (c *Call) ChangeKey(key []byte, v engine.Value, kind limits.Algorithm, most, work int, change func(data []byte) []byte) (ok bool) {
	c.Tx.Spend(work)
	if len(v.Data)+most > engine.MaxValueBytes {
		data := change(bytes.Clone(v.Data))
		if !c.Fits(len(data)) {
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

// Places returns the places from one up to another that start and stop mean in a sorted set or list: negative ones count from
// its end.
func Places(start, stop int64, size int) (from, to int) {
	n := int64(size)
	if start < 0 {
		start = max(start+n, 0)
	}
	if stop < 0 {
		stop += n
	}
	if stop = min(stop, n-1); start > stop {
		return 0, 0
	}
	return int(start), int(stop) + 1
}

// MaxRepeatedBytes bounds the reply of a command that can name the same value many times; one value may go beyond it.
const MaxRepeatedBytes = 2 * engine.MaxValueBytes
