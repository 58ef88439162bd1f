package command

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/limits"
)

// KEYS, SCAN and DBSIZE within a script. They look at all keys at once, in the order of their names, because every node
// of a cluster must see the same.

// maxScriptKeys bounds the keys that a script looks at: some 10 ms.
const maxScriptKeys = 100_000

// allKeys returns the keys that match, or writes the error.
func (c *DataCall) allKeys(pattern, typ string) (keys [][]byte, ok bool) {
	f := finder{pattern: pattern}
	keys, ok = c.Tx.Keys(maxScriptKeys, func(key []byte, kind limits.Algorithm) bool {
		return (typ == "" || typ == kind.String()) && f.steps < maxScanSteps && f.matches(key)
	})
	switch {
	case !ok:
		c.fail(errManyKeysInScript.With(maxScriptKeys))
	case f.tooManySteps || f.steps >= maxScanSteps:
		ok = false
		c.fail(errPattern)
	}
	return keys, ok
}

func keysInScript(c *DataCall) {
	if keys, ok := c.allKeys(string(c.Args[1]), ""); ok {
		writeKeys(&c.Writer, keys)
	}
}

func sizeInScript(c *DataCall) {
	if keys, ok := c.allKeys("*", ""); ok {
		c.Writer.Int(int64(len(keys)))
	}
}

// scanInScript returns all keys in one step, whatever COUNT says.
func scanInScript(c *DataCall) {
	if _, err := strconv.ParseUint(string(c.Args[1]), 10, 64); err != nil {
		c.fail(ErrInvalidCursor)
		return
	}
	pattern, typ := "*", ""
	for words := c.Args[2:]; len(words) > 0; words = words[2:] {
		switch {
		case len(words) < 2:
			c.fail(ErrSyntax)
			return
		case isWord(words[0], "MATCH"):
			pattern = string(words[1])
		case isWord(words[0], "TYPE"):
			typ = strings.ToLower(string(words[1]))
		case !isWord(words[0], "COUNT"):
			c.fail(ErrSyntax)
			return
		}
	}
	if keys, ok := c.allKeys(pattern, typ); ok {
		c.Writer.Array(2)
		c.Writer.BulkString("0")
		writeKeys(&c.Writer, keys)
	}
}
