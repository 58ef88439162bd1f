package data

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/blocks"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
)

// Most commands on lists, sets, hashes and sorted sets have two forms: one for flat bytes, and one for a value in
// blocks, of which they look at few elements. A command without the second form gets flat bytes of any value.

// Large returns the value of a key if it is of a kind and in blocks, and else nil. It is valid until the next change.
func (c *Call) Large(key []byte, kind engine.Kind) *large.Value {
	v := transaction.Large(c.Tx, key, kind)
	if v != nil {
		c.noteLookup(true)
		c.SpendOn(1, 0)
	}
	return v
}

// Look returns what a key holds, without the data of a value in blocks.
func (c *Call) Look(key []byte) (v engine.Value, found bool) { return transaction.Look(c.Tx, key) }

// SpendOn adds to the work of the command what looking for elements of a value in blocks takes, or changing them, and
// what visiting others in a row takes.
func (c *Call) SpendOn(sought, visited int) {
	c.Tx.Spend(sought*command.BlockWork + visited*command.WriteWork)
}

// EditLarge begins to change a value in blocks, to which at most a number of bytes is added. It returns nil if the value
// is not in blocks. If the value becomes too large, it writes the error and returns false.
func (c *Call) EditLarge(key []byte, kind engine.Kind, more int) (v *large.Value, ok bool) {
	v, tooMany := transaction.EditLarge(c.Tx, key, kind, more)
	if tooMany > 0 {
		return nil, c.Fits(kind, tooMany)
	}
	if v != nil {
		c.SpendOn(1, 0)
	}
	return v, true
}

// DropEmpty deletes a key if its value in blocks has no elements left.
func (c *Call) DropEmpty(key []byte, v *large.Value) {
	if v.Len() == 0 {
		c.Tx.Delete(key)
	}
}

// DeleteLarge deletes elements of a key's value in blocks, and the key with the last of them. It returns false if the
// value is not in blocks.
func (c *Call) DeleteLarge(key []byte, kind engine.Kind, elements [][]byte) (deleted int, done bool) {
	v, _ := c.EditLarge(key, kind, 0)
	if v == nil {
		return 0, false
	}
	c.SpendOn(len(elements), 0)
	for _, element := range elements {
		if v.Delete(element) {
			deleted++
		}
	}
	c.DropEmpty(key, v)
	return deleted, true
}

// ReadsLarge is [Reads] with a second form for a value in blocks.
func ReadsLarge[T ~[]byte](kind engine.Kind, read func(*Call, T), readLarge func(*Call, *large.Value)) func(*Call) {
	flat := Reads(kind, read)
	return func(c *Call) {
		if v := c.Large(c.Args[1], kind); v != nil {
			readLarge(c, v)
			return
		}
		flat(c)
	}
}

// WriteElements replies with the elements of a value in blocks from a place on up to another: their keys, their values,
// or both.
func WriteElements(c *Call, v *large.Value, from, to int, keys, values bool) {
	words := 1
	if keys && values {
		words = 2
	}
	c.SpendOn(0, to-from)
	c.Tx.Spend((to - from) * words * command.WriteWork)
	c.Writer.Array(words * (to - from))
	v.Each(from, to, func(x blocks.Element) bool {
		if keys {
			c.Writer.Bulk(x.Key)
		}
		if values {
			c.Writer.Bulk(x.Value)
		}
		return true
	})
}

// CountLarge replies with the number of elements of a value in blocks.
func CountLarge(c *Call, v *large.Value) { c.Writer.Int(int64(v.Len())) }

// HasLarge replies with 1 or 0: whether a set in blocks has the member, or a hash the field, of the second argument.
func HasLarge(c *Call, v *large.Value) {
	_, found := v.Find(c.Args[2])
	c.Writer.Bool(found)
}
