//go:build e2e

package main

import (
	"fmt"
	"strconv"
)

var stringKey = keysOf("s")

// float is a number that may have a fraction. The sum of two does not depend on the digits of Redis's long double.
func float(g *generator) []string {
	if g.IntN(12) == 0 {
		return []string{g.junk()}
	}
	return []string{g.pick("0.5", "-0.25", "1e2", "3", "-3.0", ".5", "5.", "+7", "1.5e-3", "12345678.125", "0x1p3", "0x.8", "1p3", "0b1", "0o7", "1_0", "+-inf", "-inf", "1e4000", "1e4932", "-1e4932", "1e5000", "1e-5000", "1e-4950", "0e9999", "1e646456993", "1e2147483647", "1e-2147483647", "0e-2147483647", "1e9223372036854775807", "0x0p-99999999999", "0x1p-99999999", "0xep1", strconv.Itoa(g.IntN(1000)),
		fmt.Sprintf("%d.%02d", g.IntN(100), g.IntN(100)))}
}

// letters is a value that is no time to live, wherever in a command it stands.
func letters(g *generator) []string { return []string{g.pick("", "a", "b", "hello world")} }

var stringFamily = family{
	{"GET", 10, []argument{stringKey}, exact},
	{"SET", 10, []argument{stringKey, oneOf(text, integer)}, exact},
	{"SET", 10, []argument{stringKey, oneOf(text, integer), times(0, 3, oneOf(word("NX"), word("XX"), word("GET"), word("KEEPTTL"), expiry, expiry))}, exact},
	{"SETNX", 4, []argument{stringKey, text}, exact},
	{"SETEX", 3, []argument{stringKey, fromNow(1), letters}, exact},
	{"PSETEX", 3, []argument{stringKey, fromNow(1000), letters}, exact},
	{"MGET", 4, []argument{times(1, 4, oneOf(stringKey, anyKey))}, exact},
	{"INCR", 6, []argument{stringKey}, exact},
	{"DECR", 4, []argument{stringKey}, exact},
	{"INCRBY", 6, []argument{stringKey, integer}, exact},
	{"DECRBY", 4, []argument{stringKey, integer}, exact},
	{"INCRBYFLOAT", 6, []argument{stringKey, float}, exact},
	{"STRLEN", 3, []argument{stringKey}, exact},
	{"APPEND", 5, []argument{stringKey, text}, exact},
	{"GETRANGE", 5, []argument{stringKey, index, index}, exact},
	{"SUBSTR", 2, []argument{stringKey, index, index}, exact},
	{"SETRANGE", 4, []argument{stringKey, index, text}, exact},
	{"GETSET", 4, []argument{stringKey, text}, exact},
	{"GETDEL", 3, []argument{stringKey}, exact},
	{"GETEX", 5, []argument{stringKey, times(0, 2, oneOf(word("PERSIST"), expiry, expiry))}, exact},
	{"MSET", 4, []argument{many(4, all(oneOf(stringKey, stringKey, anyKey), oneOf(text, integer)))}, exact},
	{"MSETNX", 3, []argument{many(3, all(stringKey, text))}, exact},
}
