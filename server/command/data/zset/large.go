package zset

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// The commands on sorted sets in blocks.

// largeSet returns the command's sorted set if it is in blocks.
func largeSet(c *data.Call) *large.Value { return c.Large(c.Args[1], engine.SortedSetKind) }

func (r scoreRange) placesIn(s *large.Value) (from, to int, ok bool) {
	if from, to = s.Below(r.min.score, r.min.open), s.Below(r.max.score, !r.max.open); from > to {
		from, to = 0, 0
	}
	return from, to, true
}

// listLarge replies with the members at the places from from to to-1, after an offset and at most a count of them.
func listLarge(c *data.Call, s *large.Value, from, to int, o rangeOptions) {
	if o.by != byPlace {
		switch n := int64(to - from); {
		case o.offset < 0 || o.offset >= n:
			from, to = 0, 0
		case o.reverse:
			to -= int(o.offset)
		default:
			from += int(o.offset)
		}
		if n := int64(to - from); o.count >= 0 && o.count < n {
			if o.reverse {
				from = to - int(o.count)
			} else {
				to = from + int(o.count)
			}
		}
	} else if n := s.Len(); o.reverse {
		from, to = n-to, n-from
	}
	writeLarge(c, s, from, to, o.reverse, o.scores)
}

// writeLarge replies with the members at some places of a set in blocks.
func writeLarge(c *data.Call, s *large.Value, from, to int, reverse, scores bool) {
	words := 1
	if scores {
		words = 2
	}
	c.SpendOn(0, to-from)
	c.Tx.Spend((to - from) * words * command.WriteWork)
	c.Writer.Array(words * (to - from))
	s.EachScored(from, to, reverse, func(member []byte, score float64) bool {
		if c.Writer.Bulk(member); scores {
			writeScore(c, score)
		}
		return true
	})
}

// fewRemoved is the number of members that are removed from any set in blocks one by one. If they are more than an
// eighth of the set, it is faster to write the others anew.
const fewRemoved = 64

// removeLarge removes the members at some places of a key's set in blocks.
func removeLarge(c *data.Call, key []byte, from, to int) {
	if from == to {
		return
	}
	s, _ := c.EditLarge(key, engine.SortedSetKind, 0)
	c.SpendOn(2*(to-from), 0)
	s.DeleteRange(from, to)
	c.DropEmpty(key, s)
}

func scoresInLarge(c *data.Call, s *large.Value) {
	c.SpendOn(len(c.Args)-2, 0)
	c.Writer.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		scoreInLarge(c, s, member)
	}
}

func scoreInLarge(c *data.Call, s *large.Value, member []byte) {
	if score, found := s.Score(member); found {
		writeScore(c, score)
	} else {
		c.Writer.Null()
	}
}
