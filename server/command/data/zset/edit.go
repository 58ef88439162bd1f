package zset

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// memberEdit is a sorted set while a command changes its members: few in place, many in a table.
type memberEdit struct {
	c       *data.Call
	before  engine.Value
	set     datatype.SortedSet
	edited  *engine.Value // nil before the first change
	table   *datatype.Scores
	changed bool
	large   *large.Value // instead of set and table, of a set in blocks
}

// foundMember is the result of find.
type foundMember struct {
	name   []byte
	exists bool
	score  float64
	place  int // in the set
}

// manyChanges is the number of changes from which a table is faster. Building it visits every member of the set, but so
// does each change in place.
const manyChanges = 32

// editMembers begins changes of the command's key. The members are every step-th of the words; the changes add at most
// this many bytes.
func editMembers(c *data.Call, words [][]byte, step, bytes int) (e memberEdit, ok bool) {
	if e.large, ok = c.EditLarge(c.Args[1], engine.SortedSetKind, bytes); e.large != nil || !ok {
		e.c = c
		c.SpendOn(2*((len(words)+step-1)/step), 0)
		return e, ok
	}
	v, found, ok := c.Get(c.Args[1], engine.SortedSetKind)
	if !ok {
		return e, false
	}
	if !found {
		v.Kind = engine.SortedSetKind
	}
	changes := (len(words) + step - 1) / step
	e = memberEdit{c: c, before: v, set: v.Data}
	if changes >= manyChanges || len(v.Data)+bytes > engine.MaxValueBytes-datatype.ScoredBytes {
		e.table = datatype.ScoresOf(e.set, words, step)
		c.Tx.Spend(e.set.Len()*command.IndexWork + changes*command.SortWork)
	}
	return e, true
}

func (e *memberEdit) find(name []byte) (m foundMember) {
	m.name = name
	if e.large != nil {
		m.score, m.exists = e.large.Score(name)
		return m
	}
	if e.table != nil {
		m.score, m.exists = e.table.Score(name)
		return m
	}
	e.c.Tx.Spend(command.CopyWork(e.set) / 4)
	if m.place, m.exists = e.set.Find(name); m.exists {
		m.score = e.set.Score(m.place)
	}
	return m
}

// put gives a member a score.
func (e *memberEdit) put(m foundMember, score float64) {
	e.changed = true
	score += 0 // turns -0 into 0, as Redis does in small sets
	if e.large != nil {
		e.large.SetScore(m.name, score)
		return
	}
	if e.table != nil {
		e.table.Put(m.name, score)
		return
	}
	if m.exists {
		e.remove(m)
	}
	e.edit()
	e.c.Tx.Spend(command.CopyWork(e.set))
	e.set = e.set.Insert(m.name, score)
}

// remove removes a member that exists.
func (e *memberEdit) remove(m foundMember) {
	e.changed = true
	if e.large != nil {
		e.large.Delete(m.name)
		return
	}
	if e.table != nil {
		e.table.Remove(m.name)
		return
	}
	e.edit()
	e.c.Tx.Spend(command.CopyWork(e.set))
	e.set = e.set.Remove(m.place, m.place+1)
}

// edit makes the set writable.
func (e *memberEdit) edit() {
	if e.edited == nil {
		e.edited = e.c.Tx.Edit(e.c.Args[1], engine.SortedSetKind)
		e.set = e.edited.Data
	}
}

// keep ends the changes. If the set has become too large, it writes the error and changes nothing.
func (e *memberEdit) keep() (ok bool) {
	key := e.c.Args[1]
	if e.large != nil {
		e.c.DropEmpty(key, e.large)
		return true
	}
	if e.table != nil {
		if !e.changed {
			return true
		}
		if !e.c.Fits(engine.SortedSetKind, e.table.Bytes()) {
			return false
		}
		e.before.Data = e.table.Pack()
		e.set = e.before.Data
		e.c.Tx.Set(key, e.before)
	} else if e.edited != nil {
		e.edited.Data = e.set
	}
	if e.changed && e.set.Len() == 0 {
		e.c.Tx.Delete(key)
	}
	return true
}
