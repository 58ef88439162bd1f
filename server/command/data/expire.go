package data

import (
	"math"
	"time"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var expireRows = []command.Row{{
	Name: "expire", Syntax: "key seconds [NX | XX | GT | LT]", Group: "generic",
	Summary: "Have data expire after a time.", Returns: "1 if the expiry was set, 0 if the key does not exist or an option kept it from being set.",
	Example: "counter 60", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: code(func(c *Call) { expire(c, 1000, true, "expire") }),
}, {
	Name: "pexpire", Syntax: "key milliseconds [NX | XX | GT | LT]", Group: "generic",
	Summary: "Have data expire after a time.", Returns: "as EXPIRE.",
	Example: "counter 60000", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: code(func(c *Call) { expire(c, 1, true, "pexpire") }),
}, {
	Name: "expireat", Syntax: "key unix-seconds [NX | XX | GT | LT]", Group: "generic",
	Summary: "Have data expire at a time.", Returns: "as EXPIRE.",
	Example: "counter 4102444800", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: code(func(c *Call) { expire(c, 1000, false, "expireat") }),
}, {
	Name: "pexpireat", Syntax: "key unix-milliseconds [NX | XX | GT | LT]", Group: "generic",
	Summary: "Have data expire at a time.", Returns: "as EXPIRE.",
	Example: "counter 4102444800000", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: code(func(c *Call) { expire(c, 1, false, "pexpireat") }),
}, {
	Name: "expiretime", Syntax: "key", Group: "generic", Summary: "The time at which a key expires.",
	Returns: "Unix seconds; -1 if it never expires, -2 if it does not exist.",
	Example: "counter", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(func(c *Call) { expireTime(c, 1000) }),
}, {
	Name: "pexpiretime", Syntax: "key", Group: "generic", Summary: "The time at which a key expires.",
	Returns: "Unix milliseconds; -1 if it never expires, -2 if it does not exist.",
	Example: "counter", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: code(func(c *Call) { expireTime(c, 1) }),
}, {
	Name: "persist", Syntax: "key", Group: "generic", Summary: "Have data never expire.",
	Returns: "1 if it would have expired, 0 if not, or if the key does not exist.",
	Example: "counter", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: code(persist),
}}

// expiryMillis turns a number of units, from now or since the Unix epoch, into Unix milliseconds.
func expiryMillis(n, unit int64, fromNow bool, now int64) (ms int64, ok bool) {
	if n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, false
	}
	if ms = n * unit; !fromNow {
		return ms, true
	}
	return addInts(ms, now/1e6)
}

// expiryNanos turns Unix milliseconds into nanoseconds; beyond the year 2262 it is the last nanosecond there is.
func expiryNanos(ms int64) int64 {
	if ms > math.MaxInt64/1_000_000 {
		return math.MaxInt64
	}
	return ms * 1e6
}

// expireOptions are the options of EXPIRE.
type expireOptions struct{ nx, xx, gt, lt bool }

func expire(c *Call, unit int64, fromNow bool, name string) {
	o, ok := c.expireOptions()
	if !ok {
		return
	}
	n, ok := c.integer(c.Args[2])
	if !ok {
		return
	}
	ms, ok := expiryMillis(n, unit, fromNow, c.Tx.Now())
	if !ok {
		c.fail(errExpireTime.With(name))
		return
	}
	if !c.mayReplace(c.Args[1]) {
		return
	}
	v, found := c.Tx.Get(c.Args[1])
	if !found || !o.allow(v.ExpiresAt, ms) {
		c.Writer.Int(0)
		return
	}
	if ms <= c.Tx.Now()/1e6 {
		c.Tx.Delete(c.Args[1])
	} else {
		c.Tx.Edit(c.Args[1], v.Kind).ExpiresAt = expiryNanos(ms)
	}
	c.Writer.Int(1)
}

func (c *Call) expireOptions() (o expireOptions, ok bool) {
	for _, arg := range c.Args[3:] {
		switch {
		case command.IsWord(arg, "NX"):
			o.nx = true
		case command.IsWord(arg, "XX"):
			o.xx = true
		case command.IsWord(arg, "GT"):
			o.gt = true
		case command.IsWord(arg, "LT"):
			o.lt = true
		default:
			c.fail(errUnsupportedOption.With(command.Truncate(arg, 64)))
			return o, false
		}
	}
	switch {
	case o.nx && (o.xx || o.gt || o.lt):
		c.fail(errExpireNX)
	case o.gt && o.lt:
		c.fail(errExpireGTLT)
	default:
		return o, true
	}
	return o, false
}

// allow reports whether an expiry in Unix milliseconds may replace one in nanoseconds, 0 for never.
func (o expireOptions) allow(before, ms int64) bool {
	expiry := expiryNanos(ms) / 1e6
	switch {
	case o.nx && before != 0, o.xx && before == 0:
		return false
	case o.gt && (before == 0 || expiry <= before/1e6), o.lt && before != 0 && expiry >= before/1e6:
		return false
	}
	return true
}

func expireTime(c *Call, unit int64) {
	c.writeExpiry(func(at int64) int64 { return (at/1e6 + unit/2) / unit })
}

func timeToLive(c *Call, unit int64) {
	c.writeExpiry(func(at int64) int64 { return (command.Millis(max(0, at-c.Tx.Now())) + unit/2) / unit })
}

// writeExpiry writes what shown makes of the time at which the key expires, in nanoseconds, or that there is none.
func (c *Call) writeExpiry(shown func(at int64) int64) {
	v, found := c.Tx.Get(c.Args[1])
	switch {
	case !found:
		c.Writer.Int(noSuchKey)
	case v.ExpiresAt == 0:
		c.Writer.Int(noExpiry)
	default:
		c.Writer.Int(shown(v.ExpiresAt))
	}
}

func persist(c *Call) {
	if !c.mayReplace(c.Args[1]) {
		return
	}
	v, found := c.Tx.Get(c.Args[1])
	expires := found && v.ExpiresAt != 0
	if expires {
		c.Tx.Edit(c.Args[1], v.Kind).ExpiresAt = 0
	}
	c.Writer.Bool(expires)
}

// The functions below answer, within a script, commands that are operations of the engine when a client sends them.

func deleteKeys(c *Call) {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if c.Tx.Delete(key) {
			n++
		}
	}
	c.Writer.Int(n)
}

func existKeys(c *Call) {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if _, found := c.Tx.Get(key); found {
			n++
		}
	}
	c.Writer.Int(n)
}

func typeOfKey(c *Call) {
	v, found := c.Tx.Get(c.Args[1])
	if !found {
		v.Kind = limits.NoAlgorithm
	}
	c.Writer.Status(v.Kind.String())
}

func timeOfTx(c *Call) {
	now := c.Tx.Now()
	c.Writer.Array(2)
	c.bulkInt(now / 1e9)
	c.bulkInt(now % 1e9 / 1e3)
}

var timeRows = []command.Row{{
	Name: "time", Group: "server", Summary: "The server's clock: Unix seconds and microseconds.",
	Returns: "two strings of digits: Unix seconds, and microseconds within the second.",
	Cost:    command.Light, Flags: command.Fast | command.Harmless, Data: code(timeOfTx), Run: runTime,
}}

func runTime(s command.Session, w *resp.Writer, _ [][]byte) {
	now := time.Unix(0, s.Server().Now())
	w.Array(2)
	w.BulkString(command.FormatInt(now.Unix()))
	w.BulkString(command.FormatInt(int64(now.Nanosecond() / 1000)))
}
