package zset

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var placeRows = []command.Row{{
	Name: "zrank", Syntax: "key member", Group: "sorted-set", Summary: "The place of a member, the lowest score first.",
	Example: "hits request", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true, Keys: command.ReadKey,
	Data: data.Code(data.ReadsLarge(engine.SortedSetKind, placeIn(false), placeInLarge(false))),
}, {
	Name: "zrevrank", Syntax: "key member", Group: "sorted-set", Summary: "The place of a member, the highest score first.",
	Example: "hits request", Cost: command.ValueCopy, Flags: command.ReadOnly | command.Fast, Seeks: true, Keys: command.ReadKey,
	Data: data.Code(data.ReadsLarge(engine.SortedSetKind, placeIn(true), placeInLarge(true))),
}, {
	Name: "zmscore", Syntax: "key member ...", Group: "sorted-set", Summary: "The scores of several members.",
	Example: "hits request other", Cost: command.ValuePass, Flags: command.ReadOnly | command.Fast, Seeks: true, Keys: command.ReadKey, Shape: resp.Doubles,
	Data: data.Code(data.ReadsLarge(engine.SortedSetKind, scoresOfMembers, scoresInLarge)),
}, {
	Name: "zrevrangebyscore", Syntax: "key max min [WITHSCORES] [LIMIT offset count]", Group: "sorted-set",
	Summary: "The members in a range of scores, the highest score first.",
	Example: "hits +inf (1", Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, Visits: visits(byScore), Shape: resp.Scored,
	Data: data.Code(func(c *data.Call) { listMembers(c, rangeOptions{by: byScore, reverse: true}, false) }),
}, {
	Name: "zrangebylex", Syntax: "key min max [LIMIT offset count]", Group: "sorted-set",
	Summary: "The members in a range of bytes, where all scores are equal.",
	Example: "hits [a (b", Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey,
	Data: data.Code(func(c *data.Call) { listMembers(c, rangeOptions{by: byMember}, false) }),
}, {
	Name: "zrevrangebylex", Syntax: "key max min [LIMIT offset count]", Group: "sorted-set",
	Summary: "The members in a range of bytes, where all scores are equal, the last first.",
	Example: "hits (b [a", Cost: command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey,
	Data: data.Code(func(c *data.Call) { listMembers(c, rangeOptions{by: byMember, reverse: true}, false) }),
}, {
	Name: "zlexcount", Syntax: "key min max", Group: "sorted-set",
	Summary: "The number of members in a range of bytes, where all scores are equal.",
	Example: "hits [a (b", Cost: command.ValuePass, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: data.Code(placesOf(placesOfBytes).count),
}, {
	Name: "zremrangebylex", Syntax: "key min max", Group: "sorted-set",
	Summary: "Remove the members in a range of bytes, where all scores are equal.",
	Example: "hits [a (b", Cost: command.ValuePass, Flags: command.Write,
	KeyFlags: "RW delete", Keys: command.ChangedKey, Data: data.Code(placesOf(placesOfBytes).remove),
}}

func placeIn(reverse bool) func(c *data.Call, s datatype.SortedSet) {
	return func(c *data.Call, s datatype.SortedSet) {
		at, found := s.Find(c.Args[2])
		writePlace(c, at, s.Len(), found, reverse)
	}
}

func placeInLarge(reverse bool) func(c *data.Call, s *large.Value) {
	return func(c *data.Call, s *large.Value) {
		at, _, found := s.Place(c.Args[2])
		writePlace(c, at, s.Len(), found, reverse)
	}
}

// writePlace replies with the place of a member of n, or with null if it was not found.
func writePlace(c *data.Call, at, n int, found, reverse bool) {
	switch {
	case !found:
		c.Writer.Null()
	case reverse:
		c.Writer.Int(int64(n - 1 - at))
	default:
		c.Writer.Int(int64(at))
	}
}

func scoresOfMembers(c *data.Call, s datatype.SortedSet) {
	members := c.Args[2:]
	find := func(member []byte) (score float64, found bool) {
		at, found := s.Find(member)
		if found {
			score = s.Score(at)
		}
		return score, found
	}
	if len(members) >= manyChanges {
		find = datatype.ScoresOf(s, members, 1).Score
		c.Tx.Spend(s.Len()*command.IndexWork + len(members)*command.SortWork)
	} else {
		c.Tx.Spend(len(members) * command.CopyWork(s) / 4)
	}
	c.Writer.Array(len(members))
	for _, member := range members {
		if score, found := find(member); found {
			writeScore(c, score)
		} else {
			c.Writer.Null()
		}
	}
}

func placesOfBytes(c *data.Call) (from, to int, ok bool) {
	within, ok := readLexRange(c, c.Args[2], c.Args[3])
	if !ok {
		return 0, 0, false
	}
	if s := largeSet(c); s != nil {
		if from, to, ok = within.placesIn(s); ok {
			return from, to, true
		}
	}
	s, ok := readSortedSet(c, c.Args[1])
	if !ok {
		return 0, 0, false
	}
	c.Tx.Spend(s.Len() * command.WalkWork)
	from, n := (&rangeOptions{count: -1}).window(s, within)
	return from, from + n, true
}
