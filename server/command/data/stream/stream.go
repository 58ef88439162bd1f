package stream

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/blocks"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// stream is a key's stream, as flat bytes or in blocks. In blocks, the element at place 0 is the stream's head.
type stream struct {
	call *data.Call
	key  []byte
	head datatype.StreamHead

	flat  datatype.Stream
	large *large.Value // nil for flat bytes

	value  engine.Value  // of flat bytes, before any change
	edited *engine.Value // of flat bytes that are changed in place
}

// open returns the stream of a key. If the key has no stream, open returns an empty one that is not stored, and found is
// false. If the key is of another kind, open writes the error.
func open(c *data.Call, key []byte) (s stream, found, ok bool) {
	s = stream{call: c, key: key}
	if s.large = c.Large(key, engine.StreamKind); s.large != nil {
		s.head = datatype.ReadStreamHead(s.large.At(0).Value)
		return s, true, true
	}
	if s.value, found, ok = c.Get(key, engine.StreamKind); !ok {
		return s, found, false
	}
	if s.flat = s.value.Data; !found {
		s.flat = datatype.NewStream()
	}
	s.head = s.flat.Head()
	return s, found, true
}

// len is the number of entries.
func (s *stream) len() int {
	if s.large != nil {
		return s.large.Len() - 1
	}
	return s.flat.Len()
}

// place returns the number of entries before an id, and whether there is an entry of the id.
func (s *stream) place(id datatype.StreamID) (place int, found bool) {
	var room [datatype.StreamIDBytes]byte
	if name := id.Append(room[:0]); s.large == nil {
		place, found = s.flat.Place(name)
	} else {
		s.call.SpendOn(1, 0)
		place, found = s.large.Seek(name)
		place--
	}
	return place, found
}

// at returns the id of the entry at a place.
func (s *stream) at(place int) datatype.StreamID {
	if s.large != nil {
		s.call.SpendOn(1, 0)
		return datatype.ReadStreamID(s.large.At(place + 1).Key)
	}
	id, _ := s.flat.At(place)
	return datatype.ReadStreamID(id)
}

// each visits the entries from from to to-1; with back, from the last to the first.
func (s *stream) each(from, to int, back bool, visit func(id datatype.StreamID, fields []byte)) {
	if s.large != nil {
		each := s.large.Each
		if back {
			each = s.large.EachBack
		}
		each(from+1, to+1, func(x blocks.Element) bool {
			visit(datatype.ReadStreamID(x.Key), x.Value)
			return true
		})
		return
	}
	for i := range to - from {
		place := from + i
		if back {
			place = to - 1 - i
		}
		id, fields := s.flat.At(place)
		visit(datatype.ReadStreamID(id), fields)
	}
}

// edit begins to change the stream, to which at most a number of bytes is added. keep ends the change. If the stream
// becomes too large, edit writes the error.
func (s *stream) edit(more int) (ok bool) {
	c := s.call
	if s.large != nil {
		s.large, ok = c.EditLarge(s.key, engine.StreamKind, more)
		return ok
	}
	c.Tx.Spend(command.CopyWork(s.flat))
	switch size := len(s.flat) + more; {
	case size <= engine.MaxValueBytes:
		s.edited = c.Tx.Edit(s.key, engine.StreamKind)
		if len(s.edited.Data) == 0 {
			s.edited.Data = s.flat
		}
		s.flat = s.edited.Data
	case !c.Fits(engine.StreamKind, size):
		return false
	default: // too large to be changed in place
		s.flat = bytes.Clone(s.flat)
	}
	return true
}

// add adds an entry at the end.
func (s *stream) add(id datatype.StreamID, fields []byte) {
	s.head.Last = id
	s.head.Added++
	name := id.Append(make([]byte, 0, datatype.StreamIDBytes))
	if s.large != nil {
		s.call.SpendOn(1, 0)
		s.large.Put(name, fields)
		return
	}
	s.flat = s.flat.Add(name, fields)
}

// remove removes the entries from from to to-1.
func (s *stream) remove(from, to int) {
	switch {
	case from == to:
	case s.large != nil:
		s.call.SpendOn(1, to-from)
		s.large.DeleteRange(from+1, to+1)
	default:
		s.call.Tx.Spend((to - from) * command.WalkWork)
		s.flat = s.flat.Remove(from, to)
	}
}

// keep ends a change.
func (s *stream) keep() {
	if s.large != nil {
		s.call.SpendOn(1, 0)
		s.large.Put(nil, s.head.Append(nil))
		return
	}
	if s.flat.SetHead(s.head); s.edited != nil {
		s.edited.Data = s.flat
		return
	}
	s.call.Tx.Set(s.key, engine.Value{Kind: engine.StreamKind, ExpiresAt: s.value.ExpiresAt, Data: s.flat})
}

// write replies with the entries from from to to-1.
func (s *stream) write(from, to int, back bool) {
	w := &s.call.Writer
	s.call.SpendOn(0, to-from)
	w.Array(to - from)
	s.each(from, to, back, func(id datatype.StreamID, fields []byte) { writeEntry(s.call, id, fields) })
}

// writeEntry replies with an entry: its id, and an array of its fields.
func writeEntry(c *data.Call, id datatype.StreamID, fields []byte) {
	n := datatype.CountFields(fields)
	c.Tx.Spend(n * command.WriteWork)
	c.Writer.Array(2)
	writeID(c, id)
	c.Writer.Array(n)
	for len(fields) > 0 {
		var word []byte
		word, fields = datatype.NextField(fields)
		c.Writer.Bulk(word)
	}
}
