package hash

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command/data"
)

// The commands on hashes in blocks.

// setLarge sets fields of the command's hash in blocks. It returns false as done if the hash is not in blocks.
func setLarge(c *data.Call, pairs [][]byte) (added int, ok, done bool) {
	h, ok := c.EditLarge(c.Args[1], engine.HashKind, datatype.Size(pairs))
	if h == nil {
		return 0, false, !ok
	}
	c.SpendOn(len(pairs)/2, 0)
	for i := 0; i < len(pairs); i += 2 {
		if h.Put(pairs[i], pairs[i+1]) {
			added++
		}
	}
	return added, true, true
}

// readField returns the value of the command's field, until the next change. It writes the error if the key does not
// hold a hash.
func readField(c *data.Call) (value []byte, found, ok bool) {
	if h := c.Large(c.Args[1], engine.HashKind); h != nil {
		x, found := h.Find(c.Args[2])
		return x.Value, found, true
	}
	v, _, ok := c.Get(c.Args[1], engine.HashKind)
	if !ok {
		return nil, false, false
	}
	h := datatype.Hash(v.Data)
	if at := h.Find(c.Args[2]); at >= 0 {
		return h.Value(at), true, true
	}
	return nil, false, true
}

func getFieldLarge(c *data.Call, h *large.Value) {
	x, found := h.Find(c.Args[2])
	c.BulkOrNull(x.Value, found)
}

func getFieldsLarge(c *data.Call, h *large.Value) {
	fields := c.Args[2:]
	start := len(c.Writer.Buf)
	c.SpendOn(len(fields), 0)
	c.Writer.Array(len(fields))
	for _, field := range fields {
		x, found := h.Find(field)
		if c.BulkOrNull(x.Value, found); len(c.Writer.Buf)-start > data.MaxRepeatedBytes {
			c.FailTooBig(start)
			return
		}
	}
}

func getFieldLengthLarge(c *data.Call, h *large.Value) {
	x, _ := h.Find(c.Args[2])
	c.Writer.Int(int64(len(x.Value)))
}

func getLarge(keys, values bool) func(*data.Call, *large.Value) {
	return func(c *data.Call, h *large.Value) { data.WriteElements(c, h, 0, h.Len(), keys, values) }
}
