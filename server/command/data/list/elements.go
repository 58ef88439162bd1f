package list

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var elementRows = []command.Row{{
	Name: "lindex", Syntax: "key index", Group: "list",
	Summary: "An element of a list: 0 is the head, -1 the tail.",
	Example: "log -1",
	Cost:    command.ValueCopy, Flags: command.ReadOnly, Seeks: true, Keys: command.ReadKey, Data: data.Code(elementAt),
}, {
	Name: "lrange", Syntax: "key start stop", Group: "list",
	Summary: "Elements of a list from one index to another, both included: 0 is the head, -1 the tail.",
	Example: "log 0 -1",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Visits: data.VisitedPlaces, Data: data.Code(elementsBetween),
}, {
	Name: "lpos", Syntax: "key element [RANK rank] [COUNT count] [MAXLEN len]", Group: "list",
	Summary: "The index of the first element that equals a value, or of the rank-th; a negative rank counts from the tail. COUNT asks for several indexes, 0 for all.",
	Example: "log 1",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Data: data.Code(findElements),
}, {
	Name: "lset", Syntax: "key index element", Group: "list", Summary: "Replace an element of a list.",
	Example: "log 0 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, Seeks: true, Keys: command.ChangedKey, Data: data.Code(setElement),
}, {
	Name: "linsert", Syntax: "key where pivot element", Group: "list",
	Summary: "Insert an element BEFORE or AFTER the first one that equals the pivot.",
	Example: "log BEFORE 1 0",
	Cost:    command.ValuePass, Flags: command.Write | command.DenyOOM,
	KeyFlags: "RW insert", Keys: command.ChangedKey, Data: data.Code(insertElement),
}, {
	Name: "lrem", Syntax: "key count element", Group: "list",
	Summary: "Remove elements that equal a value: the first count elements from the head, or from the tail if count is negative; all if it is 0.",
	Example: "log 0 1",
	Cost:    command.ValuePass, Flags: command.Write,
	KeyFlags: "RW delete", Keys: command.ChangedKey, Data: data.Code(removeElements),
}, {
	Name: "ltrim", Syntax: "key start stop", Group: "list",
	Summary: "Keep only the elements of a list from one index to another, both included.",
	Example: "log 0 99",
	Cost:    command.ValueCopy, Flags: command.Write,
	KeyFlags: "RW delete", Keys: command.ChangedKey, Data: data.Code(trimList),
}}

// listPlace turns an index, which may count from the end, into a place. ok is false if it is out of range.
func listPlace(l datatype.List, index int64) (place int, ok bool) {
	return placeIn(l.Len(), index)
}

// placeIn is listPlace in a list of n elements.
func placeIn(n int, index int64) (place int, ok bool) {
	if index < 0 {
		index += int64(n)
	}
	return int(index), index >= 0 && index < int64(n)
}

func elementAt(c *data.Call) {
	if l := c.Large(c.Args[1], engine.ListKind); l != nil {
		elementAtLarge(c, l)
		return
	}
	v, found, ok := c.Get(c.Args[1], engine.ListKind)
	if !ok {
		return
	}
	if !found {
		c.Writer.Null() // even if the index is invalid
		return
	}
	i, ok := c.Integer(c.Args[2])
	if !ok {
		return
	}
	if at, ok := listPlace(v.Data, i); ok {
		c.Writer.Bulk(datatype.List(v.Data).At(at))
	} else {
		c.Writer.Null()
	}
}

func setElement(c *data.Call) {
	if l := c.Large(c.Args[1], engine.ListKind); l != nil {
		setLarge(c, l)
		return
	}
	v, found, ok := c.Get(c.Args[1], engine.ListKind)
	if !ok {
		return
	}
	if !found {
		c.Fail(data.ErrNoSuchKey)
		return
	}
	i, ok := c.Integer(c.Args[2])
	if !ok {
		return
	}
	at, ok := listPlace(v.Data, i)
	if !ok {
		c.Fail(errIndexRange)
		return
	}
	if spliceList(c, v, at, at+1, c.Args[3:]) {
		c.Writer.Status("OK")
	}
}

// spliceList replaces the elements from from to to-1.
func spliceList(c *data.Call, v engine.Value, from, to int, elements [][]byte) (ok bool) {
	return c.Change(v, engine.ListKind, datatype.Size(elements), command.CopyWork(v.Data), func(data []byte) []byte {
		return datatype.List(data).Splice(from, to, elements)
	})
}

func insertElement(c *data.Call) {
	after := command.IsWord(c.Args[2], "AFTER")
	if !after && !command.IsWord(c.Args[2], "BEFORE") {
		c.Fail(command.ErrSyntax)
		return
	}
	if l := c.Large(c.Args[1], engine.ListKind); l != nil {
		insertLarge(c, l, after)
		return
	}
	v, found, ok := c.Get(c.Args[1], engine.ListKind)
	if !ok {
		return
	}
	l := datatype.List(v.Data)
	c.Tx.Spend(l.Len() * command.LookWork)
	at := l.Find(c.Args[3], 0, 1)
	switch length := l.Len() + 1; {
	case !found:
		c.Writer.Int(0)
	case at < 0:
		c.Writer.Int(-1)
	default:
		if after {
			at++
		}
		if spliceList(c, v, at, at, c.Args[4:]) {
			c.Writer.Int(int64(length))
		}
	}
}

func removeElements(c *data.Call) {
	most, ok := c.Integer(c.Args[2])
	if !ok {
		return
	}
	if l := c.Large(c.Args[1], engine.ListKind); l != nil {
		removeLarge(c, l, int(most))
		return
	}
	v, _, ok := c.Get(c.Args[1], engine.ListKind)
	if !ok {
		return
	}
	l, removed := datatype.List(v.Data), 0
	c.Tx.Spend(l.Len() * command.LookWork)
	if l.Find(c.Args[3], 0, 1) >= 0 {
		c.Change(v, engine.ListKind, 0, l.Len()*command.LookWork, func(data []byte) []byte {
			l, n := datatype.List(data).Remove(c.Args[3], int(most))
			removed = n
			return l
		})
	}
	c.Writer.Int(int64(removed))
}

// findOptions are the options of LPOS.
type findOptions struct {
	rank, count, most int64
	counts            bool
}

func readFindOptions(c *data.Call) (o findOptions, ok bool) {
	o.rank = 1
	for words := c.Args[3:]; len(words) > 0; words = words[2:] {
		switch {
		case len(words) == 1:
			c.Fail(command.ErrSyntax)
			return o, false
		case command.IsWord(words[0], "RANK"):
			if o.rank, ok = c.Integer(words[1]); ok && o.rank == 0 {
				c.Fail(errRank)
				return o, false
			}
		case command.IsWord(words[0], "COUNT"):
			o.counts = true
			o.count, ok = c.AtLeast(words[1], errFindCount)
		case command.IsWord(words[0], "MAXLEN"):
			o.most, ok = c.AtLeast(words[1], errFindLength)
		default:
			c.Fail(command.ErrSyntax)
			return o, false
		}
		if !ok {
			return o, false
		}
	}
	return o, true
}

func findElements(c *data.Call) {
	o, ok := readFindOptions(c)
	if !ok {
		return
	}
	var places []int64
	if l := c.Large(c.Args[1], engine.ListKind); l != nil {
		places = o.places(l.Len(), func(at, step int) int { return findLarge(c, l, at, step, &o) })
	} else {
		v, _, ok := c.Get(c.Args[1], engine.ListKind)
		if !ok {
			return
		}
		l := datatype.List(v.Data)
		c.Tx.Spend(l.Len() * command.LookWork)
		places = o.places(l.Len(), func(at, step int) int { return l.Find(c.Args[2], at, step) })
	}
	switch {
	case o.counts:
		c.Tx.Spend(len(places) * command.WriteWork)
		c.Writer.Array(len(places))
		c.Writer.Ints(places...)
	case len(places) == 0:
		c.Writer.Null()
	default:
		c.Writer.Int(places[0])
	}
}

// places returns the places that LPOS asks for in a list of n elements. find returns the first place of the element from
// a place on, in steps of 1 or -1, or -1 if there is none.
func (o *findOptions) places(n int, find func(at, step int) int) (places []int64) {
	at, step, skip := 0, 1, o.rank-1
	if o.rank < 0 {
		at, step, skip = n-1, -1, -(o.rank + 1)
	}
	looked := func(i int) int64 { return int64(max(i-at, at-i)) } // the number of elements before i
	most := o.most
	if most == 0 {
		most = math.MaxInt64
	}
	for i := find(at, step); i >= 0 && looked(i) < most; i = find(i+step, step) {
		if skip > 0 {
			skip--
			continue
		}
		places = append(places, int64(i))
		if !o.counts || int64(len(places)) == o.count {
			break
		}
	}
	return places
}

// readRange returns the list of the command's key, and the range from from to to-1 that start and stop name.
func readRange(c *data.Call) (v engine.Value, from, to int, ok bool) {
	start, stop, ok := c.Integers(c.Args[2], c.Args[3])
	if !ok {
		return v, 0, 0, false
	}
	if v, _, ok = c.Get(c.Args[1], engine.ListKind); !ok {
		return v, 0, 0, false
	}
	from, to = data.Places(start, stop, datatype.List(v.Data).Len())
	return v, from, to, true
}

func elementsBetween(c *data.Call) {
	if l := c.Large(c.Args[1], engine.ListKind); l != nil {
		if from, to, ok := rangeOf(c, l); ok {
			data.WriteElements(c, l, from, to, true, false)
		}
		return
	}
	if v, from, to, ok := readRange(c); ok {
		data.WriteParts(c, from, to, datatype.List(v.Data).At)
	}
}

func trimList(c *data.Call) {
	if l := c.Large(c.Args[1], engine.ListKind); l != nil {
		trimLarge(c, l)
		return
	}
	v, from, to, ok := readRange(c)
	if !ok {
		return
	}
	if from > 0 || to < datatype.List(v.Data).Len() {
		c.Change(v, engine.ListKind, 0, command.CopyWork(v.Data), func(data []byte) []byte { return datatype.List(data).Keep(from, to) })
	}
	c.Writer.Status("OK")
}
