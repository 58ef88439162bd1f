package data

import (
	"hash/fnv"
	"math"
	"math/bits"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
)

// Commands that choose at random. Every node must choose the same elements, so a choice is computed from the own time of
// the command, its key, and the number of elements to choose from.

// CountedElements is the number of elements that a count after the key asks for, at most as many as the value can hold.
func CountedElements(args [][]byte, held int) int {
	if len(args) < 3 {
		return 0
	}
	count, _ := command.ParseRedisInt(args[2])
	return int(min(max(count, 0), int64(held/2)))
}

// ChosenElements is CountedElements for a count that may be negative: then elements may repeat, so it is not limited by
// the size of the value.
func ChosenElements(args [][]byte, held int) int {
	if len(args) < 3 || held == 0 {
		return 0
	}
	count, _ := command.ParseRedisInt(args[2])
	if count < 0 {
		return int(min(max(-count, 0), MaxRepeatedBytes))
	}
	return CountedElements(args, held)
}

// choice is a source of random numbers that differ for each command.
type choice uint64

// NewChoice returns the source for choosing among size elements of the command's key.
func NewChoice(c *Call, size int) choice {
	key := fnv.New64a()
	_, _ = key.Write(c.Args[1])
	r := choice(key.Sum64())
	for _, part := range []uint64{uint64(c.Tx.OwnTime()), c.Tx.Draw(), uint64(size)} {
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

// below returns a number from 0 to n-1.
func (r *choice) below(n int) int {
	high, _ := bits.Mul64(r.next(), uint64(n))
	return int(high)
}

// Distinct chooses count different numbers below size, and calls chosen with each in ascending order.
func (r *choice) Distinct(count, size int, chosen func(i int)) {
	for i := 0; count > 0; i++ {
		if r.below(size-i) < count {
			chosen(i)
			count--
		}
	}
}

// Few is Distinct for a count that is small beside the size: its time does not depend on the size.
func (r *choice) Few(count, size int, chosen func(i int)) {
	seen := map[int]struct{}{}
	for i := size - count; i < size; i++ { // Floyd's algorithm
		n := r.below(i + 1)
		if _, again := seen[n]; again {
			n = i
		}
		seen[n] = struct{}{}
		chosen(n)
	}
}

// writeChosen replies with count random elements of size, each as a number of words. With a negative count, elements
// may repeat.
func writeChosen(c *Call, count int64, size, words int, inBlocks bool, write func(i int)) {
	start := len(c.Writer.Buf)
	r := NewChoice(c, size)
	if count >= 0 || size == 0 {
		n := int(min(max(count, 0), int64(size)))
		c.Tx.Spend(n * words * command.WriteWork)
		c.Writer.Array(n * words)
		if inBlocks {
			c.SpendOn(n, 0)
			r.Few(n, size, write)
		} else {
			c.Tx.Spend(size)
			r.Distinct(n, size, write)
		}
		return
	}
	fits := -count <= MaxRepeatedBytes
	if fits {
		c.Writer.Array(int(-count) * words)
		for i := int64(0); i < -count && fits; i++ {
			write(r.below(size))
			fits = len(c.Writer.Buf)-start <= MaxRepeatedBytes
		}
		c.Tx.Spend((len(c.Writer.Buf) - start) / 3)
		if inBlocks {
			c.SpendOn(int(-count), 0)
		}
	}
	if !fits {
		c.FailTooBig(start)
	}
}

// randomCount parses the count, and the word that may follow it. With the word, an element is two words of the reply.
func randomCount(c *Call, word string) (count int64, words int, ok bool) {
	count, ok = command.ParseRedisInt(c.Args[2])
	switch {
	case !ok:
		c.Fail(command.ErrNotInteger)
	case count == math.MinInt64:
		c.Fail(command.ErrRange.With(-math.MaxInt64, math.MaxInt64))
	case len(c.Args) == 3:
		return count, 1, true
	case word == "" || len(c.Args) > 4 || !command.IsWord(c.Args[3], word):
		c.Fail(command.ErrSyntax)
	case count < -math.MaxInt64/2 || count > math.MaxInt64/2:
		c.Fail(errRandomPairs)
	default:
		return count, 2, true
	}
	return 0, 0, false
}

// AnswerRandom answers a command that reads random elements of a value. size returns the number of elements; write
// writes element i, and its second word if the command asks for both. writeLarge does that for a value in blocks.
func AnswerRandom(
	c *Call, kind engine.Kind, word string, size func(data []byte) int,
	write func(data []byte, i int, both bool), writeLarge func(v *large.Value, i int, both bool),
) {
	count, words := int64(0), 1
	if len(c.Args) > 2 {
		var ok bool
		if count, words, ok = randomCount(c, word); !ok {
			return
		}
	}
	if v := c.Large(c.Args[1], kind); v != nil {
		if len(c.Args) > 2 {
			writeChosen(c, count, v.Len(), words, true, func(i int) { writeLarge(v, i, words == 2) })
		} else {
			r := NewChoice(c, v.Len())
			writeLarge(v, r.below(v.Len()), false)
		}
		return
	}
	v, found, ok := c.Get(c.Args[1], kind)
	switch {
	case !ok:
	case len(c.Args) > 2:
		writeChosen(c, count, size(v.Data), words, false, func(i int) { write(v.Data, i, words == 2) })
	case !found:
		c.Writer.Null()
	default:
		r := NewChoice(c, size(v.Data))
		write(v.Data, r.below(size(v.Data)), false)
	}
}
