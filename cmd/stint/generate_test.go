//go:build e2e

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// A generator makes random commands on data from a table: families of rows, each a command with its arguments. A new
// family is a file generate_<family>_test.go, and a name in families.

// families is every command that is compared with Redis.
var families = []family{stringFamily, expiryFamily, genericFamily, databaseFamily, hashFamily, sortedSetFamily, listFamily, setFamily, streamFamily, introspectionFamily}

// family is commands that belong together.
type family []row

// row is one command. Its weight is how often it is made, beside the others.
type row struct {
	name    string
	weight  int
	args    []argument
	compare comparison
}

// argument makes some words of a command, or none.
type argument func(g *generator) []string

// comparison is the part of a reply in which the two servers may differ.
type comparison int

// The comparisons.
const (
	exact        comparison = iota // nothing: every byte is compared
	unordered                      // the order of an array, as of a set's members
	pairs                          // the order of an array's pairs, as of a hash's fields
	seconds                        // a number of seconds that depends on the server's clock
	milliseconds                   // a number of milliseconds that does
	chance                         // the elements, but not how many there are, or whether the reply is an error
	scanned                        // the order, and where Redis takes several steps all but the form
	encoding                       // the encoding of data that was changed: Redis goes by its earlier state
)

// generated is one command.
type generated struct {
	words   []string
	compare comparison
}

// generator makes commands.
type generator struct {
	*rand.Rand
	rows    []row
	weights int
	start   time.Time
	times   uint64
	ids     uint64 // of streams, so far
	skip    func(words []string) bool
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), start: time.Now()}
	for _, rows := range families {
		for _, r := range rows {
			g.rows, g.weights = append(g.rows, r), g.weights+r.weight
		}
	}
	return g
}

// command makes one command that is not to be skipped.
func (g *generator) command() generated {
	for {
		if c := g.any(); g.skip == nil || !g.skip(c.words) {
			return c
		}
	}
}

// any makes one command.
func (g *generator) any() generated {
	n := g.IntN(g.weights)
	i := 0
	for ; n >= g.rows[i].weight; i++ {
		n -= g.rows[i].weight
	}
	c := generated{[]string{g.rows[i].name}, g.rows[i].compare}
	for _, a := range g.rows[i].args {
		c.words = append(c.words, a(g)...)
	}
	if g.IntN(12) == 0 && !equalScores(c.words) && !slices.Contains(neverSpoiled, c.words[0]) {
		g.spoil(&c)
	}
	return c
}

// neverSpoiled would choose at random what later commands see, or without an end in Redis; OBJECT and COMMAND have own texts
// for other words, and EVAL's errors name the script.
var neverSpoiled = []string{"SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER", "OBJECT", "COMMAND", "EVAL"}

// spoil makes a command one that is likely to be refused.
func (g *generator) spoil(c *generated) {
	at := 1 + g.IntN(len(c.words)) // after the name; it may be the end
	switch g.IntN(4) {
	case 0:
		c.words = c.words[:at]
	case 1:
		c.words = slices.Insert(c.words, at, g.junk())
	case 2:
		if at < len(c.words) {
			c.words[at] = g.junk()
		}
	case 3:
		if at+1 < len(c.words) {
			c.words[at], c.words[at+1] = c.words[at+1], c.words[at]
		}
	}
}

// junk is a wrong number, word or option.
func (g *generator) junk() string {
	return g.pick("", " ", "1 ", " 1", "+1", "-0", "00", "01", "1.5", "0x10", "1e3", "nan", "-nan", "inf", "-inf", "+inf", "infinity",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
		"1e400", "-1", "0", "NX", "XX", "GT", "EX", "KEEPTTL", "GET", "WITHSCORES", "COUNT", "\r\n", "a\r\nb", "\x00", "\x001", "\xff\xfe", "(1", "[a", "nobody", "'", "\"",
		fmt.Sprint(g.Int64()), fmt.Sprint(-g.Int64()), string(make([]byte, 300)))
}

func (g *generator) pick(words ...string) string { return words[g.IntN(len(words))] }

// keysOf is a key that mostly holds data of one kind, with a letter for each, and else any key.
func keysOf(letter string) argument {
	return func(g *generator) []string {
		l := letter
		if g.IntN(8) == 0 {
			l = g.pick("s", "h", "z", "l", "t", "x")
		}
		return []string{l + strconv.Itoa(g.IntN(4))}
	}
}

// anyKey is a key of any kind.
func anyKey(g *generator) []string { return keysOf(g.pick("s", "h", "z", "l", "t", "x"))(g) }

// word is a word that stands for itself, in any case.
func word(w string) argument {
	return func(g *generator) []string {
		if g.IntN(8) > 0 {
			return []string{w}
		}
		b := []byte(w)
		for i := range b {
			if g.IntN(2) == 0 {
				b[i] ^= ' '
			}
		}
		return []string{string(b)}
	}
}

// oneOf is one of several arguments.
func oneOf(of ...argument) argument {
	return func(g *generator) []string { return of[g.IntN(len(of))](g) }
}

// all is several arguments in a row.
func all(of ...argument) argument {
	return func(g *generator) (words []string) {
		for _, a := range of {
			words = append(words, a(g)...)
		}
		return words
	}
}

// maybe is an argument, or none.
func maybe(a argument) argument { return times(0, 1, a) }

// times repeats an argument at least and at most these numbers of times.
func times(least, most int, a argument) argument {
	return func(g *generator) (words []string) {
		for range least + g.IntN(most-least+1) {
			words = append(words, a(g)...)
		}
		return words
	}
}

// text is a value of any bytes.
func text(g *generator) []string {
	switch g.IntN(10) {
	case 0:
		return []string{g.junk()}
	case 1:
		b := make([]byte, g.IntN(1<<g.IntN(12)))
		for i := range b {
			b[i] = byte(g.Uint32())
		}
		return []string{string(b)}
	}
	return []string{g.pick("a", "b", "c", "hello world", "1", "42", "-7", "1.25")}
}

// integer is a whole number, which is large at times.
func integer(g *generator) []string {
	switch g.IntN(12) {
	case 0:
		return []string{fmt.Sprint(g.Int64() - g.Int64())}
	case 1:
		return []string{g.pick("9223372036854775807", "-9223372036854775808", "9223372036854775000", "-9223372036854775000", "0")}
	}
	return []string{strconv.Itoa(g.IntN(200) - 100)}
}

// aTime is a number of seconds that differs by at least a minute from the time of any other call, so that clocks which
// differ a little do not change which of two expiries is the later.
func (g *generator) aTime() int64 {
	g.times++
	return int64(g.times*0x9E3779B1%(1<<21)+1000) * 60
}
