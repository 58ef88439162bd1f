package command

import (
	"math"
	"math/big"
	"strconv"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/resp"
)

// INCREX as Redis 8.8 has it, with NX and XX of Valkey 9.2.

var increxRows = []Row{{
	Name: "increx",
	Syntax: "key [BYFLOAT float | BYINT integer] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] " +
		"[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX] [NX | XX]",
	Group: "string", Summary: "Add to a number within bounds, and have it expire, as Redis 8.8 does; a denial writes nothing.",
	Example: "counter UBOUND 100 EX 60 ENX",
	Cost:    ValueCopy, Flags: Write | Fast, Keys: usedKey, Shape: resp.Doubles, Data: incrementWithin,
}}

// increxOptions are the options of INCREX.
type increxOptions struct {
	integers, floats           bool // BYINT, BYFLOAT
	saturate                   bool
	persist, onlyWithoutExpiry bool
	ifAbsent, ifPresent        bool
	hasLower, hasUpper         bool
	lower, upper               []byte

	by, least, most                int64
	byFloat, leastFloat, mostFloat *big.Float // with BYFLOAT

	unit      expiryUnit // zero without an expiry
	expiry    []byte
	expiresAt int64
}

func incrementWithin(c *DataCall) {
	o, ok := c.increxOptions()
	if !ok {
		return
	}
	v, found, ok := c.get(c.Args[1], limits.StringValue)
	if !ok {
		return
	}
	blocked := o.ifAbsent && found || o.ifPresent && !found
	text := []byte("0")
	if found {
		text = v.Data
	}
	if o.floats {
		text, ok = c.addFloat(&o, text, blocked)
	} else {
		text, ok = c.addInt(&o, text, blocked)
	}
	if ok {
		c.setString(c.Args[1], text, o.expiryAfter(v.ExpiresAt))
	}
}

// expiryAfter is the expiry of a key that had another one; 0 is never.
func (o *increxOptions) expiryAfter(before int64) int64 {
	switch {
	case o.persist:
		return 0
	case o.expiresAt != 0 && (before == 0 || !o.onlyWithoutExpiry):
		return o.expiresAt
	}
	return before
}

// addInt adds to a number, writes the reply, and returns the text of the sum if it is to be kept.
func (c *DataCall) addInt(o *increxOptions, text []byte, blocked bool) (sumText []byte, changed bool) {
	old, ok := c.integer(text)
	if !ok {
		return nil, false
	}
	sum, fits := addInts(old, o.by)
	switch inside := fits && sum >= o.least && sum <= o.most; {
	case blocked, !inside && !o.saturate:
		c.replyInts(old, 0)
		return nil, false
	case inside:
	case fits && sum > o.most, !fits && o.by > 0:
		sum = o.most
	default:
		sum = o.least
	}
	applied := sum - old
	if (applied < 0) != (sum < old) {
		c.fail(errAppliedOverflow)
		return nil, false
	}
	c.replyInts(sum, applied)
	return strconv.AppendInt(c.digits[:0], sum, 10), true
}

func (c *DataCall) replyInts(value, applied int64) {
	c.Writer.Array(2)
	c.Writer.Int(value)
	c.Writer.Int(applied)
}

// addFloat is addInt for numbers that may have a fraction.
func (c *DataCall) addFloat(o *increxOptions, text []byte, blocked bool) (sumText []byte, changed bool) {
	old, sum := newLongDouble(), newLongDouble()
	switch {
	case !parseLongDouble(text, old):
		c.fail(errNotFloat)
		return nil, false
	case old.IsInf():
		c.fail(errValueInfinite)
		return nil, false
	}
	fits := !isInfinite(sum.Add(old, o.byFloat))
	switch inside := fits && sum.Cmp(o.leastFloat) >= 0 && sum.Cmp(o.mostFloat) <= 0; {
	case blocked, !inside && !o.saturate:
		c.replyFloats(appendLongDouble(nil, old), newLongDouble())
		return nil, false
	case inside:
	case fits && sum.Cmp(o.mostFloat) > 0, !fits && o.byFloat.Sign() > 0:
		sum = o.mostFloat
	default:
		sum = o.leastFloat
	}
	applied := newLongDouble().Sub(sum, old)
	if isInfinite(applied) {
		c.fail(errAppliedInfinite)
		return nil, false
	}
	sumText = appendLongDouble(nil, sum)
	c.replyFloats(sumText, applied)
	return sumText, true
}

func (c *DataCall) replyFloats(value []byte, applied *big.Float) {
	c.Writer.Array(2)
	c.Writer.Bulk(value)
	c.Writer.Bulk(appendLongDouble(nil, applied))
}

// increxOptions reads the options and their values in Redis's order: the increment with the words, then the bounds, then the expiry.
func (c *DataCall) increxOptions() (o increxOptions, ok bool) {
	o.by = 1
	if !c.increxWords(&o) || o.floats && !c.floatBounds(&o) || !o.floats && !c.intBounds(&o) {
		return o, false
	}
	switch {
	case o.unit.millis != 0:
		o.expiresAt, ok = c.expiry(o.expiry, o.unit.millis, o.unit.fromNow, "increx")
		return o, ok
	case o.onlyWithoutExpiry:
		c.fail(errENXAlone)
		return o, false
	}
	return o, true
}

// increxWords reads the options, each of which may stand there once.
func (c *DataCall) increxWords(o *increxOptions) (ok bool) {
	for words := c.Args[2:]; len(words) > 0; {
		used := o.flag(words[0])
		if used == 0 && len(words) > 1 {
			if used = o.option(words[0], words[1]); used == 0 && o.isIncrement(words[0]) {
				if used = 2; !c.increment(o, words[0], words[1]) {
					return false
				}
			}
		}
		if used == 0 {
			c.fail(ErrSyntax)
			return false
		}
		words = words[used:]
	}
	return true
}

// flag reads an option without a value. It returns the number of words read, 0 if this is none, or may not stand here.
func (o *increxOptions) flag(word []byte) (used int) {
	switch {
	case isWord(word, "SATURATE") && !o.saturate:
		o.saturate = true
	case isWord(word, "ENX") && !o.onlyWithoutExpiry && !o.persist:
		o.onlyWithoutExpiry = true
	case isWord(word, "PERSIST") && !o.persist && !o.onlyWithoutExpiry && o.unit.millis == 0:
		o.persist = true
	case isWord(word, "NX") && !o.ifAbsent && !o.ifPresent:
		o.ifAbsent = true
	case isWord(word, "XX") && !o.ifAbsent && !o.ifPresent:
		o.ifPresent = true
	default:
		return 0
	}
	return 1
}

// option is flag for a bound and an expiry, whose values are read later.
func (o *increxOptions) option(word, value []byte) (used int) {
	unit := expiryUnitOf(word)
	switch {
	case isWord(word, "LBOUND") && !o.hasLower:
		o.hasLower, o.lower = true, value
	case isWord(word, "UBOUND") && !o.hasUpper:
		o.hasUpper, o.upper = true, value
	case unit.millis != 0 && o.unit.millis == 0 && !o.persist:
		o.unit, o.expiry = unit, value
	default:
		return 0
	}
	return 2
}

// isIncrement reports whether a word is that of the increment, the first there is.
func (o *increxOptions) isIncrement(word []byte) bool {
	return !o.integers && !o.floats && (isWord(word, "BYINT") || isWord(word, "BYFLOAT"))
}

// increment reads the value of BYINT or BYFLOAT, or writes the error.
func (c *DataCall) increment(o *increxOptions, word, value []byte) (ok bool) {
	if isWord(word, "BYINT") {
		o.integers = true
		if o.by, ok = parseRedisInt(value); !ok {
			c.fail(errNumberInteger.With("Increment"))
		}
		return ok
	}
	o.floats, o.byFloat = true, newLongDouble()
	switch {
	case !parseLongDouble(value, o.byFloat):
		c.fail(errNumberFloat.With("Increment"))
	case o.byFloat.IsInf():
		c.fail(errIncrementInfinite)
	default:
		return true
	}
	return false
}

// intBounds reads the bounds of an integer, or writes the error.
func (c *DataCall) intBounds(o *increxOptions) (ok bool) {
	o.least, o.most, ok = math.MinInt64, math.MaxInt64, true
	if o.hasLower {
		if o.least, ok = parseRedisInt(o.lower); !ok {
			c.fail(errNumberInteger.With("LBOUND"))
			return false
		}
	}
	if o.hasUpper {
		if o.most, ok = parseRedisInt(o.upper); !ok {
			c.fail(errNumberInteger.With("UBOUND"))
			return false
		}
	}
	if o.least > o.most {
		c.fail(errBoundsCross)
	}
	return o.least <= o.most
}

// floatBounds is intBounds for numbers that may have a fraction.
func (c *DataCall) floatBounds(o *increxOptions) (ok bool) {
	o.leastFloat, o.mostFloat = newLongDouble().Neg(maxLongDouble), newLongDouble().Set(maxLongDouble)
	switch {
	case o.hasLower && !parseLongDouble(o.lower, o.leastFloat):
		c.fail(errNumberFloat.With("LBOUND"))
	case o.hasUpper && !parseLongDouble(o.upper, o.mostFloat):
		c.fail(errNumberFloat.With("UBOUND"))
	case o.leastFloat.Cmp(o.mostFloat) > 0:
		c.fail(errBoundsCross)
	default:
		return true
	}
	return false
}
