package data

import (
	"bytes"
	"hash/fnv"
	"math"
	"math/bits"

	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Commands that choose at random. Every node chooses alike: a choice follows from the time of the command, its key, and how many there are to
// choose from.

var randomRows = []command.Row{{
	Name: "hrandfield", Syntax: "key [count [WITHVALUES]]", Group: "hash",
	Summary: "Random fields of a hash: at most count different ones, or with a negative count as many, some perhaps more than once.",
	Example: "bucket",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ShapeOf: shapeOfFields, Answers: chosenElements, Data: code(randomFields),
}, {
	Name: "srandmember", Syntax: "key [count]", Group: "set",
	Summary: "Random members of a set: at most count different ones, or with a negative count as many, some perhaps more than once.",
	Example: "seen",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Answers: chosenElements, Data: code(randomMembers),
}, {
	Name: "spop", Syntax: "key [count]", Group: "set", Summary: "Remove random members of a set.",
	Example: "seen",
	Cost:    command.ValuePass, Flags: command.Write | command.Fast, Keys: command.UsedKey, Shape: resp.Set, Answers: countedElements, Data: code(popRandomMembers),
}, {
	Name: "zrandmember", Syntax: "key [count [WITHSCORES]]", Group: "sorted-set",
	Summary: "Random members of a sorted set: at most count different ones, or with a negative count as many, some perhaps more than once.",
	Example: "hits",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Shape: resp.Scored, Answers: chosenElements, Data: code(randomScored),
}}

// countedElements is the number of elements that a count after the key asks for, at most all.
func countedElements(args [][]byte, held int) int {
	if len(args) < 3 {
		return 0
	}
	count, _ := command.ParseRedisInt(args[2])
	return int(min(max(count, 0), int64(held/2)))
}

// chosenElements is the number of elements that a count asks for: a negative one as many, even if the value has fewer.
func chosenElements(args [][]byte, held int) int {
	if len(args) < 3 || held == 0 {
		return 0
	}
	count, _ := command.ParseRedisInt(args[2])
	if count < 0 {
		return int(min(max(-count, 0), maxRepeatedBytes))
	}
	return countedElements(args, held)
}

// shapeOfFields is the form of a reply of HRANDFIELD.
func shapeOfFields(args [][]byte) resp.Shape {
	if len(args) > 3 {
		return resp.Pairs
	}
	return resp.Same
}

// choice is a source of numbers that differ from command to command.
type choice uint64

// newChoice begins the choices among size things in the command's key.
func newChoice(c *Call, size int) choice {
	key := fnv.New64a()
	_, _ = key.Write(c.Args[1])
	r := choice(key.Sum64())
	for _, part := range []uint64{uint64(c.Tx.Now()), c.Tx.Draw(), uint64(size)} {
		r = choice(r.next() ^ part)
	}
	return r
}

// next is SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
func (r *choice) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1.
func (r *choice) below(n int) int {
	high, _ := bits.Mul64(r.next(), uint64(n))
	return int(high)
}

// distinct calls chosen with count different places among size, in order.
func (r *choice) distinct(count, size int, chosen func(i int)) {
	for i := 0; count > 0; i++ {
		if r.below(size-i) < count {
			chosen(i)
			count--
		}
	}
}

// writeChosen writes count random elements of size, each of a number of words: different ones, or with a negative count any.
func writeChosen(c *Call, count int64, size, words int, write func(i int)) {
	start := len(c.Writer.Buf)
	r := newChoice(c, size)
	if count >= 0 || size == 0 {
		n := int(min(max(count, 0), int64(size)))
		c.Tx.Spend(size + n*words*command.WriteWork)
		c.Writer.Array(n * words)
		r.distinct(n, size, write)
		return
	}
	fits := -count <= maxRepeatedBytes
	if fits {
		c.Writer.Array(int(-count) * words)
		for i := int64(0); i < -count && fits; i++ {
			write(r.below(size))
			fits = len(c.Writer.Buf)-start <= maxRepeatedBytes
		}
		c.Tx.Spend((len(c.Writer.Buf) - start) / 3)
	}
	if !fits {
		c.Writer.Buf = c.Writer.Buf[:start]
		c.fail(errReplyTooBig.With(maxRepeatedBytes))
	}
}

// randomCount reads the count of a command that may have one word behind it.
func randomCount(c *Call, word string) (count int64, words int, ok bool) {
	count, ok = command.ParseRedisInt(c.Args[2])
	switch {
	case !ok:
		c.fail(command.ErrNotInteger)
	case count == math.MinInt64:
		c.fail(command.ErrRange.With(-math.MaxInt64, math.MaxInt64))
	case len(c.Args) == 3:
		return count, 1, true
	case word == "" || len(c.Args) > 4 || !command.IsWord(c.Args[3], word):
		c.fail(command.ErrSyntax)
	case count < -math.MaxInt64/2 || count > math.MaxInt64/2:
		c.fail(errRandomPairs)
	default:
		return count, 2, true
	}
	return 0, 0, false
}

// answerRandom answers a command that reads random elements of a value: of size(data) the element i is what write writes, with its second word if
// that is asked for.
func answerRandom(c *Call, kind limits.Algorithm, word string, size func(data []byte) int, write func(data []byte, i int, both bool)) {
	count, words := int64(0), 1
	if len(c.Args) > 2 {
		var ok bool
		if count, words, ok = randomCount(c, word); !ok {
			return
		}
	}
	v, found, ok := c.get(c.Args[1], kind)
	switch {
	case !ok:
	case len(c.Args) > 2:
		writeChosen(c, count, size(v.Data), words, func(i int) { write(v.Data, i, words == 2) })
	case !found:
		c.Writer.Null()
	default:
		r := newChoice(c, size(v.Data))
		write(v.Data, r.below(size(v.Data)), false)
	}
}

func randomFields(c *Call) {
	answerRandom(c, limits.HashValue, "WITHVALUES", func(data []byte) int { return datatype.Hash(data).Len() }, func(data []byte, i int, both bool) {
		c.Writer.Bulk(datatype.Hash(data).Field(i))
		if both {
			c.Writer.Bulk(datatype.Hash(data).Value(i))
		}
	})
}

func randomMembers(c *Call) {
	answerRandom(c, limits.SetValue, "", func(data []byte) int { return datatype.Set(data).Len() }, func(data []byte, i int, _ bool) {
		c.Writer.Bulk(datatype.Set(data).At(i))
	})
}

func randomScored(c *Call) {
	answerRandom(c, limits.SortedSetValue, "WITHSCORES", func(data []byte) int { return datatype.SortedSet(data).Len() }, func(data []byte, i int, both bool) {
		c.Writer.Bulk(datatype.SortedSet(data).Member(i))
		if both {
			c.score(datatype.SortedSet(data).Score(i))
		}
	})
}

func popRandomMembers(c *Call) {
	count, counts := int64(1), len(c.Args) == 3
	if len(c.Args) > 3 {
		c.fail(command.ErrSyntax)
		return
	}
	if counts {
		var ok bool
		if count, ok = positiveArg(c, c.Args[2]); !ok {
			return
		}
	}
	v, found, ok := c.get(c.Args[1], limits.SetValue)
	if !ok {
		return
	}
	if !found && !counts {
		c.Writer.Null()
		return
	}
	s := datatype.Set(v.Data)
	n := int(min(count, int64(s.Len())))
	r := newChoice(c, s.Len())
	var members [][]byte
	c.Tx.Spend(s.Len()/2 + n*command.WriteWork)
	if counts {
		c.Writer.Array(n)
	}
	r.distinct(n, s.Len(), func(i int) {
		c.Writer.Bulk(s.At(i))
		members = append(members, bytes.Clone(s.At(i)))
	})
	if n > 0 {
		dropMembers(c, v, members)
	}
}
