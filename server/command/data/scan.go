package data

import (
	"math"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// HSCAN, SSCAN and ZSCAN return everything in one step, as Redis does with small values. The next cursor is always 0.

// ScanNote ends the summaries of these commands.
const ScanNote = " One step returns all of them."

// isCursor reports whether a word is a cursor. Redis parses it by strtoul.
func isCursor(word []byte) bool {
	text, _, _ := strings.Cut(string(word), "\x00")
	if text == "" {
		return true
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+"), 10, 64)
	return err == nil && !strings.HasPrefix(text, "-+")
}

// BeginScan parses the options of a scan and returns the data of the command's key and the pattern to match. Like
// Redis, it ignores the options if the key does not exist.
func BeginScan(c *Call, kind engine.Kind) (data []byte, f command.Finder, ok bool) {
	f = command.Finder{Pattern: "*", MaxBytes: math.MaxInt}
	if !isCursor(c.Args[2]) {
		c.Fail(command.ErrInvalidCursor)
		return nil, f, false
	}
	v, found, ok := c.Get(c.Args[1], kind)
	if !ok || !found {
		if ok {
			writeScanned(c, 0)
		}
		return nil, f, false
	}
	err := f.ReadOptions(c.Args[3:], false, func(value []byte) error {
		n, ok := command.ParseRedisInt(value)
		switch {
		case !ok:
			return command.ErrNotInteger
		case n < 1:
			return command.ErrSyntax
		}
		return nil
	})
	if err != nil {
		c.Fail(err)
		return nil, f, false
	}
	return v.Data, f, true
}

// writeScanned writes the start of a reply, up to its words.
func writeScanned(c *Call, words int) {
	c.Writer.Array(2)
	c.Writer.BulkString("0")
	c.Writer.Array(words)
}

// ScanElements replies with the elements whose names match. size is the number of elements; an element is one word, its
// name, or two: second writes the other.
func ScanElements(c *Call, f command.Finder, size, words int, name func(i int) []byte, second func(i int)) {
	c.Tx.Spend(size * command.LookWork)
	places := make([]int32, 0, size)
	for i := range size {
		if f.Matches(name(i)) {
			places = append(places, int32(i))
		}
		if f.TooManySteps || f.Steps >= command.MaxScanSteps {
			c.Fail(command.ErrPattern)
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
