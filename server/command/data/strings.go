package data

import (
	"math/big"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

var stringRows = []command.Row{{
	Name: "get", Syntax: "key", Group: "string", Summary: "The value of a string.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(getString),
}, {
	Name:   "set",
	Syntax: "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | KEEPTTL]",
	Group:  "string", Summary: "Set a string, whatever the key held before, but not a limiter's.",
	Example: "counter 1 EX 60",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, Keys: command.ChangedKey, AlsoReads: func(args [][]byte) bool { return hasWord(args[3:], "GET") }, Data: code(setString),
}, {
	Name: "setnx", Syntax: "key value", Group: "string", Summary: "Set a string if the key does not exist.",
	Example: "counter 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.ChangedKey, Data: code(setIfAbsent),
}, {
	Name: "setex", Syntax: "key seconds value", Group: "string", Summary: "Set a string that expires.",
	Example: "counter 60 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, Keys: command.ChangedKey, Data: code(func(c *Call) { setWithTTL(c, 1000) }),
}, {
	Name: "psetex", Syntax: "key milliseconds value", Group: "string", Summary: "Set a string that expires.",
	Example: "counter 60000 1",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM, Keys: command.ChangedKey, Data: code(func(c *Call) { setWithTTL(c, 1) }),
}, {
	Name: "mget", Syntax: "key ...", Group: "string", Summary: "The values of several strings.",
	Example: "counter other",
	Cost:    command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKeys, Data: code(getStrings), Parse: parseGetStrings, Reply: replyGetStrings,
}, {
	Name: "incr", Syntax: "key", Group: "string", Summary: "Add one to a number.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: code(func(c *Call) { increment(c, 1) }),
}, {
	Name: "incrby", Syntax: "key increment", Group: "string", Summary: "Add to a number.",
	Example: "counter 5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: code(incrementBy),
}, {
	Name: "decr", Syntax: "key", Group: "string", Summary: "Take one from a number.",
	Example: "counter",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: code(func(c *Call) { increment(c, -1) }),
}, {
	Name: "decrby", Syntax: "key decrement", Group: "string", Summary: "Take from a number.",
	Example: "counter 5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: code(decrementBy),
}, {
	Name: "incrbyfloat", Syntax: "key increment", Group: "string", Summary: "Add to a number that may have a fraction.",
	Example: "counter 0.5",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: code(incrementByFloat),
}}

func getString(c *Call) {
	if v, found, ok := c.get(c.Args[1], limits.StringValue); ok {
		c.bulkOrNull(v.Data, found)
	}
}

func (c *Call) bulkOrNull(b []byte, found bool) {
	if found {
		c.Writer.Bulk(b)
	} else {
		c.Writer.Null()
	}
}

func getStrings(c *Call) {
	start := len(c.Writer.Buf)
	c.Writer.Array(len(c.Args) - 1)
	for _, key := range c.Args[1:] {
		if len(c.Writer.Buf)-start > maxRepeatedBytes {
			c.Writer.Buf = c.Writer.Buf[:start]
			c.fail(errReplyTooBig.With(maxRepeatedBytes))
			return
		}
		v, found := c.Tx.Get(key)
		c.bulkOrNull(v.Data, found && v.Kind == limits.StringValue)
	}
}

// setOptions are the options of SET.
type setOptions struct {
	ifAbsent, ifPresent, get, keepTTL bool
	expiresAt                         int64
}

func setString(c *Call) {
	o, ok := c.setOptions()
	if !ok {
		return
	}
	key, value := c.Args[1], c.Args[2]
	old, found := c.Tx.Get(key)
	if found && (!old.Kind.IsValue() || o.get && old.Kind != limits.StringValue) {
		c.fail(command.ErrDataType)
		return
	}
	blocked := o.ifAbsent && found || o.ifPresent && !found
	if !blocked && !c.fits(len(value)) {
		return
	}
	switch {
	case o.get:
		c.bulkOrNull(old.Data, found)
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
	c.setString(key, value, o.expiresAt)
}

// setString sets a string. One that has expired already is gone at once.
func (c *Call) setString(key, value []byte, expiresAt int64) {
	if expiresAt != 0 && expiresAt <= c.Tx.Now() {
		c.Tx.Delete(key)
		return
	}
	c.Tx.Set(key, engine.Value{Kind: limits.StringValue, ExpiresAt: expiresAt, Data: value})
}

func (c *Call) setOptions() (o setOptions, ok bool) {
	var unit expiryUnit
	var expiry []byte
	for at := 3; at < len(c.Args); at++ {
		arg := c.Args[at]
		next := expiryUnitOf(arg)
		switch {
		case command.IsWord(arg, "NX") && !o.ifPresent:
			o.ifAbsent = true
		case command.IsWord(arg, "XX") && !o.ifAbsent:
			o.ifPresent = true
		case command.IsWord(arg, "GET"):
			o.get = true
		case command.IsWord(arg, "KEEPTTL") && unit.millis == 0:
			o.keepTTL = true
		case next.millis != 0 && at+1 < len(c.Args) && !o.keepTTL && (unit == next || unit.millis == 0):
			at++
			unit, expiry = next, c.Args[at]
		default:
			c.fail(command.ErrSyntax)
			return o, false
		}
	}
	if unit.millis == 0 {
		return o, true
	}
	o.expiresAt, ok = c.expiry(expiry, unit.millis, unit.fromNow, "set")
	return o, ok
}

// expiryUnit is the meaning of the number that follows EX, PX, EXAT or PXAT.
type expiryUnit struct {
	millis  int64
	fromNow bool
}

// expiryUnitOf recognises the name of an expiry. Of anything else, it is zero.
func expiryUnitOf(name []byte) expiryUnit {
	switch {
	case command.IsWord(name, "EX"):
		return expiryUnit{1000, true}
	case command.IsWord(name, "PX"):
		return expiryUnit{1, true}
	case command.IsWord(name, "EXAT"):
		return expiryUnit{1000, false}
	case command.IsWord(name, "PXAT"):
		return expiryUnit{1, false}
	}
	return expiryUnit{}
}

// expiry reads a time to live, or a time; the expiry is in nanoseconds. It writes the error of one that is not positive.
func (c *Call) expiry(text []byte, unit int64, fromNow bool, command string) (at int64, ok bool) {
	n, ok := c.integer(text)
	if !ok {
		return 0, false
	}
	ms, ok := expiryMillis(n, unit, fromNow, c.Tx.Now())
	if !ok || n <= 0 {
		c.fail(errExpireTime.With(command))
		return 0, false
	}
	return expiryNanos(ms), true
}

func setWithTTL(c *Call, unit int64) {
	name := "setex"
	if unit == 1 {
		name = "psetex"
	}
	expiresAt, ok := c.expiry(c.Args[2], unit, true, name)
	if !ok || !c.mayReplace(c.Args[1]) || !c.fits(len(c.Args[3])) {
		return
	}
	c.setString(c.Args[1], c.Args[3], expiresAt)
	c.Writer.Status("OK")
}

// mayReplace reports whether a key holds no limiter, and writes the error if it does.
func (c *Call) mayReplace(key []byte) bool {
	if v, found := c.Tx.Get(key); found && !v.Kind.IsValue() {
		c.fail(command.ErrDataType)
		return false
	}
	return true
}

func setIfAbsent(c *Call) {
	if !c.mayReplace(c.Args[1]) || !c.fits(len(c.Args[2])) {
		return
	}
	_, found := c.Tx.Get(c.Args[1])
	if !found {
		c.setString(c.Args[1], c.Args[2], 0)
	}
	c.Writer.Bool(!found)
}

func incrementBy(c *Call) {
	if n, ok := c.integer(c.Args[2]); ok {
		increment(c, n)
	}
}

func decrementBy(c *Call) {
	n, ok := c.integer(c.Args[2])
	switch {
	case ok && n == -1<<63:
		c.fail(errDecrementOverflow)
	case ok:
		increment(c, -n)
	}
}

func increment(c *Call, by int64) {
	v, found, ok := c.get(c.Args[1], limits.StringValue)
	if !ok {
		return
	}
	n := int64(0)
	if found {
		if n, ok = c.integer(v.Data); !ok {
			return
		}
	}
	sum, ok := addInts(n, by)
	if !ok && by != 0 {
		c.fail(errOverflow)
		return
	}
	edited := c.Tx.Edit(c.Args[1], limits.StringValue)
	edited.Data = strconv.AppendInt(edited.Data[:0], sum, 10)
	c.Writer.Int(sum)
}

func incrementByFloat(c *Call) {
	v, found, ok := c.get(c.Args[1], limits.StringValue)
	if !ok {
		return
	}
	sum := new(big.Float).SetPrec(longDoubleBits)
	if found && !parseLongDouble(v.Data, sum) {
		c.fail(errNotFloat)
		return
	}
	by := new(big.Float).SetPrec(longDoubleBits)
	if !parseLongDouble(c.Args[2], by) {
		c.fail(errNotFloat)
		return
	}
	if !addLongDouble(sum, by) {
		c.fail(errNaN)
		return
	}
	edited := c.Tx.Edit(c.Args[1], limits.StringValue)
	edited.Data = appendLongDouble(edited.Data[:0], sum)
	c.Writer.Bulk(edited.Data)
}
