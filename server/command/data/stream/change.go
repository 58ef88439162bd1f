package stream

import (
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var changeRows = []command.Row{{
	Name: "xadd", Syntax: "key [NOMKSTREAM] [MAXLEN [= | ~] threshold [LIMIT count] | MINID [= | ~] threshold [LIMIT count]] id field value [field value ...]", Group: "stream",
	Summary: "Add an entry to a stream. Its id must be greater than the ids of all earlier entries; `*` makes an id from the server's clock. `~` trims exactly, too.",
	Example: "events * job 1", Since: since,
	Cost: command.ValuePass, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true, Keys: command.ChangedKey,
	Data: data.Code(add), Dialect: 2,
}, {
	Name: "xtrim", Syntax: "key strategy [= | ~] threshold [LIMIT count]", Group: "stream",
	Summary: "Remove the oldest entries of a stream. The strategy MAXLEN keeps as many entries as the threshold says, MINID those from an id on. `~` trims exactly, too.",
	Example: "events MAXLEN 0", Since: since,
	Cost: command.ValuePass, Flags: command.Write,
	KeyFlags: "RW delete", Keys: command.UsedKey, Data: data.Code(trim), Dialect: 2,
}, {
	Name: "xdel", Syntax: "key id ...", Group: "stream", Summary: "Remove entries of a stream.",
	Example: "events 1-1", Since: since,
	Cost: command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW delete", Keys: command.UsedKey, Data: data.Code(remove), Dialect: 2,
}, {
	Name: "xsetid", Syntax: "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]", Group: "stream",
	Summary: "Set the last id of a stream.",
	Example: "events 2-1", Since: since,
	Cost: command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true, Keys: command.ChangedKey, Data: data.Code(setID), Dialect: 2,
}}

// add is XADD.
func add(c *data.Call) {
	o, at, ok := readAddOptions(c, true)
	if !ok {
		return
	}
	id, auto := o.id, o.auto
	switch fields := len(c.Args) - at - 1; {
	case fields < 2 || fields%2 == 1:
		c.Fail(command.ErrArity.With(c.Name()))
		return
	case auto == nothing && id == datatype.StreamID{}:
		c.Fail(errZeroID)
		return
	}
	s, found, ok := open(c, c.Args[1])
	switch {
	case !ok:
		return
	case !found && o.isThere:
		c.Writer.Null()
		return
	case s.head.Last == datatype.MaxStreamID:
		c.Fail(errNoMoreIDs)
		return
	}
	if id, ok = s.newID(id, auto); !ok {
		c.Fail(errSmallID)
		return
	}
	fields := datatype.AppendFields(nil, c.Args[at+1:])
	if !s.edit(datatype.Size([][]byte{fields}) + 2*datatype.StreamIDBytes) {
		return
	}
	s.add(id, fields)
	s.remove(0, o.excess(&s))
	s.keep()
	writeID(c, id)
}

// newID completes the id of a new entry. It returns false if the id does not come after all ids before.
func (s *stream) newID(id datatype.StreamID, auto automatic) (_ datatype.StreamID, ok bool) {
	last := s.head.Last
	switch auto {
	case wholeID:
		if now := uint64(s.call.Tx.Now() / 1e6); now > last.Ms {
			return datatype.StreamID{Ms: now}, true
		}
		return last.Next(), true
	case number:
		if id.Ms == last.Ms {
			id = last.Next()
			return id, id.Ms == last.Ms
		}
	}
	return id, last.Less(id)
}

// remove is XDEL.
func remove(c *data.Call) {
	s, found, ok := open(c, c.Args[1])
	if !ok {
		return
	}
	if !found {
		c.Writer.Int(0)
		return
	}
	var ids []datatype.StreamID // of entries that are there
	for _, text := range c.Args[2:] {
		id, ok := readID(c, text)
		if !ok {
			return
		}
		if _, found := s.place(id); found {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		c.Writer.Int(0)
		return
	}
	if !s.edit(0) {
		return
	}
	removed := 0
	for _, id := range ids { // one may be given twice
		if place, found := s.place(id); found {
			if s.remove(place, place+1); s.head.MaxDeleted.Less(id) {
				s.head.MaxDeleted = id
			}
			removed++
		}
	}
	s.keep()
	c.Writer.Int(int64(removed))
}

// setID is XSETID.
func setID(c *data.Call) {
	last, ok := readID(c, c.Args[2])
	if !ok {
		return
	}
	added, deleted, ok := readCounts(c, last)
	if !ok {
		return
	}
	s, found, ok := open(c, c.Args[1])
	switch {
	case !ok:
		return
	case !found:
		c.Fail(data.ErrNoSuchKey)
		return
	case s.len() > 0 && last.Less(s.at(s.len()-1)):
		c.Fail(errBelowTop)
		return
	case added >= 0 && int64(s.len()) > added:
		c.Fail(errFewAdded)
		return
	case last.Less(s.head.MaxDeleted):
		c.Fail(errBelowDeleted)
		return
	case !s.edit(0):
		return
	}
	s.head.Last = last
	if added >= 0 {
		s.head.Added = uint64(added)
	}
	if deleted != (datatype.StreamID{}) {
		s.head.MaxDeleted = deleted
	}
	s.keep()
	c.Writer.Status("OK")
}

// readCounts parses the options of XSETID, and writes the error. added is -1 if it is not given.
func readCounts(c *data.Call, last datatype.StreamID) (added int64, deleted datatype.StreamID, ok bool) {
	added = -1
	for at := 3; at < len(c.Args); at += 2 {
		switch {
		case at+1 < len(c.Args) && command.IsWord(c.Args[at], "ENTRIESADDED"):
			if added, ok = c.Integer(c.Args[at+1]); !ok {
				return added, deleted, false
			}
			if added < 0 {
				c.Fail(errAdded)
				return added, deleted, false
			}
		case at+1 < len(c.Args) && command.IsWord(c.Args[at], "MAXDELETEDID"):
			if deleted, ok = readID(c, c.Args[at+1]); !ok {
				return added, deleted, false
			}
			if last.Less(deleted) {
				c.Fail(errSetDeleted)
				return added, deleted, false
			}
		default:
			c.Fail(command.ErrSyntax)
			return added, deleted, false
		}
	}
	return added, deleted, true
}
