package key

import (
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var expireRows = []command.Row{{
	Name: "expire", Syntax: "key seconds [NX | XX | GT | LT]", Group: "generic",
	Summary: "Make data expire after a time.", Returns: "1 if the expiry was set, 0 if the key does not exist or an option prevented it.",
	Example: "counter 60", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { expire(c, data.InSeconds) }),
}, {
	Name: "pexpire", Syntax: "key milliseconds [NX | XX | GT | LT]", Group: "generic",
	Summary: "Make data expire after a time.", Returns: "as EXPIRE.",
	Example: "counter 60000", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { expire(c, data.InMillis) }),
}, {
	Name: "expireat", Syntax: "key unix-seconds [NX | XX | GT | LT]", Group: "generic",
	Summary: "Make data expire at a time.", Returns: "as EXPIRE.",
	Example: "counter 4102444800", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { expire(c, data.AtSeconds) }),
}, {
	Name: "pexpireat", Syntax: "key unix-milliseconds [NX | XX | GT | LT]", Group: "generic",
	Summary: "Make data expire at a time.", Returns: "as EXPIRE.",
	Example: "counter 4102444800000", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { expire(c, data.AtMillis) }),
}, {
	Name: "expiretime", Syntax: "key", Group: "generic", Summary: "The time at which a key expires.",
	Returns: "Unix seconds; -1 if it never expires, -2 if it does not exist.",
	Example: "counter", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: data.Code(func(c *data.Call) { expireTime(c, 1000) }),
}, {
	Name: "pexpiretime", Syntax: "key", Group: "generic", Summary: "The time at which a key expires.",
	Returns: "Unix milliseconds; -1 if it never expires, -2 if it does not exist.",
	Example: "counter", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: data.Code(func(c *data.Call) { expireTime(c, 1) }),
}, {
	Name: "persist", Syntax: "key", Group: "generic", Summary: "Remove the expiry of data.",
	Returns: "1 if the data had an expiry, 0 if it had none or the key does not exist.",
	Example: "counter", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Data: data.Code(persist),
}}

// expireOptions are the options of EXPIRE.
type expireOptions struct{ nx, xx, gt, lt bool }

func expire(c *data.Call, unit data.ExpiryUnit) {
	o, ok := readExpireOptions(c)
	if !ok {
		return
	}
	n, ok := c.Integer(c.Args[2])
	if !ok {
		return
	}
	ms, ok := unit.UnixMillis(n, c.Tx.Now())
	if !ok {
		c.Fail(data.ErrExpireTime.With(c.Name()))
		return
	}
	if !c.MayReplace(c.Args[1]) {
		return
	}
	v, found := c.Look(c.Args[1])
	if !found || !o.allow(v.ExpiresAt, ms) {
		c.Writer.Int(0)
		return
	}
	if ms <= c.Tx.Now()/1e6 {
		c.Tx.Delete(c.Args[1])
	} else {
		transaction.Expire(c.Tx, c.Args[1], v.Kind, data.ExpiryNanos(ms))
	}
	c.Writer.Int(1)
}

func readExpireOptions(c *data.Call) (o expireOptions, ok bool) {
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
			c.Fail(errUnsupportedOption.With(command.Truncate(arg, 64)))
			return o, false
		}
	}
	switch {
	case o.nx && (o.xx || o.gt || o.lt):
		c.Fail(errExpireNX)
	case o.gt && o.lt:
		c.Fail(errExpireGTLT)
	default:
		return o, true
	}
	return o, false
}

// allow reports whether an expiry in Unix milliseconds may replace the present one, which is in nanoseconds, or 0 for
// never.
func (o expireOptions) allow(before, ms int64) bool {
	expiry := data.ExpiryNanos(ms) / 1e6
	switch {
	case o.nx && before != 0, o.xx && before == 0:
		return false
	case o.gt && (before == 0 || expiry <= before/1e6), o.lt && before != 0 && expiry >= before/1e6:
		return false
	}
	return true
}

func expireTime(c *data.Call, unit int64) {
	writeExpiry(c, func(at int64) int64 { return (at/1e6 + unit/2) / unit })
}

func timeToLive(c *data.Call, unit int64) {
	writeExpiry(c, func(at int64) int64 { return (command.Millis(max(0, at-c.Tx.Now())) + unit/2) / unit })
}

// writeExpiry replies with what shown returns for the key's expiry in nanoseconds, or that there is no key or no
// expiry.
func writeExpiry(c *data.Call, shown func(at int64) int64) {
	v, found := c.Look(c.Args[1])
	switch {
	case !found:
		c.Writer.Int(noSuchKey)
	case v.ExpiresAt == 0:
		c.Writer.Int(noExpiry)
	default:
		c.Writer.Int(shown(v.ExpiresAt))
	}
}

func persist(c *data.Call) {
	if !c.MayReplace(c.Args[1]) {
		return
	}
	v, found := c.Look(c.Args[1])
	expires := found && v.ExpiresAt != 0
	if expires {
		transaction.Expire(c.Tx, c.Args[1], v.Kind, 0)
	}
	c.Writer.Bool(expires)
}

// The functions below answer, within a script, commands that are operations of the engine when a client sends them.
