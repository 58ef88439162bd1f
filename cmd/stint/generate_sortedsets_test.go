//go:build e2e

package main

import (
	"fmt"
	"strconv"
	"strings"
)

var sortedSetKey = keysOf("z")

// equalKey is a sorted set whose scores are all 0: only of such a set does Redis say what BYLEX means.
func equalKey(g *generator) []string { return []string{"y" + strconv.Itoa(g.IntN(2))} }

// equalScores reports whether a command adds to such a set, and must not be spoiled.
func equalScores(words []string) bool {
	return words[0] == "ZADD" && len(words) > 1 && strings.HasPrefix(words[1], "y")
}

// score is a number that is a score, and seldom none.
func score(g *generator) []string {
	switch g.IntN(16) {
	case 0:
		return []string{g.junk()}
	case 1:
		return []string{g.pick("inf", "-inf", "+inf", "INFINITY", "1e20", "1e16", "1e17", "100000000000000000000", "123456789012345678", "-1e15", "1e-5", "0.0001",
			"1e308", "-1e308", "5e-324", "0x1p-3", "0X.8", "1.", ".5", "1e999", "1e-999", "0e-999", "nan(1)", "1_0", "0x_1", "1e", "+5", "-+5")}
	case 2, 3, 4:
		return []string{fmt.Sprintf("%d.%d", g.IntN(10), g.IntN(100))}
	case 5:
		return []string{fmt.Sprint(g.start.UnixMilli() + int64(g.IntN(1000)))}
	case 6:
		return []string{fmt.Sprint(g.Float64())}
	}
	return []string{strconv.Itoa(g.IntN(40) - 10)}
}

// scoreEnd is an end of a range of scores.
func scoreEnd(g *generator) []string {
	switch g.IntN(8) {
	case 0:
		return []string{g.pick("-inf", "+inf", "inf", "(-inf", "(inf", "(", "((1", "( 1", "(1 ", " 1", "\t1", "1\x00x", "(nan", "1e999", "-1e999", "(0x10", "")}
	case 1, 2:
		return []string{"(" + score(g)[0]}
	}
	return score(g)
}

func member(g *generator) []string {
	switch g.IntN(20) {
	case 0:
		return text(g)
	case 1:
		return []string{fmt.Sprintf("%d-%016x", g.start.UnixMilli(), g.IntN(100))}
	}
	return []string{strconv.Itoa(g.IntN(30))}
}

// manyMember is one of enough members to make Redis keep the set in another form.
func manyMember(g *generator) []string { return []string{"m" + strconv.Itoa(g.IntN(400))} }

// memberEnd is an end of a range of bytes.
func memberEnd(g *generator) []string {
	switch g.IntN(6) {
	case 0:
		return []string{"-"}
	case 1:
		return []string{"+"}
	case 2:
		return []string{g.pick("", "[", "(", "-1", "+1", "-\x00", "+\x00x", "a", "[+", "(-")}
	case 3:
		return []string{"(" + member(g)[0]}
	}
	return []string{"[" + member(g)[0]}
}

func place(g *generator) []string {
	if g.IntN(10) == 0 {
		return integer(g)
	}
	return []string{strconv.Itoa(g.IntN(24) - 12)}
}

var (
	scoreLimit = all(word("LIMIT"), place, place)
	withScores = maybe(word("WITHSCORES"))
	addOption  = oneOf(word("NX"), word("XX"), word("GT"), word("LT"), word("CH"), word("INCR"))
)

// union makes the keys of ZUNION, and weights for them.
func union(g *generator) (words []string) {
	n := 1 + g.IntN(3)
	words = append([]string{strconv.Itoa(n)}, times(n, n, sortedSetKey)(g)...)
	if g.IntN(2) == 0 {
		words = append(append(words, "WEIGHTS"), times(n, n, score)(g)...)
	}
	return words
}

var combineOptions = times(0, 2, oneOf(all(word("AGGREGATE"), oneOf(word("SUM"), word("MIN"), word("MAX"))), word("WITHSCORES")))

var sortedSetFamily = family{
	{"ZADD", 16, []argument{sortedSetKey, times(1, 4, all(score, member))}, exact},
	{"ZADD", 12, []argument{sortedSetKey, times(1, 3, addOption), times(1, 2, all(score, member))}, exact},
	{"ZADD", 1, []argument{sortedSetKey, times(20, 200, all(score, manyMember))}, exact},
	{"ZADD", 6, []argument{equalKey, times(1, 4, all(word("0"), member))}, exact},
	{"ZINCRBY", 8, []argument{sortedSetKey, score, member}, exact},
	{"ZREM", 8, []argument{oneOf(sortedSetKey, equalKey), times(1, 4, member)}, exact},
	{"ZREM", 1, []argument{sortedSetKey, times(20, 100, manyMember)}, exact},
	{"ZCARD", 4, []argument{sortedSetKey}, exact},
	{"ZCOUNT", 8, []argument{sortedSetKey, scoreEnd, scoreEnd}, exact},
	{"ZSCORE", 6, []argument{sortedSetKey, member}, exact},
	{"ZRANGE", 8, []argument{sortedSetKey, place, place, withScores, maybe(word("REV"))}, exact},
	{"ZRANGE", 8, []argument{sortedSetKey, scoreEnd, scoreEnd, word("BYSCORE"), maybe(word("REV")), maybe(scoreLimit), withScores}, exact},
	{"ZRANGE", 8, []argument{equalKey, memberEnd, memberEnd, word("BYLEX"), maybe(word("REV")), maybe(scoreLimit)}, exact},
	{"ZRANGE", 4, []argument{equalKey, oneOf(place, scoreEnd, memberEnd), oneOf(place, scoreEnd, memberEnd),
		times(0, 4, oneOf(word("BYLEX"), word("BYSCORE"), word("REV"), scoreLimit, word("WITHSCORES")))}, exact},
	{"ZREVRANGE", 5, []argument{sortedSetKey, place, place, withScores, maybe(scoreLimit)}, exact},
	{"ZRANGEBYSCORE", 8, []argument{sortedSetKey, scoreEnd, scoreEnd, times(0, 2, oneOf(scoreLimit, word("WITHSCORES")))}, exact},
	{"ZREMRANGEBYSCORE", 5, []argument{sortedSetKey, scoreEnd, scoreEnd}, exact},
	{"ZREMRANGEBYRANK", 4, []argument{sortedSetKey, place, place}, exact},
	{"ZUNION", 8, []argument{union, combineOptions}, exact},
	{"ZRANK", 4, []argument{sortedSetKey, member}, exact},
	{"ZREVRANK", 4, []argument{sortedSetKey, member}, exact},
	{"ZMSCORE", 5, []argument{sortedSetKey, many(6, member)}, exact},
	{"ZREVRANGEBYSCORE", 6, []argument{sortedSetKey, scoreEnd, scoreEnd, times(0, 2, oneOf(scoreLimit, word("WITHSCORES")))}, exact},
	{"ZRANGEBYLEX", 4, []argument{equalKey, memberEnd, memberEnd, maybe(scoreLimit)}, exact},
	{"ZREVRANGEBYLEX", 4, []argument{equalKey, memberEnd, memberEnd, maybe(scoreLimit)}, exact},
	{"ZLEXCOUNT", 4, []argument{equalKey, memberEnd, memberEnd}, exact},
	{"ZREMRANGEBYLEX", 2, []argument{equalKey, memberEnd, memberEnd}, exact},
	{"ZPOPMIN", 4, []argument{sortedSetKey, maybe(place)}, exact},
	{"ZPOPMAX", 4, []argument{sortedSetKey, maybe(place)}, exact},
	{"ZRANDMEMBER", 3, []argument{sortedSetKey, maybe(all(chanceCount, maybe(word("WITHSCORES"))))}, chance},
	{"ZSCAN", 3, []argument{sortedSetKey, scanArguments}, scanned},
	{"ZINTER", 5, []argument{union, combineOptions}, exact},
	{"ZDIFF", 4, []argument{counted(oneOf(sortedSetKey, setKey)), withScores}, exact},
	{"ZUNIONSTORE", 4, []argument{sortedSetKey, union, combineOptions}, exact},
	{"ZINTERSTORE", 4, []argument{sortedSetKey, union, combineOptions}, exact},
	{"ZDIFFSTORE", 4, []argument{sortedSetKey, counted(oneOf(sortedSetKey, setKey)), withScores}, exact},
	{"ZINTERCARD", 4, []argument{counted(oneOf(sortedSetKey, setKey)), maybe(all(word("LIMIT"), place))}, exact},
	{"DEL", 2, []argument{equalKey}, exact},
	{"DEL", 3, []argument{sortedSetKey}, exact},
}
