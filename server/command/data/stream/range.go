package stream

import (
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var rangeRows = []command.Row{{
	Name: "xlen", Syntax: "key", Group: "stream", Summary: "The number of entries of a stream.",
	Example: "events", Since: since,
	Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true,
	KeyFlags: "RO", Keys: command.ReadKey, Data: data.Code(length), Dialect: 2,
}, {
	Name: "xrange", Syntax: "key start end [COUNT count]", Group: "stream",
	Summary: "The entries of a stream between two ids. `-` and `+` are the first and the last one; `(` before an id leaves it out.",
	Example: "events - +", Since: since,
	Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Visits: visits,
	Data: data.Code(func(c *data.Call) { list(c, c.Args[2], c.Args[3], false) }), Dialect: 2,
}, {
	Name: "xrevrange", Syntax: "key end start [COUNT count]", Group: "stream",
	Summary: "The entries of a stream between two ids, the last one first.",
	Example: "events + -", Since: since,
	Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Visits: visits,
	Data: data.Code(func(c *data.Call) { list(c, c.Args[3], c.Args[2], true) }), Dialect: 2,
}}

// leastEntryBytes is the least that an entry takes.
const leastEntryBytes = 32

// visits is the number of entries at which a range looks: its COUNT at most.
func visits(args [][]byte, held int) (n int) {
	n = held / leastEntryBytes
	for at := 4; at+1 < len(args); at += 2 {
		if count, ok := command.ParseRedisInt(args[at+1]); ok && count >= 0 {
			n = int(min(count, int64(n)))
		}
	}
	return n
}

func length(c *data.Call) {
	if s, found, ok := open(c, c.Args[1]); ok && found {
		c.Writer.Int(int64(s.len()))
	} else if ok {
		c.Writer.Int(0)
	}
}

// list replies with the entries between two ids.
func list(c *data.Call, start, stop []byte, back bool) {
	from, ok := readStart(c, start)
	if !ok {
		return
	}
	to, ok := readStop(c, stop)
	if !ok {
		return
	}
	count, ok := readCount(c)
	if !ok {
		return
	}
	s, found, ok := open(c, c.Args[1])
	switch {
	case !ok:
	case !found:
		c.Writer.Array(0)
	case count == 0:
		c.Writer.NullArray()
	default:
		first, last := s.between(from, to)
		if n := int64(last - first); count > 0 && count < n {
			if back {
				first = last - int(count)
			} else {
				last = first + int(count)
			}
		}
		s.write(first, last, back)
	}
}

// readCount parses the option COUNT of a range, and writes the error. Without it, count is negative.
func readCount(c *data.Call) (count int64, ok bool) {
	count = -1
	for at := 4; at < len(c.Args); at += 2 {
		if at+1 == len(c.Args) || !command.IsWord(c.Args[at], "COUNT") {
			c.Fail(command.ErrSyntax)
			return 0, false
		}
		if count, ok = c.Integer(c.Args[at+1]); !ok {
			return 0, false
		}
		count = max(count, 0)
	}
	return count, true
}

// between returns the places of the entries whose ids are not before from and not after to.
func (s *stream) between(from, to datatype.StreamID) (first, last int) {
	first, _ = s.place(from)
	last, found := s.place(to)
	if found {
		last++
	}
	return first, max(first, last)
}
