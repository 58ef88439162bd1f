package str

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Commands that read a string and change it or its expiry, and that set several strings at once.

var readAndChangeRows = []command.Row{{
	Name: "getset", Syntax: "key value", Group: "string", Summary: "Set a string, and reply with the earlier value.",
	Example: "counter 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: data.Code(getAndSet),
}, {
	Name: "getdel", Syntax: "key", Group: "string", Summary: "Delete a string, and reply with its value.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.Write | command.Fast,
	KeyFlags: "RW access delete", Keys: command.UsedKey, Data: data.Code(getAndDelete),
}, {
	Name: "getex", Syntax: "key [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | PERSIST]", Group: "string",
	Summary: "The value of a string. The options change its expiry.",
	Example: "counter EX 60",
	Cost:    command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.UsedKey, Data: data.Code(getAndExpire),
}, {
	Name: "mset", Syntax: "key value [key value ...]", Group: "string", Summary: "Set several strings, replacing data of any kind, but not limiters.",
	Example: "counter 1 other 2",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM,
	KeyFlags: "OW update", Keys: command.ChangedPairs, Data: data.Code(setStrings),
}, {
	Name: "msetnx", Syntax: "key value [key value ...]", Group: "string", Summary: "Set several strings if none of the keys exists.",
	Returns: "1, or 0 if one exists: then nothing is changed.",
	Example: "counter 1 other 2",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM,
	KeyFlags: "OW insert", Keys: command.ChangedPairs, Data: data.Code(setStringsIfAbsent),
}}

func getAndSet(c *data.Call) {
	v, found, ok := c.Get(c.Args[1], engine.StringKind)
	if ok && c.Fits(engine.StringKind, len(c.Args[2])) {
		c.BulkOrNull(v.Data, found)
		putString(c, c.Args[1], c.Args[2], 0)
	}
}

func getAndDelete(c *data.Call) {
	if v, found, ok := c.Get(c.Args[1], engine.StringKind); ok {
		c.BulkOrNull(v.Data, found)
		c.Tx.Delete(c.Args[1])
	}
}

func getAndExpire(c *data.Call) {
	unit, text, persists, ok := readGetexOptions(c)
	if !ok {
		return
	}
	v, found, ok := c.Get(c.Args[1], engine.StringKind)
	if !ok {
		return
	}
	expiresAt := int64(0)
	if found && unit.IsGiven() {
		if expiresAt, ok = c.Expiry(text, unit); !ok {
			return
		}
	}
	c.BulkOrNull(v.Data, found)
	switch {
	case !found:
	case unit.IsGiven() && expiresAt <= c.Tx.Now():
		c.Tx.Delete(c.Args[1])
	case unit.IsGiven(), persists && v.ExpiresAt != 0:
		c.Tx.Edit(c.Args[1], engine.StringKind).ExpiresAt = expiresAt
	}
}

// readGetexOptions parses the options of GETEX: a time and its unit, or PERSIST, or neither.
func readGetexOptions(c *data.Call) (unit data.ExpiryUnit, text []byte, persists, ok bool) {
	for words := c.Args[2:]; len(words) > 0; words = words[1:] {
		next := data.ExpiryUnitOf(words[0])
		switch {
		case command.IsWord(words[0], "PERSIST") && !unit.IsGiven():
			persists = true
		case next.IsGiven() && len(words) > 1 && !persists && (unit == next || !unit.IsGiven()):
			words = words[1:]
			unit, text = next, words[0]
		default:
			c.Fail(command.ErrSyntax)
			return unit, nil, false, false
		}
	}
	return unit, text, persists, true
}

// pairsOf returns the keys of MSET and their values. If a client made the call, all keys come first.
func pairsOf(c *data.Call) (keys, values [][]byte) {
	words := c.Args[1:]
	if c.ByClient() {
		return words[:len(words)/2], words[len(words)/2:]
	}
	for i := 0; i < len(words); i += 2 {
		keys, values = append(keys, words[i]), append(values, words[i+1])
	}
	return keys, values
}

// newStrings returns the keys of MSET and their values. It writes the error if one of the keys cannot be set.
func newStrings(c *data.Call) (keys, values [][]byte, ok bool) {
	if len(c.Args)%2 == 0 {
		c.Fail(command.ErrArity.With(c.Name()))
		return nil, nil, false
	}
	keys, values = pairsOf(c)
	for i := range keys {
		if !c.MayReplace(keys[i]) || !c.Fits(engine.StringKind, len(values[i])) {
			return nil, nil, false
		}
	}
	return keys, values, true
}

func setStrings(c *data.Call) {
	if keys, values, ok := newStrings(c); ok {
		storeStrings(c, keys, values)
		c.Writer.Status("OK")
	}
}

func storeStrings(c *data.Call, keys, values [][]byte) {
	for i := range keys {
		c.Tx.Spend(command.CopyWork(values[i]))
		putString(c, keys[i], values[i], 0)
	}
}

func setStringsIfAbsent(c *data.Call) {
	keys, values, ok := newStrings(c)
	if !ok {
		return
	}
	for _, key := range keys {
		if _, taken := c.Look(key); taken {
			c.Writer.Int(0)
			return
		}
	}
	storeStrings(c, keys, values)
	c.Writer.Int(1)
}
