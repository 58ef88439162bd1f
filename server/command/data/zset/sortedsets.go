package zset

import (
	"math"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var sortedSetRows = []command.Row{{
	Name: "zadd", Syntax: "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]", Group: "sorted-set",
	Summary: "Add members to a sorted set, or change their scores.",
	Example: "hits 1 request", Cost: command.ValuePass, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true,
	KeyFlags: "RW update", Keys: command.ChangedKey, AlsoReads: increments, Shape: resp.Double,
	Data: data.Code(func(c *data.Call) { addMembers(c, false) }),
}, {
	Name: "zincrby", Syntax: "key increment member", Group: "sorted-set",
	Summary: "Add to the score of a member.",
	Example: "hits 1 request", Cost: command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Seeks: true, Keys: command.UsedKey, Shape: resp.Double,
	Data: data.Code(func(c *data.Call) { addMembers(c, true) }),
}, {
	Name: "zrem", Syntax: "key member ...", Group: "sorted-set", Summary: "Remove members.",
	Example: "hits request", Cost: command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW delete", Keys: command.ChangedKey, Data: data.Code(removeMembers),
}, {
	Name: "zcard", Syntax: "key", Group: "sorted-set", Summary: "The number of members of a sorted set.",
	Example: "hits", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true,
	KeyFlags: "RO", Keys: command.ReadKey,
	Data: data.Code(data.ReadsLarge(engine.SortedSetKind, countAllMembers, data.CountLarge)),
}, {
	Name: "zcount", Syntax: "key min max", Group: "sorted-set",
	Summary: "The number of members whose scores are in a range.",
	Example: "hits (1 +inf", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true, Keys: command.ReadKey, Data: data.Code(placesOf(placesOfScores).count),
}, {
	Name: "zscore", Syntax: "key member", Group: "sorted-set", Summary: "The score of a member.",
	Example: "hits request", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true, Keys: command.ReadKey, Shape: resp.Double, Data: data.Code(data.ReadsLarge(engine.SortedSetKind, scoreOfMember, func(c *data.Call, s *large.Value) { scoreInLarge(c, s, c.Args[2]) })),
}, {
	Name: "zrange", Syntax: "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]", Group: "sorted-set",
	Summary: "The members in a range of places, of scores, or of bytes where all scores are equal.",
	Example: "hits 0 -1", Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Visits: visits(byPlace), Shape: resp.Scored,
	Data: data.Code(func(c *data.Call) { listMembers(c, rangeOptions{}, true) }),
}, {
	Name: "zrevrange", Syntax: "key start stop [WITHSCORES]", Group: "sorted-set",
	Summary: "The members in a range of places, the highest score first.",
	Example: "hits 0 -1", Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Visits: visits(byPlace), Shape: resp.Scored,
	Data: data.Code(func(c *data.Call) { listMembers(c, rangeOptions{reverse: true}, false) }),
}, {
	Name: "zrangebyscore", Syntax: "key min max [WITHSCORES] [LIMIT offset count]", Group: "sorted-set",
	Summary: "The members in a range of scores.",
	Example: "hits (1 +inf", Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Visits: visits(byScore), Shape: resp.Scored,
	Data: data.Code(func(c *data.Call) { listMembers(c, rangeOptions{by: byScore}, false) }),
}, {
	Name: "zremrangebyscore", Syntax: "key min max", Group: "sorted-set",
	Summary: "Remove the members in a range of scores.",
	Example: "hits -inf (1", Cost: command.ValueCopy, Flags: command.Write,
	KeyFlags: "RW delete", Keys: command.ChangedKey, Data: data.Code(placesOf(placesOfScores).remove),
}, {
	Name: "zremrangebyrank", Syntax: "key start stop", Group: "sorted-set",
	Summary: "Remove the members in a range of places.",
	Example: "hits 0 -101", Cost: command.ValueCopy, Flags: command.Write,
	KeyFlags: "RW delete", Keys: command.ChangedKey, Data: data.Code(placesOf(placesOfIndexes).remove),
}}

// addOptions are the options of ZADD.
type addOptions struct{ nx, xx, gt, lt, changes, increment bool }

// readAddOptions parses the options before the first score, and returns the pairs of scores and members after them.
func readAddOptions(c *data.Call, o addOptions) (_ addOptions, pairs [][]byte, ok bool) {
	at := 2
	for ; at < len(c.Args) && o.take(c.Args[at]); at++ {
	}
	pairs = c.Args[at:]
	switch {
	case len(pairs)%2 != 0 || len(pairs) == 0:
		c.Fail(command.ErrSyntax)
	case o.nx && o.xx:
		c.Fail(errAddConditions)
	case o.nx && (o.gt || o.lt), o.gt && o.lt:
		c.Fail(errAddComparisons)
	case o.increment && len(pairs) > 2:
		c.Fail(errAddIncrement)
	default:
		return o, pairs, true
	}
	return o, nil, false
}

// increments reports whether a ZADD has the option INCR.
func increments(args [][]byte) bool {
	var o addOptions
	for at := 2; at < len(args) && o.take(args[at]); at++ {
	}
	return o.increment
}

func (o *addOptions) take(word []byte) bool {
	switch {
	case command.IsWord(word, "NX"):
		o.nx = true
	case command.IsWord(word, "XX"):
		o.xx = true
	case command.IsWord(word, "GT"):
		o.gt = true
	case command.IsWord(word, "LT"):
		o.lt = true
	case command.IsWord(word, "CH"):
		o.changes = true
	case command.IsWord(word, "INCR"):
		o.increment = true
	default:
		return false
	}
	return true
}

// allow reports whether the options permit a member to get a score. before is the score of a member that exists.
func (o *addOptions) allow(exists bool, before, score float64) bool {
	if !exists {
		return !o.xx
	}
	return !o.nx && !(o.gt && score <= before) && !(o.lt && score >= before)
}

func addMembers(c *data.Call, increment bool) {
	o, pairs, ok := readAddOptions(c, addOptions{increment: increment})
	if !ok {
		return
	}
	bytes := 0
	for i := 0; i < len(pairs); i += 2 {
		if _, ok := data.ParseScore(pairs[i]); !ok {
			c.Fail(data.ErrNotFloat)
			return
		}
		bytes += len(pairs[i+1]) + datatype.ScoredBytes
	}
	e, ok := editMembers(c, pairs[1:], 2, bytes)
	if !ok {
		return
	}
	added, updated, refused, last := 0, 0, false, 0.0
	for i := 0; i < len(pairs); i += 2 {
		score, _ := data.ParseScore(pairs[i])
		m := e.find(pairs[i+1])
		if o.increment && m.exists && !o.nx {
			score += m.score
		}
		if math.IsNaN(score) { // then there is only one pair
			c.Fail(errScoreNaN)
			return
		}
		last = score
		switch {
		case !o.allow(m.exists, m.score, score):
			refused = true
		case !m.exists:
			e.put(m, score)
			added++
		case score != m.score:
			e.put(m, score)
			updated++
		}
	}
	switch {
	case !e.keep():
	case o.increment && refused:
		c.Writer.Null()
	case o.increment:
		writeScore(c, last)
	case o.changes:
		c.Writer.Int(int64(added + updated))
	default:
		c.Writer.Int(int64(added))
	}
}

// writeScore writes a score.
func writeScore(c *data.Call, f float64) {
	var text [32]byte
	c.Writer.Bulk(appendScore(text[:0], f))
}

func removeMembers(c *data.Call) {
	e, ok := editMembers(c, c.Args[2:], 1, 0)
	if !ok {
		return
	}
	n := int64(0)
	for _, member := range c.Args[2:] {
		if m := e.find(member); m.exists {
			e.remove(m)
			n++
		}
	}
	e.keep()
	c.Writer.Int(n)
}

// readSortedSet returns a key's sorted set, which is empty if the key does not exist. It writes the error if the key
// holds something else.
func readSortedSet(c *data.Call, key []byte) (s datatype.SortedSet, ok bool) {
	v, _, ok := c.Get(key, engine.SortedSetKind)
	return v.Data, ok
}

func countAllMembers(c *data.Call, s datatype.SortedSet) { c.Writer.Int(int64(s.Len())) }

func scoreOfMember(c *data.Call, s datatype.SortedSet) {
	if i, found := s.Find(c.Args[2]); found {
		writeScore(c, s.Score(i))
	} else {
		c.Writer.Null()
	}
}

// placesOf returns the places from (included) to (not included) of the members that a command names. It writes the
// error.
type placesOf func(c *data.Call) (from, to int, ok bool)

// count is the function of a command that counts the members.
func (p placesOf) count(c *data.Call) {
	if from, to, ok := p(c); ok {
		c.Writer.Int(int64(to - from))
	}
}

// remove is the function of a command that removes the members.
func (p placesOf) remove(c *data.Call) {
	if from, to, ok := p(c); ok {
		c.Writer.Int(int64(to - from))
		dropPlaces(c, c.Args[1], from, to)
	}
}

func placesOfScores(c *data.Call) (from, to int, ok bool) {
	r, ok := readScoreRange(c, c.Args[2], c.Args[3])
	if !ok {
		return 0, 0, false
	}
	if s := largeSet(c); s != nil {
		return r.placesIn(s)
	}
	s, ok := readSortedSet(c, c.Args[1])
	from, to = r.places(s)
	return from, to, ok
}

func placesOfIndexes(c *data.Call) (from, to int, ok bool) {
	start, stop, ok := c.Integers(c.Args[2], c.Args[3])
	if !ok {
		return 0, 0, false
	}
	if s := largeSet(c); s != nil {
		from, to = data.Places(start, stop, s.Len())
		return from, to, true
	}
	s, ok := readSortedSet(c, c.Args[1])
	from, to = data.Places(start, stop, s.Len())
	return from, to, ok
}

// dropPlaces removes the members at the places from to to-1 from a key's sorted set.
func dropPlaces(c *data.Call, key []byte, from, to int) {
	if from == to {
		return
	}
	if s := c.Large(key, engine.SortedSetKind); s != nil && to-from <= max(fewRemoved, s.Len()/8) {
		removeLarge(c, key, from, to)
		return
	}
	v := c.Tx.Edit(key, engine.SortedSetKind)
	if v.Data = datatype.SortedSet(v.Data).Remove(from, to); len(v.Data) == 0 {
		c.Tx.Delete(key)
	}
}

// appendScore writes a number with 17 significant digits, as Redis 7.0 writes scores.
func appendScore(b []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case f == math.Trunc(f) && math.Abs(f) < 1e15 && f != 0:
		return strconv.AppendInt(b, int64(f), 10)
	}
	return strconv.AppendFloat(b, f, 'g', 17, 64)
}
