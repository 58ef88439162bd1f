//go:build e2e

package main

import "fmt"

// farTime is a time, in seconds, beyond the last that Stint keeps.
const farTime = 10_000_000_000_000

// fromNow is a time to live in units, given as their number in a second: none that ends while the test runs.
func fromNow(unit int64) argument {
	return func(g *generator) []string {
		if g.IntN(16) == 0 {
			return []string{g.pick("0", "-1", fmt.Sprint(-g.aTime()*unit), "9223372036854775807", "-9223372036854775808", "-9223372036854775")}
		}
		return []string{fmt.Sprint(g.aTime() * unit)}
	}
}

// at is a time in units, given as their number in a second: it has passed, or does not come while the test runs.
func at(unit int64) argument {
	return func(g *generator) []string {
		switch g.IntN(16) {
		case 0:
			return []string{g.pick("0", "-1", "1", fmt.Sprint((g.start.Unix()-g.aTime())*unit), "9223372036854775807", "-9223372036854775808")}
		case 1:
			return []string{fmt.Sprint(farTime * unit)}
		}
		return []string{fmt.Sprint((g.start.Unix() + g.aTime()) * unit)}
	}
}

// expiry is the option of SET.
var expiry = oneOf(all(word("EX"), fromNow(1)), all(word("PX"), fromNow(1000)), all(word("EXAT"), at(1)), all(word("PXAT"), at(1000)))

var expireOption = times(0, 2, oneOf(word("NX"), word("XX"), word("GT"), word("LT")))

var expiryFamily = family{
	{"EXPIRE", 5, []argument{anyKey, fromNow(1), expireOption}, exact},
	{"PEXPIRE", 5, []argument{anyKey, fromNow(1000), expireOption}, exact},
	{"EXPIREAT", 5, []argument{anyKey, at(1), expireOption}, exact},
	{"PEXPIREAT", 5, []argument{anyKey, at(1000), expireOption}, exact},
	{"TTL", 4, []argument{anyKey}, seconds},
	{"PTTL", 4, []argument{anyKey}, milliseconds},
	{"EXPIRETIME", 3, []argument{anyKey}, seconds},
	{"PEXPIRETIME", 3, []argument{anyKey}, milliseconds},
	{"PERSIST", 4, []argument{anyKey}, exact},
}

var genericFamily = family{
	{"DEL", 4, []argument{times(1, 3, anyKey)}, exact},
	{"UNLINK", 3, []argument{times(1, 3, anyKey)}, exact},
	{"EXISTS", 4, []argument{times(1, 4, anyKey)}, exact},
	{"TYPE", 6, []argument{anyKey}, exact},
	{"RENAME", 4, []argument{anyKey, anyKey}, exact},
	{"RENAMENX", 4, []argument{anyKey, anyKey}, exact},
	{"COPY", 4, []argument{anyKey, anyKey, times(0, 2, oneOf(word("REPLACE"), all(word("DB"), word("0"))))}, exact},
	{"TOUCH", 3, []argument{times(1, 4, anyKey)}, exact},
	{"OBJECT", 1, []argument{word("REFCOUNT"), anyKey}, chance},
	{"OBJECT", 1, []argument{word("FREQ"), anyKey}, exact},
	{"OBJECT", 2, []argument{word("ENCODING"), oneOf(stringKey, hashKey, listKey, setKey, sortedSetKey)}, encoding},
}

// aDatabase is the number of one of three databases, so that each has many keys, or of none.
func aDatabase(g *generator) []string {
	if g.IntN(16) == 0 {
		return []string{g.pick("16", "-1", "x", "01", "+1", "99999999999", "9223372036854775808", "")}
	}
	return []string{g.pick("0", "1", "2")}
}

var databaseFamily = family{
	{"SELECT", 4, []argument{aDatabase}, exact},
	{"MOVE", 4, []argument{anyKey, aDatabase}, exact},
}
