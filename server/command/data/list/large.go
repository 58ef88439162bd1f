package list

import (
	"bytes"
	"math"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/blocks"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// The commands on lists in blocks.

// pushLarge adds elements to a key's list in blocks. It returns nil if the list is not in blocks, and false if it wrote
// the error.
func pushLarge(c *data.Call, key []byte, end listEnd, elements [][]byte) (l *large.Value, ok bool) {
	if l, ok = c.EditLarge(key, engine.ListKind, datatype.Size(elements)); l == nil {
		return nil, ok
	}
	c.SpendOn(len(elements), 0)
	for _, element := range elements {
		l.Insert(end.firstOf(l, 0), element)
	}
	return l, true
}

// firstOf returns the place of the first of the n elements at this end; of none, the place of a new element.
func (e listEnd) firstOf(l *large.Value, n int) int {
	if e == head {
		return 0
	}
	return l.Len() - n
}

// dropLarge removes n elements at an end of a key's list in blocks.
func dropLarge(c *data.Call, key []byte, end listEnd, n int) {
	if n == 0 {
		return
	}
	l, _ := c.EditLarge(key, engine.ListKind, 0)
	c.SpendOn(1, n)
	first := end.firstOf(l, n)
	l.DeleteRange(first, first+n)
	c.DropEmpty(key, l)
}

// popOneLarge replies with the element at an end of a key's list, and removes it. It returns false if the list is not in
// blocks.
func popOneLarge(c *data.Call, key []byte, end listEnd) (done bool) {
	l, _ := c.EditLarge(key, engine.ListKind, 0)
	if l == nil {
		return false
	}
	c.SpendOn(1, 1)
	first := end.firstOf(l, 1)
	l.Take(first, first+1, func(x blocks.Element) { c.Writer.Bulk(x.Key) })
	c.DropEmpty(key, l)
	return true
}

// popLarge is pop of a list in blocks, with a count.
func popLarge(c *data.Call, l *large.Value, end listEnd, count int64) {
	n := int(min(count, int64(l.Len())))
	c.SpendOn(0, n)
	c.Tx.Spend(n * command.WriteWork)
	c.Writer.Array(n)
	first := end.firstOf(l, n)
	write := func(x blocks.Element) bool { c.Writer.Bulk(x.Key); return true }
	if end == head {
		l.Each(first, first+n, write)
	} else {
		l.EachBack(first, first+n, write)
	}
	dropLarge(c, c.Args[1], end, n)
}

// moveLarge is moveElement if one of the lists is in blocks.
func moveLarge(c *data.Call, from, to listEnd) (done bool) {
	source, destination := c.Args[1], c.Args[2]
	l := c.Large(source, engine.ListKind)
	if l == nil {
		return false
	}
	element := bytes.Clone(l.At(from.firstOf(l, 1)).Key)
	if bytes.Equal(source, destination) {
		l, _ = c.EditLarge(source, engine.ListKind, 0)
		c.SpendOn(2, 0)
		first := from.firstOf(l, 1)
		l.DeleteRange(first, first+1)
		l.Insert(to.firstOf(l, 0), element)
		c.Writer.Bulk(element)
		return true
	}
	if !pushAt(c, destination, to, [][]byte{element}) {
		return true
	}
	dropLarge(c, source, from, 1)
	c.Writer.Bulk(element)
	return true
}

// pushAt adds elements to a key's list, and writes the error if it cannot.
func pushAt(c *data.Call, key []byte, end listEnd, elements [][]byte) (ok bool) {
	if l, ok := pushLarge(c, key, end, elements); l != nil || !ok {
		return ok
	}
	v, _, ok := c.Get(key, engine.ListKind)
	return ok && pushTo(c, key, v, end, elements)
}

// elementAtLarge is LINDEX of a list in blocks.
func elementAtLarge(c *data.Call, l *large.Value) {
	i, ok := c.Integer(c.Args[2])
	if !ok {
		return
	}
	if at, ok := placeIn(l.Len(), i); ok {
		c.Writer.Bulk(l.At(at).Key)
	} else {
		c.Writer.Null()
	}
}

// setLarge is LSET of a list in blocks.
func setLarge(c *data.Call, l *large.Value) {
	i, ok := c.Integer(c.Args[2])
	if !ok {
		return
	}
	at, ok := placeIn(l.Len(), i)
	if !ok {
		c.Fail(errIndexRange)
		return
	}
	if l, ok = c.EditLarge(c.Args[1], engine.ListKind, datatype.Size(c.Args[3:])); ok {
		c.SpendOn(1, 0)
		l.SetAt(at, c.Args[3])
		c.Writer.Status("OK")
	}
}

// rangeOf returns the range that the second and third arguments name.
func rangeOf(c *data.Call, l *large.Value) (from, to int, ok bool) {
	start, stop, ok := c.Integers(c.Args[2], c.Args[3])
	if !ok {
		return 0, 0, false
	}
	from, to = data.Places(start, stop, l.Len())
	return from, to, true
}

// trimLarge is LTRIM of a list in blocks.
func trimLarge(c *data.Call, l *large.Value) {
	from, to, ok := rangeOf(c, l)
	if !ok {
		return
	}
	if n := l.Len(); to-from < n {
		l, _ = c.EditLarge(c.Args[1], engine.ListKind, 0)
		c.SpendOn(2, n-(to-from))
		l.DeleteRange(to, n)
		l.DeleteRange(0, from)
		c.DropEmpty(c.Args[1], l)
	}
	c.Writer.Status("OK")
}

// insertLarge is LINSERT into a list in blocks.
func insertLarge(c *data.Call, l *large.Value, after bool) {
	at, found := 0, false
	l.Each(0, l.Len(), func(x blocks.Element) bool {
		if found = bytes.Equal(x.Key, c.Args[3]); !found || after {
			at++
		}
		return !found
	})
	if c.Tx.Spend(at * command.LookWork); !found {
		c.Writer.Int(-1)
		return
	}
	if l, ok := c.EditLarge(c.Args[1], engine.ListKind, datatype.Size(c.Args[4:])); ok {
		c.SpendOn(1, 0)
		l.Insert(at, c.Args[4])
		c.Writer.Int(int64(l.Len()))
	}
}

// findLarge returns the first place of the command's element from a place on, in steps of 1 or -1, or -1 if there is
// none among the elements that LPOS may look at.
func findLarge(c *data.Call, l *large.Value, at, step int, o *findOptions) (found int) {
	each, from, to, most := l.Each, at, l.Len(), l.Len()
	if o.most > 0 {
		most = int(min(o.most, int64(most)))
	}
	if to = min(to, most); step < 0 {
		each, from, to = l.EachBack, l.Len()-most, at+1
	}
	first := at
	found = -1
	each(from, to, func(x blocks.Element) bool {
		if bytes.Equal(x.Key, c.Args[2]) {
			found = at
		}
		at += step
		return found < 0
	})
	c.Tx.Spend(max(at-first, first-at) * command.LookWork)
	return found
}

// removeLarge is LREM of a list in blocks: it looks at the elements from one end, and changes only the blocks of those
// that it removes.
func removeLarge(c *data.Call, l *large.Value, most int) {
	each, step := l.Each, 1
	place := -1
	if most < 0 {
		each, step, place = l.EachBack, -1, l.Len()
		most = -max(most, -math.MaxInt)
	}
	var places []int
	each(0, l.Len(), func(x blocks.Element) bool {
		if place += step; bytes.Equal(x.Key, c.Args[3]) {
			places = append(places, place)
		}
		return most == 0 || len(places) < most
	})
	c.Tx.Spend(l.Len() * command.LookWork)
	if len(places) > 0 {
		slices.Sort(places)
		l, _ = c.EditLarge(c.Args[1], engine.ListKind, 0)
		c.SpendOn(len(places), 0)
		for _, at := range slices.Backward(places) {
			l.DeleteRange(at, at+1)
		}
		c.DropEmpty(c.Args[1], l)
	}
	c.Writer.Int(int64(len(places)))
}
