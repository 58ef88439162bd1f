package str

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/digits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var stringRows = []command.Row{{
	Name: "get", Syntax: "key", Group: "string", Summary: "The value of a string.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: data.Code(getString),
}, {
	Name:   "set",
	Syntax: "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | KEEPTTL]",
	Group:  "string", Summary: "Set a string, replacing data of any kind, but not a limiter.",
	Example: "counter 1 EX 60",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, KeyFlags: "OW update", Keys: command.ChangedKey,
	AlsoReads: func(args [][]byte) bool { return data.HasWord(args[3:], "GET") }, Data: data.Code(setString),
}, {
	Name: "setnx", Syntax: "key value", Group: "string", Summary: "Set a string if the key does not exist.",
	Example: "counter 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast,
	KeyFlags: "OW insert", Keys: command.ChangedKey, Data: data.Code(setIfAbsent),
}, {
	Name: "setex", Syntax: "key seconds value", Group: "string", Summary: "Set a string that expires.",
	Example: "counter 60 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM,
	KeyFlags: "OW update", Keys: command.ChangedKey,
	Data: data.Code(func(c *data.Call) { setWithTTL(c, data.InSeconds) }),
}, {
	Name: "psetex", Syntax: "key milliseconds value", Group: "string", Summary: "Set a string that expires.",
	Example: "counter 60000 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM,
	KeyFlags: "OW update", Keys: command.ChangedKey,
	Data: data.Code(func(c *data.Call) { setWithTTL(c, data.InMillis) }),
}, {
	Name: "mget", Syntax: "key ...", Group: "string", Summary: "The values of several strings.",
	Example: "counter other",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKeys, Data: data.Code(getStrings), Parse: parseGetStrings, Reply: replyGetStrings,
}, {
	Name: "incr", Syntax: "key", Group: "string", Summary: "Add one to a number.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: data.Code(func(c *data.Call) { increment(c, 1) }),
}, {
	Name: "incrby", Syntax: "key increment", Group: "string", Summary: "Add to a number.",
	Example: "counter 5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: data.Code(incrementBy),
}, {
	Name: "decr", Syntax: "key", Group: "string", Summary: "Subtract one from a number.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: data.Code(func(c *data.Call) { increment(c, -1) }),
}, {
	Name: "decrby", Syntax: "key decrement", Group: "string", Summary: "Subtract from a number.",
	Example: "counter 5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: data.Code(decrementBy),
}, {
	Name: "incrbyfloat", Syntax: "key increment", Group: "string", Summary: "Add to a number that may have a fraction.",
	Example: "counter 0.5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: data.Code(incrementByFloat),
}}

func getString(c *data.Call) {
	if v, found, ok := c.Get(c.Args[1], engine.StringKind); ok {
		c.BulkOrNull(v.Data, found)
	}
}

func getStrings(c *data.Call) {
	start := len(c.Writer.Buf)
	c.Writer.Array(len(c.Args) - 1)
	for _, key := range c.Args[1:] {
		if len(c.Writer.Buf)-start > data.MaxRepeatedBytes {
			c.FailTooBig(start)
			return
		}
		v, found := c.Tx.Get(key)
		c.BulkOrNull(v.Data, found && v.Kind == engine.StringKind)
	}
}

// setOptions are the options of SET.
type setOptions struct {
	ifAbsent, ifPresent, get, keepTTL bool
	expiresAt                         int64
}

func setString(c *data.Call) {
	o, ok := readSetOptions(c)
	if !ok {
		return
	}
	key, value := c.Args[1], c.Args[2]
	old, found := c.Tx.Get(key)
	if found && (!old.Kind.IsData() || o.get && old.Kind != engine.StringKind) {
		c.Fail(command.ErrDataType)
		return
	}
	blocked := o.ifAbsent && found || o.ifPresent && !found
	if !blocked && !c.Fits(engine.StringKind, len(value)) {
		return
	}
	switch {
	case o.get:
		c.BulkOrNull(old.Data, found)
	case blocked:
		c.Writer.Null()
	default:
		c.Writer.Status("OK")
	}
	if blocked {
		return
	}
	if o.keepTTL {
		o.expiresAt = old.ExpiresAt
	}
	putString(c, key, value, o.expiresAt)
}

// putString sets a string, or deletes the key if the expiry is in the past.
func putString(c *data.Call, key, value []byte, expiresAt int64) {
	if expiresAt != 0 && expiresAt <= c.Tx.Now() {
		c.Tx.Delete(key)
		return
	}
	c.Tx.Set(key, engine.Value{Kind: engine.StringKind, ExpiresAt: expiresAt, Data: value})
}

func readSetOptions(c *data.Call) (o setOptions, ok bool) {
	var unit data.ExpiryUnit
	var expiry []byte
	for at := 3; at < len(c.Args); at++ {
		arg := c.Args[at]
		next := data.ExpiryUnitOf(arg)
		switch {
		case command.IsWord(arg, "NX") && !o.ifPresent:
			o.ifAbsent = true
		case command.IsWord(arg, "XX") && !o.ifAbsent:
			o.ifPresent = true
		case command.IsWord(arg, "GET"):
			o.get = true
		case command.IsWord(arg, "KEEPTTL") && !unit.IsGiven():
			o.keepTTL = true
		case next.IsGiven() && at+1 < len(c.Args) && !o.keepTTL && (unit == next || !unit.IsGiven()):
			at++
			unit, expiry = next, c.Args[at]
		default:
			c.Fail(command.ErrSyntax)
			return o, false
		}
	}
	if !unit.IsGiven() {
		return o, true
	}
	o.expiresAt, ok = c.Expiry(expiry, unit)
	return o, ok
}

func setWithTTL(c *data.Call, unit data.ExpiryUnit) {
	expiresAt, ok := c.Expiry(c.Args[2], unit)
	if !ok || !c.MayReplace(c.Args[1]) || !c.Fits(engine.StringKind, len(c.Args[3])) {
		return
	}
	putString(c, c.Args[1], c.Args[3], expiresAt)
	c.Writer.Status("OK")
}

func setIfAbsent(c *data.Call) {
	if !c.MayReplace(c.Args[1]) || !c.Fits(engine.StringKind, len(c.Args[2])) {
		return
	}
	_, found := c.Look(c.Args[1])
	if !found {
		putString(c, c.Args[1], c.Args[2], 0)
	}
	c.Writer.Bool(!found)
}

func incrementBy(c *data.Call) {
	if n, ok := c.Integer(c.Args[2]); ok {
		increment(c, n)
	}
}

func decrementBy(c *data.Call) {
	n, ok := c.Integer(c.Args[2])
	switch {
	case ok && n == -1<<63:
		c.Fail(errDecrementOverflow)
	case ok:
		increment(c, -n)
	}
}

func increment(c *data.Call, by int64) {
	v, found, ok := c.Get(c.Args[1], engine.StringKind)
	if !ok {
		return
	}
	n := int64(0)
	if found {
		if n, ok = c.Integer(v.Data); !ok {
			return
		}
	}
	sum, ok := data.AddInts(n, by)
	if !ok && by != 0 {
		c.Fail(data.ErrOverflow)
		return
	}
	edited := c.Tx.Edit(c.Args[1], engine.StringKind)
	edited.Data = digits.Append(edited.Data[:0], sum)
	c.Writer.Int(sum)
}

func incrementByFloat(c *data.Call) {
	v, found, ok := c.Get(c.Args[1], engine.StringKind)
	if !ok {
		return
	}
	sum := data.NewLongDouble()
	if found && !data.ParseLongDouble(v.Data, sum) {
		c.Fail(data.ErrNotFloat)
		return
	}
	by := data.NewLongDouble()
	if !data.ParseLongDouble(c.Args[2], by) {
		c.Fail(data.ErrNotFloat)
		return
	}
	if !data.AddLongDouble(sum, by) {
		c.Fail(data.ErrNaN)
		return
	}
	edited := c.Tx.Edit(c.Args[1], engine.StringKind)
	edited.Data = data.AppendLongDouble(edited.Data[:0], sum)
	c.Writer.Bulk(edited.Data)
}
