package stream

import (
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var infoRows = []command.Row{{
	Name: "xinfo", Group: "stream", Summary: "Show what is known about a stream.", Since: since,
	Sub: []command.Row{{
		Name: "stream", Syntax: "key [FULL [COUNT count]]", Group: "stream",
		Summary: "What is known about a stream, with its first and last entry, or with FULL its first 10 or count entries.",
		Example: "events", Since: since, Shape: resp.Map,
		Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.Keys{First: 2, Last: 2, Access: command.Reads},
		Data: data.Code(describe), Dialect: 2,
	}},
}}

// fullCount is the number of entries that FULL shows if COUNT does not say.
const fullCount = 10

func describe(c *data.Call) {
	s, found, ok := open(c, c.Args[2])
	if !ok {
		return
	}
	if !found {
		c.Fail(data.ErrNoSuchKey)
		return
	}
	full, count := len(c.Args) > 3, int64(fullCount)
	switch words := c.Args[3:]; {
	case full && !command.IsWord(words[0], "FULL"), len(words) == 2, len(words) > 3,
		len(words) == 3 && !command.IsWord(words[1], "COUNT"):
		c.Fail(errInfo.With(string(c.Args[1])))
		return
	case len(words) == 3:
		if count, ok = c.Integer(words[2]); !ok {
			return
		}
		if count < 0 {
			count = fullCount
		}
	}
	s.describe(full)
	if !full {
		writeName(c, "groups")
		c.Writer.Int(0)
		s.writeEnd("first-entry", 0)
		s.writeEnd("last-entry", s.len()-1)
		return
	}
	shown := s.len()
	if count > 0 {
		shown = int(min(count, int64(shown)))
	}
	writeName(c, "entries")
	s.write(0, shown, false)
	writeName(c, "groups")
	c.Writer.Array(0)
}

// nodeEntries is the number of entries in a node of Redis's radix tree, unless they are long.
const nodeEntries = 100

// describe replies with the part that does not depend on FULL. The numbers of Redis's radix tree are those of full
// nodes.
func (s *stream) describe(full bool) {
	c, first, nodes := s.call, datatype.StreamID{}, int64(s.len()+nodeEntries-1)/nodeEntries
	if s.len() > 0 {
		first = s.at(0)
	}
	if full {
		c.Writer.Array(2 * 9)
	} else {
		c.Writer.Array(2 * 10)
	}
	writeName(c, "length")
	c.Writer.Int(int64(s.len()))
	writeName(c, "radix-tree-keys")
	c.Writer.Int(nodes)
	writeName(c, "radix-tree-nodes")
	c.Writer.Int(nodes + 1)
	writeName(c, "last-generated-id")
	writeID(c, s.head.Last)
	writeName(c, "max-deleted-entry-id")
	writeID(c, s.head.MaxDeleted)
	writeName(c, "entries-added")
	c.Writer.Int(int64(s.head.Added))
	writeName(c, "recorded-first-entry-id")
	writeID(c, first)
}

func writeName(c *data.Call, name string) { c.Writer.BulkString(name) }

// writeEnd replies with the entry at a place, or with null if the stream is empty.
func (s *stream) writeEnd(name string, place int) {
	writeName(s.call, name)
	if s.len() == 0 {
		s.call.Writer.Null()
		return
	}
	s.each(place, place+1, false, func(id datatype.StreamID, fields []byte) { writeEntry(s.call, id, fields) })
}
