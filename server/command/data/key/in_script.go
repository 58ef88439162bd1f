package key

import (
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

func deleteKeys(c *data.Call) {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if c.Tx.Delete(key) {
			n++
		}
	}
	c.Writer.Int(n)
}

func existKeys(c *data.Call) {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if _, found := c.Look(key); found {
			n++
		}
	}
	c.Writer.Int(n)
}

func typeOfKey(c *data.Call) {
	v, found := c.Look(c.Args[1])
	if !found {
		v.Kind = engine.NoKind
	}
	c.Writer.Status(v.Kind.String())
}

// maxScriptKeys limits the keys that one KEYS or SCAN in a script looks at. Looking at this many takes about 10 ms.
const maxScriptKeys = 100_000

// matchingKeys returns the keys that match f's pattern and type, or writes the error.
func matchingKeys(c *data.Call, f command.Finder) (keys [][]byte, ok bool) {
	keys, ok = c.Tx.Keys(maxScriptKeys, func(key []byte, kind engine.Kind) bool {
		return (f.Type == "" || f.Type == kind.String()) && f.Steps < command.MaxScanSteps && f.Matches(key)
	})
	switch {
	case !ok:
		c.Fail(errManyKeysInScript.With(maxScriptKeys))
	case f.TooManySteps || f.Steps >= command.MaxScanSteps:
		ok = false
		c.Fail(command.ErrPattern)
	}
	return keys, ok
}

func keysInScript(c *data.Call) {
	if keys, ok := matchingKeys(c, command.Finder{Pattern: string(c.Args[1])}); ok {
		command.WriteKeys(&c.Writer, keys)
	}
}

func sizeInScript(c *data.Call) {
	if keys, ok := matchingKeys(c, command.Finder{Pattern: "*"}); ok {
		c.Writer.Int(int64(len(keys)))
	}
}

// scanInScript returns all keys in one step and ignores COUNT.
func scanInScript(c *data.Call) {
	if _, err := strconv.ParseUint(string(c.Args[1]), 10, 64); err != nil {
		c.Fail(command.ErrInvalidCursor)
		return
	}
	f := command.Finder{Pattern: "*"}
	if err := f.ReadOptions(c.Args[2:], true, func([]byte) error { return nil }); err != nil {
		c.Fail(err)
		return
	}
	if keys, ok := matchingKeys(c, f); ok {
		c.Writer.Array(2)
		c.Writer.BulkString("0")
		command.WriteKeys(&c.Writer, keys)
	}
}
