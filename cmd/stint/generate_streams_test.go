//go:build e2e

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var streamKey = keysOf("x")

// nextID is an id that mostly comes after all before. The id * is left out, because it depends on the clock.
func nextID(g *generator) []string {
	g.ids += uint64(g.IntN(3))
	switch ms := g.ids / 4; g.IntN(12) {
	case 0:
		return streamID(g)
	case 1:
		return []string{fmt.Sprintf("%d-*", ms)}
	case 2:
		return []string{fmt.Sprint(ms)}
	default:
		return []string{fmt.Sprintf("%d-%d", ms, g.ids%4)}
	}
}

// streamID is an id that is often that of an entry.
func streamID(g *generator) []string {
	at := g.ids - min(g.ids, uint64(g.IntN(60)))
	switch g.IntN(16) {
	case 0:
		return []string{g.pick("0", "0-0", "-1", "18446744073709551615", "18446744073709551615-18446744073709551615", "1-18446744073709551615", "1-", "-", "+", "1-+1", "01-01", " 1-1", "18446744073709551616", "$", ">")}
	case 1, 2:
		return []string{fmt.Sprint(at / 4)}
	}
	return []string{fmt.Sprintf("%d-%d", at/4, at%4)}
}

// lastID is an id that no entry exceeds. Redis 7.0 takes others, too, if entries with greater ids were removed, which
// later versions refuse.
func lastID(g *generator) []string {
	g.ids += uint64(g.IntN(3))
	return []string{fmt.Sprintf("%d-%d", g.ids/4, g.ids%4)}
}

// rangeEnd returns the first or the last id of a range, as XRANGE takes them.
func rangeEnd(g *generator) []string {
	id := streamID(g)
	switch g.IntN(6) {
	case 0:
		return []string{"-"}
	case 1:
		return []string{"+"}
	case 2:
		return []string{"(" + id[0]}
	}
	return id
}

// trimming removes entries exactly; ~ leaves other entries in Redis than here.
var trimming = oneOf(all(word("MAXLEN"), maybe(word("=")), index), all(word("MAXLEN"), maybe(word("=")), index), all(word("MINID"), maybe(word("=")), streamID))

var (
	count       = all(word("COUNT"), index)
	streamPairs = many(3, all(name, oneOf(text, integer)))
)

var streamFamily = family{
	{"XADD", 14, []argument{streamKey, maybe(word("NOMKSTREAM")), nextID, streamPairs}, exact},
	{"XADD", 6, []argument{streamKey, maybe(word("NOMKSTREAM")), maybe(trimming), maybe(all(word("LIMIT"), index)), nextID, streamPairs}, exact},
	{"XTRIM", 4, []argument{streamKey, trimming}, exact},
	{"XDEL", 5, []argument{streamKey, many(3, streamID)}, exact},
	{"XLEN", 3, []argument{streamKey}, exact},
	{"XRANGE", 6, []argument{streamKey, rangeEnd, rangeEnd, maybe(count)}, exact},
	{"XREVRANGE", 6, []argument{streamKey, rangeEnd, rangeEnd, maybe(count)}, exact},
	{"XREAD", 6, []argument{maybe(count), word("STREAMS"), streamKey, streamID}, exact},
	{"XREAD", 4, []argument{maybe(count), word("STREAMS"), streamKey, streamKey, streamID, streamID}, exact},
	{"XSETID", 3, []argument{streamKey, lastID, maybe(all(word("ENTRIESADDED"), index)), maybe(all(word("MAXDELETEDID"), streamID))}, exact},
	{"XINFO", 4, []argument{word("STREAM"), streamKey, maybe(all(word("FULL"), maybe(count)))}, exact},
}

// radixTree is what XINFO STREAM says of Redis's tree.
var radixTree = regexp.MustCompile(`(radix-tree-(keys|nodes)\r\n):\d+`)

var streamDifferences = []difference{{
	about: "XINFO STREAM tells of a radix tree of at most one node",
	explains: func(words []string, redis, stint string) bool {
		return strings.EqualFold(words[0], "XINFO") && radixTree.ReplaceAllString(redis, "$1") == radixTree.ReplaceAllString(stint, "$1")
	},
}, {
	with:  valkey,
	about: "Valkey quotes the command in an error of XREAD, and takes + for the last entry",
	explains: func(words []string, redis, stint string) bool {
		unbalanced := strings.HasPrefix(redis, "-ERR Unbalanced ") && strings.HasPrefix(stint, "-ERR Unbalanced ")
		return strings.EqualFold(words[0], "XREAD") && (unbalanced || slices.Contains(words, "+"))
	},
}}
