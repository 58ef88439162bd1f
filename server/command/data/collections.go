package data

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// Reads makes a command's function of one that reads a hash, list, set or sorted set. It is empty if the key does not
// exist.
func Reads[T ~[]byte](kind engine.Kind, read func(*Call, T)) func(*Call) {
	return func(c *Call) {
		if v, _, ok := c.Get(c.Args[1], kind); ok {
			read(c, v.Data)
		}
	}
}

// WriteParts replies with part(from) to part(to-1): elements, members, fields or values of a collection.
func WriteParts(c *Call, from, to int, part func(i int) []byte) {
	c.Tx.Spend((to - from) * command.WriteWork)
	c.Writer.Array(to - from)
	for i := from; i < to; i++ {
		c.Writer.Bulk(part(i))
	}
}

// Change creates or changes the hash, list or set of the command's first key, and deletes the key if the result is
// empty. v is the key's present value, most the number of bytes that the change adds at most, and work what it costs in
// addition to copying the value. If the result is too large for a value, Change writes the error and changes nothing.
func (c *Call) Change(v engine.Value, kind engine.Kind, most, work int, change func(data []byte) []byte) (ok bool) {
	return c.ChangeKey(c.Args[1], v, kind, most, work, change)
}

// ChangeKey is Change for a key other than the first.
func (c *Call) ChangeKey(key []byte, v engine.Value, kind engine.Kind, most, work int, change func(data []byte) []byte) (ok bool) {
	c.Tx.Spend(work)
	if len(v.Data)+most > engine.MaxValueBytes {
		data := change(bytes.Clone(v.Data))
		if !c.Fits(kind, len(data)) {
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

// Places turns the indexes start and stop of a sorted set or list into places from (included) and to (not included).
// Negative indexes count from the end.
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

// VisitedPlaces is [command.Row.Visits] of a command whose arguments after the key are the indexes of a range.
func VisitedPlaces(args [][]byte, held int) int {
	start, ok1 := command.ParseRedisInt(args[2])
	stop, ok2 := command.ParseRedisInt(args[3])
	switch {
	case !ok1 || !ok2:
		return 0
	case (start < 0) != (stop < 0): // the number of elements is needed
		return held
	}
	return int(min(max(stop-start, -1), int64(held))) + 1
}

// MaxRepeatedBytes limits the reply of a command that can ask for the same value many times. The last value may exceed
// it.
const MaxRepeatedBytes = 2 * engine.MaxValueBytes
