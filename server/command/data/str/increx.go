package str

import (
	"math"
	"math/big"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

// INCREX as Redis 8.8 has it, with NX and XX of Valkey 9.2.

var increxRows = []command.Row{{
	Name: "increx",
	Syntax: "key [BYFLOAT float | BYINT integer] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] " +
		"[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX] [NX | XX]",
	Group: "string", Summary: "Add to a number within bounds, and set its expiry, as in Redis 8.8. A denied request writes nothing.",
	Example: "counter UBOUND 100 EX 60 ENX",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Shape: resp.Doubles, Data: data.Code(incrementWithin),
}}

// increx is a call of INCREX, with its options.
type increx struct {
	*data.Call

	integers, floats           bool // BYINT, BYFLOAT
	saturate                   bool
	persist, onlyWithoutExpiry bool
	ifAbsent, ifPresent        bool
	hasLower, hasUpper         bool
	lower, upper               []byte

	by, least, most                int64
	byFloat, leastFloat, mostFloat *big.Float // with BYFLOAT

	unit      data.ExpiryUnit // zero without an expiry
	expires   []byte
	expiresAt int64
}

func incrementWithin(c *data.Call) {
	x := increx{Call: c, by: 1}
	if !x.readOptions() {
		return
	}
	v, found, ok := c.Get(c.Args[1], engine.StringKind)
	if !ok {
		return
	}
	blocked := x.ifAbsent && found || x.ifPresent && !found
	text := []byte("0")
	if found {
		text = v.Data
	}
	if x.floats {
		text, ok = x.addFloat(text, blocked)
	} else {
		text, ok = x.addInt(text, blocked)
	}
	if ok {
		putString(c, c.Args[1], text, x.expiryAfter(v.ExpiresAt))
	}
}

// expiryAfter returns the new expiry of a key, given its expiry before; 0 is never.
func (x *increx) expiryAfter(before int64) int64 {
	switch {
	case x.persist:
		return 0
	case x.expiresAt != 0 && (before == 0 || !x.onlyWithoutExpiry):
		return x.expiresAt
	}
	return before
}

// addInt adds to a number, writes the reply, and returns the text of the sum. changed reports whether to store it.
func (x *increx) addInt(text []byte, blocked bool) (sumText []byte, changed bool) {
	old, ok := x.Integer(text)
	if !ok {
		return nil, false
	}
	sum, fits := data.AddInts(old, x.by)
	switch inside := fits && sum >= x.least && sum <= x.most; {
	case blocked, !inside && !x.saturate:
		x.replyInts(old, 0)
		return nil, false
	case inside:
	case fits && sum > x.most, !fits && x.by > 0:
		sum = x.most
	default:
		sum = x.least
	}
	applied := sum - old
	if (applied < 0) != (sum < old) {
		x.Fail(errAppliedOverflow)
		return nil, false
	}
	x.replyInts(sum, applied)
	return x.FormatInt(sum), true
}

func (x *increx) replyInts(value, applied int64) {
	x.Writer.Array(2)
	x.Writer.Int(value)
	x.Writer.Int(applied)
}

// addFloat is addInt for numbers that may have a fraction.
func (x *increx) addFloat(text []byte, blocked bool) (sumText []byte, changed bool) {
	old, sum := data.NewLongDouble(), data.NewLongDouble()
	switch {
	case !data.ParseLongDouble(text, old):
		x.Fail(data.ErrNotFloat)
		return nil, false
	case old.IsInf():
		x.Fail(errValueInfinite)
		return nil, false
	}
	fits := !data.IsInfinite(sum.Add(old, x.byFloat))
	switch inside := fits && sum.Cmp(x.leastFloat) >= 0 && sum.Cmp(x.mostFloat) <= 0; {
	case blocked, !inside && !x.saturate:
		x.replyFloats(data.AppendLongDouble(nil, old), data.NewLongDouble())
		return nil, false
	case inside:
	case fits && sum.Cmp(x.mostFloat) > 0, !fits && x.byFloat.Sign() > 0:
		sum = x.mostFloat
	default:
		sum = x.leastFloat
	}
	applied := data.NewLongDouble().Sub(sum, old)
	if data.IsInfinite(applied) {
		x.Fail(errAppliedInfinite)
		return nil, false
	}
	sumText = data.AppendLongDouble(nil, sum)
	x.replyFloats(sumText, applied)
	return sumText, true
}

func (x *increx) replyFloats(value []byte, applied *big.Float) {
	x.Writer.Array(2)
	x.Writer.Bulk(value)
	x.Writer.Bulk(data.AppendLongDouble(nil, applied))
}

// readOptions parses the options in Redis's order: the words and the increment, then the bounds, then the expiry. It
// writes the error.
func (x *increx) readOptions() (ok bool) {
	if !x.readWords() || x.floats && !x.readFloatBounds() || !x.floats && !x.readIntBounds() {
		return false
	}
	switch {
	case x.unit.IsGiven():
		x.expiresAt, ok = x.Expiry(x.expires, x.unit)
		return ok
	case x.onlyWithoutExpiry:
		x.Fail(errENXAlone)
		return false
	}
	return true
}

// readWords parses the options, each of which may be given once.
func (x *increx) readWords() (ok bool) {
	for words := x.Args[2:]; len(words) > 0; {
		used := x.flag(words[0])
		if used == 0 && len(words) > 1 {
			if used = x.option(words[0], words[1]); used == 0 && x.isIncrement(words[0]) {
				if used = 2; !x.readIncrement(words[0], words[1]) {
					return false
				}
			}
		}
		if used == 0 {
			x.Fail(command.ErrSyntax)
			return false
		}
		words = words[used:]
	}
	return true
}

// flag parses an option without a value. It returns the number of words it used, 0 if the word is no such option or not
// allowed.
func (x *increx) flag(word []byte) (used int) {
	switch {
	case command.IsWord(word, "SATURATE") && !x.saturate:
		x.saturate = true
	case command.IsWord(word, "ENX") && !x.onlyWithoutExpiry && !x.persist:
		x.onlyWithoutExpiry = true
	case command.IsWord(word, "PERSIST") && !x.persist && !x.onlyWithoutExpiry && !x.unit.IsGiven():
		x.persist = true
	case command.IsWord(word, "NX") && !x.ifAbsent && !x.ifPresent:
		x.ifAbsent = true
	case command.IsWord(word, "XX") && !x.ifAbsent && !x.ifPresent:
		x.ifPresent = true
	default:
		return 0
	}
	return 1
}

// option is flag for bounds and expiries, whose values are parsed later.
func (x *increx) option(word, value []byte) (used int) {
	unit := data.ExpiryUnitOf(word)
	switch {
	case command.IsWord(word, "LBOUND") && !x.hasLower:
		x.hasLower, x.lower = true, value
	case command.IsWord(word, "UBOUND") && !x.hasUpper:
		x.hasUpper, x.upper = true, value
	case unit.IsGiven() && !x.unit.IsGiven() && !x.persist:
		x.unit, x.expires = unit, value
	default:
		return 0
	}
	return 2
}

// isIncrement reports whether a word is BYINT or BYFLOAT, and the first of them.
func (x *increx) isIncrement(word []byte) bool {
	return !x.integers && !x.floats && (command.IsWord(word, "BYINT") || command.IsWord(word, "BYFLOAT"))
}

// readIncrement parses the value of BYINT or BYFLOAT, and writes the error.
func (x *increx) readIncrement(word, value []byte) (ok bool) {
	if command.IsWord(word, "BYINT") {
		x.integers = true
		if x.by, ok = command.ParseRedisInt(value); !ok {
			x.Fail(errNumberInteger.With("Increment"))
		}
		return ok
	}
	x.floats, x.byFloat = true, data.NewLongDouble()
	switch {
	case !data.ParseLongDouble(value, x.byFloat):
		x.Fail(errNumberFloat.With("Increment"))
	case x.byFloat.IsInf():
		x.Fail(errIncrementInfinite)
	default:
		return true
	}
	return false
}

// readIntBounds parses the bounds of an integer, and writes the error.
func (x *increx) readIntBounds() (ok bool) {
	x.least, x.most = math.MinInt64, math.MaxInt64
	if x.hasLower {
		if x.least, ok = command.ParseRedisInt(x.lower); !ok {
			x.Fail(errNumberInteger.With("LBOUND"))
			return false
		}
	}
	if x.hasUpper {
		if x.most, ok = command.ParseRedisInt(x.upper); !ok {
			x.Fail(errNumberInteger.With("UBOUND"))
			return false
		}
	}
	if x.least > x.most {
		x.Fail(errBoundsCross)
	}
	return x.least <= x.most
}

// readFloatBounds is readIntBounds for numbers that may have a fraction.
func (x *increx) readFloatBounds() (ok bool) {
	x.leastFloat, x.mostFloat = data.NewLongDouble().Neg(data.MaxLongDouble), data.NewLongDouble().Set(data.MaxLongDouble)
	switch {
	case x.hasLower && !data.ParseLongDouble(x.lower, x.leastFloat):
		x.Fail(errNumberFloat.With("LBOUND"))
	case x.hasUpper && !data.ParseLongDouble(x.upper, x.mostFloat):
		x.Fail(errNumberFloat.With("UBOUND"))
	case x.leastFloat.Cmp(x.mostFloat) > 0:
		x.Fail(errBoundsCross)
	default:
		return true
	}
	return false
}
