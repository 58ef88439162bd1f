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

// many is up to so many of an argument, rarely more.
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
}

var listFamily = family{
	{"LPUSH", 8, []argument{listKey, many(4, text)}, exact},
	{"RPUSH", 8, []argument{listKey, many(4, text)}, exact},
	{"LPOP", 5, []argument{listKey, maybe(index)}, exact},
	{"LINDEX", 6, []argument{listKey, index}, exact},
	{"LRANGE", 6, []argument{listKey, index, index}, exact},
	{"LTRIM", 4, []argument{listKey, index, index}, exact},
	{"LLEN", 3, []argument{listKey}, exact},
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
}
