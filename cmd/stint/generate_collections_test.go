//go:build e2e

package main

import "strconv"

var (
	hashKey = keysOf("h")
	listKey = keysOf("l")
	setKey  = keysOf("t")
)

// name is a field or a member; there are few, so that many calls find one.
func name(g *generator) []string {
	if g.IntN(8) == 0 {
		return text(g)
	}
	return []string{"n" + strconv.Itoa(g.IntN(12))}
}

// index is a place in a list.
func index(g *generator) []string {
	if g.IntN(8) == 0 {
		return integer(g)
	}
	return []string{strconv.Itoa(g.IntN(16) - 8)}
}

// many is an argument up to most times, rarely more.
func many(most int, a argument) argument {
	return func(g *generator) []string {
		if g.IntN(50) == 0 {
			return times(1, 100*most, a)(g)
		}
		return times(1, most, a)(g)
	}
}

// Redis keeps the order in which fields came only in small hashes, hence pairs and unordered.
var hashFamily = family{
	{"HSET", 10, []argument{hashKey, many(4, all(name, oneOf(text, integer)))}, exact},
	{"HMSET", 6, []argument{hashKey, many(4, all(name, oneOf(text, integer)))}, exact},
	{"HSETNX", 4, []argument{hashKey, name, text}, exact},
	{"HGET", 8, []argument{hashKey, name}, exact},
	{"HMGET", 6, []argument{hashKey, many(6, name)}, exact},
	{"HGETALL", 6, []argument{hashKey}, pairs},
	{"HKEYS", 3, []argument{hashKey}, unordered},
	{"HSTRLEN", 3, []argument{hashKey, name}, exact},
	{"HINCRBY", 8, []argument{hashKey, name, integer}, exact},
	{"HDEL", 6, []argument{hashKey, many(3, name)}, exact},
	{"HLEN", 3, []argument{hashKey}, exact},
	{"HEXISTS", 3, []argument{hashKey, name}, exact},
	{"HVALS", 3, []argument{hashKey}, unordered},
	{"HINCRBYFLOAT", 5, []argument{hashKey, name, float}, exact},
	{"HRANDFIELD", 3, []argument{hashKey, maybe(all(chanceCount, maybe(word("WITHVALUES"))))}, chance},
	{"HSCAN", 3, []argument{hashKey, scanArguments}, scanned},
}

// scanArguments is a cursor and options. The cursor is the first, where the two servers begin alike.
var scanArguments = all(oneOf(word("0"), junkCursor), maybe(all(word("MATCH"), pattern)), oneOf(all(word("COUNT"), word("100000")), maybe(all(word("COUNT"), index))))

// junkCursor is a cursor that Redis refuses, or takes for 0.
func junkCursor(g *generator) []string {
	return []string{g.pick("", "-0", "+0", "x", "0x", " 0", "0 ", "-", "+", "-+0", "18446744073709551616", "-x", "0\x00x")}
}

func pattern(g *generator) []string {
	return []string{g.pick("*", "n*", "n1*", "*1", "?", "[ab]*", "[^n]*", "n\\1", "", "nobody", "[a-", "*[0-5]*")}
}

// chanceCount is how many elements are to be chosen at random.
func chanceCount(g *generator) []string {
	if g.IntN(6) == 0 {
		return []string{g.pick("0", "-0", "9223372036854775807", "-9223372036854775808", "x", "1.5", "4611686018427387904")}
	}
	return []string{strconv.Itoa(g.IntN(40) - 10)}
}

// enough is a number of elements that is all of them.
var enough = oneOf(word("100000"), word("9223372036854775807"), word("0"), word("-1"))

var listFamily = family{
	{"LPUSH", 8, []argument{listKey, many(4, text)}, exact},
	{"RPUSH", 8, []argument{listKey, many(4, text)}, exact},
	{"LPOP", 5, []argument{listKey, maybe(index)}, exact},
	{"LINDEX", 6, []argument{listKey, index}, exact},
	{"LRANGE", 6, []argument{listKey, index, index}, exact},
	{"LTRIM", 4, []argument{listKey, index, index}, exact},
	{"LLEN", 3, []argument{listKey}, exact},
	{"RPOP", 5, []argument{listKey, maybe(index)}, exact},
	{"LPUSHX", 3, []argument{listKey, many(4, text)}, exact},
	{"RPUSHX", 3, []argument{listKey, many(4, text)}, exact},
	{"LSET", 5, []argument{listKey, index, text}, exact},
	{"LINSERT", 4, []argument{listKey, oneOf(word("BEFORE"), word("AFTER")), text, text}, exact},
	{"LREM", 4, []argument{listKey, index, text}, exact},
	{"LPOS", 6, []argument{listKey, text, times(0, 3, oneOf(all(word("RANK"), index), all(word("COUNT"), index), all(word("MAXLEN"), index)))}, exact},
	{"LMOVE", 5, []argument{listKey, listKey, side, side}, exact},
	{"RPOPLPUSH", 4, []argument{listKey, listKey}, exact},
}

var side = oneOf(word("LEFT"), word("RIGHT"))

// counted is some keys after their number, which is wrong at times.
func counted(key argument) argument {
	return func(g *generator) []string {
		keys := times(1, 3, key)(g)
		n := strconv.Itoa(len(keys))
		if g.IntN(20) == 0 {
			n = g.pick("0", "-1", "x", "4", "9223372036854775807")
		}
		return append([]string{n}, keys...)
	}
}

var setFamily = family{
	{"SADD", 8, []argument{setKey, many(4, name)}, exact},
	{"SREM", 5, []argument{setKey, many(3, name)}, exact},
	{"SCARD", 3, []argument{setKey}, exact},
	{"SISMEMBER", 3, []argument{setKey, name}, exact},
	{"SMISMEMBER", 5, []argument{setKey, many(4, name)}, exact},
	{"SMEMBERS", 5, []argument{setKey}, unordered},
	{"SDIFFSTORE", 4, []argument{setKey, times(1, 3, setKey)}, exact},
	{"SUNIONSTORE", 4, []argument{setKey, times(1, 3, setKey)}, exact},
	{"SINTERSTORE", 4, []argument{setKey, times(1, 3, setKey)}, exact},
	{"SDIFF", 4, []argument{times(1, 3, setKey)}, unordered},
	{"SUNION", 4, []argument{times(1, 3, setKey)}, unordered},
	{"SINTER", 4, []argument{times(1, 3, setKey)}, unordered},
	{"SINTERCARD", 4, []argument{counted(setKey), maybe(all(word("LIMIT"), index))}, exact},
	{"SMOVE", 5, []argument{setKey, setKey, name}, exact},
	{"SRANDMEMBER", 4, []argument{setKey, maybe(chanceCount)}, chance},
	{"SPOP", 2, []argument{setKey, enough}, unordered},
	{"SSCAN", 3, []argument{setKey, scanArguments}, scanned},
}
