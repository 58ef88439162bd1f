package data

import (
	"math"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// HSCAN, SSCAN and ZSCAN. A value is small enough to be read in one step, as Redis does with small ones: the next cursor is always 0.

const scanNote = " One step returns all of them."

var scanRows = []command.Row{{
	Name: "hscan", Syntax: "key cursor [MATCH pattern] [COUNT count]", Group: "hash", Summary: "Iterate over the fields of a hash." + scanNote,
	Example: "bucket 0",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: code(scanHash),
}, {
	Name: "sscan", Syntax: "key cursor [MATCH pattern] [COUNT count]", Group: "set", Summary: "Iterate over the members of a set." + scanNote,
	Example: "seen 0",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: code(scanSet),
}, {
	Name: "zscan", Syntax: "key cursor [MATCH pattern] [COUNT count]", Group: "sorted-set", Summary: "Iterate over the members of a sorted set." + scanNote,
	Example: "hits 0",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: code(scanSortedSet),
}}

// isCursor reports whether a word is a cursor, as strtoul reads it.
func isCursor(word []byte) bool {
	text, _, _ := strings.Cut(string(word), "\x00")
	if text == "" {
		return true
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+"), 10, 64)
	return err == nil && !strings.HasPrefix(text, "-+")
}

// beginScan begins a scan of the command's key, and returns its data and what matches. Without a key the options are not looked at.
func beginScan(c *Call, kind limits.Algorithm) (data []byte, f command.Finder, ok bool) {
	f = command.Finder{Pattern: "*", MaxBytes: math.MaxInt}
	if !isCursor(c.Args[2]) {
		c.fail(command.ErrInvalidCursor)
		return nil, f, false
	}
	v, found, ok := c.get(c.Args[1], kind)
	if !ok || !found {
		if ok {
			writeScanned(c, 0)
		}
		return nil, f, false
	}
	for words := c.Args[3:]; len(words) > 0; words = words[2:] {
		switch {
		case len(words) < 2:
			c.fail(command.ErrSyntax)
			return nil, f, false
		case command.IsWord(words[0], "MATCH"):
			f.Pattern = string(words[1])
		case command.IsWord(words[0], "COUNT"):
			if n, ok := c.integer(words[1]); !ok {
				return nil, f, false
			} else if n < 1 {
				c.fail(command.ErrSyntax)
				return nil, f, false
			}
		default:
			c.fail(command.ErrSyntax)
			return nil, f, false
		}
	}
	return v.Data, f, true
}

// writeScanned writes the head of a reply with this number of words.
func writeScanned(c *Call, words int) {
	c.Writer.Array(2)
	c.Writer.BulkString("0")
	c.Writer.Array(words)
}

// scanElements writes the elements of size whose names match, each of a number of words.
func scanElements(c *Call, f command.Finder, size, words int, name func(i int) []byte, second func(i int)) {
	c.Tx.Spend(size * command.LookWork)
	places := make([]int32, 0, size)
	for i := range size {
		if f.Matches(name(i)) {
			places = append(places, int32(i))
		}
		if f.TooManySteps || f.Steps >= command.MaxScanSteps {
			c.fail(command.ErrPattern)
			return
		}
	}
	c.Tx.Spend(f.Steps + len(places)*(words+1)*command.WriteWork)
	writeScanned(c, len(places)*words)
	for _, i := range places {
		c.Writer.Bulk(name(int(i)))
		if words == 2 {
			second(int(i))
		}
	}
}

func scanHash(c *Call) {
	if data, f, ok := beginScan(c, limits.HashValue); ok {
		h := datatype.Hash(data)
		scanElements(c, f, h.Len(), 2, h.Field, func(i int) { c.Writer.Bulk(h.Value(i)) })
	}
}

func scanSet(c *Call) {
	if data, f, ok := beginScan(c, limits.SetValue); ok {
		s := datatype.Set(data)
		scanElements(c, f, s.Len(), 1, s.At, nil)
	}
}

func scanSortedSet(c *Call) {
	if data, f, ok := beginScan(c, limits.SortedSetValue); ok {
		s := datatype.SortedSet(data)
		scanElements(c, f, s.Len(), 2, s.Member, func(i int) { writeScannedScore(c, s.Score(i)) })
	}
}

// writeScannedScore writes a score as Redis writes it from a small sorted set, which keeps whole numbers as such.
func writeScannedScore(c *Call, f float64) {
	if f == math.Trunc(f) && math.Abs(f) <= math.MaxInt64/2 {
		c.bulkInt(int64(f))
		return
	}
	c.score(f)
}
