package stream

import (
	"bytes"
	"strconv"

	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// maxIDText is the longest text of an id that is read, as in Redis.
const maxIDText = 127

// parseID parses ms-seq. An id without its second number gets missing in its place.
func parseID(text []byte, missing uint64) (id datatype.StreamID, ok bool) {
	if len(text) > maxIDText {
		return id, false
	}
	text, _, _ = bytes.Cut(text, []byte{0}) // Redis reads a C string
	ms, seq, both := bytes.Cut(text, []byte("-"))
	if id.Ms, ok = parseUint(ms); !ok || !both {
		id.Seq = missing
		return id, ok
	}
	id.Seq, ok = parseUint(seq)
	return id, ok
}

// parseUint parses a number as Redis parses those of ids: by strtoull if it is not written as Redis writes numbers, so
// that blanks, a plus and zeros may precede it.
func parseUint(text []byte) (n uint64, ok bool) {
	if n, ok := command.ParseRedisInt(text); ok {
		return uint64(n), n >= 0
	}
	text = bytes.TrimLeft(text, " \t\n\v\f\r")
	n, err := strconv.ParseUint(string(bytes.TrimPrefix(text, []byte("+"))), 10, 64)
	return n, err == nil
}

// readID parses an id that stands for itself, and writes the error.
func readID(c *data.Call, text []byte) (id datatype.StreamID, ok bool) {
	if id, ok = parseID(text, 0); !ok {
		c.Fail(errID)
	}
	return id, ok
}

// readStart parses the first id of a range, from which on entries are in the range, and writes the error.
func readStart(c *data.Call, text []byte) (id datatype.StreamID, ok bool) {
	id, open, ok := readEnd(c, text, 0)
	if ok && open {
		if id == datatype.MaxStreamID {
			c.Fail(errStart)
			return id, false
		}
		id = id.Next()
	}
	return id, ok
}

// readStop parses the last id of a range, up to which entries are in the range, and writes the error.
func readStop(c *data.Call, text []byte) (id datatype.StreamID, ok bool) {
	id, open, ok := readEnd(c, text, datatype.MaxStreamID.Seq)
	if ok && open {
		if id == (datatype.StreamID{}) {
			c.Fail(errEnd)
			return id, false
		}
		id = id.Previous()
	}
	return id, ok
}

// readEnd parses an end of a range, which is not part of the range if it is open. It writes the error.
func readEnd(c *data.Call, text []byte, missing uint64) (id datatype.StreamID, open, ok bool) {
	switch {
	case string(text) == "-":
		return id, false, true
	case string(text) == "+":
		return datatype.MaxStreamID, false, true
	case len(text) > 1 && text[0] == '(':
		open, text = true, text[1:]
	}
	if id, ok = parseID(text, missing); !ok {
		c.Fail(errID)
	}
	return id, open, ok
}

// appendID appends the text of an id.
func appendID(b []byte, id datatype.StreamID) []byte {
	b = append(strconv.AppendUint(b, id.Ms, 10), '-')
	return strconv.AppendUint(b, id.Seq, 10)
}

// writeID replies with an id.
func writeID(c *data.Call, id datatype.StreamID) {
	var room [2*20 + 1]byte
	c.Writer.Bulk(appendID(room[:0], id))
}

// automatic is the part of a new id that the stream chooses.
type automatic uint8

const (
	nothing automatic = iota
	number            // ms-*
	wholeID           // *
)

// readNewID parses the id of a new entry, and writes the error.
func readNewID(c *data.Call, text []byte) (id datatype.StreamID, auto automatic, ok bool) {
	if string(text) == "*" {
		return id, wholeID, true
	}
	if n := len(text) - 2; n > 0 && string(text[n:]) == "-*" {
		auto, text = number, text[:n]
	}
	id, ok = readID(c, text)
	return id, auto, ok
}
