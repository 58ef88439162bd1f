package zset

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var randomRows = []command.Row{{
	Name: "zrandmember", Syntax: "key [count [WITHSCORES]]", Group: "sorted-set",
	Summary: "Random members of a sorted set: at most count different ones, or with a negative count as many, some perhaps more than once.",
	Example: "hits",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Seeks: true, Keys: command.ReadKey, Shape: resp.Scored, Answers: data.ChosenElements, Data: data.Code(randomScored),
}, {
	Name: "zscan", Syntax: "key cursor [MATCH pattern] [COUNT count]", Group: "sorted-set", Summary: "Iterate over the members of a sorted set." + data.ScanNote,
	Example: "hits 0",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: data.Code(scanSortedSet),
}}

func randomScored(c *data.Call) {
	data.AnswerRandom(c, engine.SortedSetKind, "WITHSCORES", func(data []byte) int { return datatype.SortedSet(data).Len() }, func(data []byte, i int, both bool) {
		c.Writer.Bulk(datatype.SortedSet(data).Member(i))
		if both {
			writeScore(c, datatype.SortedSet(data).Score(i))
		}
	}, func(s *large.Value, i int, both bool) {
		member, score := s.Scored(i)
		if c.Writer.Bulk(member); both {
			writeScore(c, score)
		}
	})
}

func scanSortedSet(c *data.Call) {
	if value, f, ok := data.BeginScan(c, engine.SortedSetKind); ok {
		s := datatype.SortedSet(value)
		data.ScanElements(c, f, s.Len(), 2, s.Member, func(i int) { writeScannedScore(c, s.Score(i)) })
	}
}

// writeScannedScore writes a score as Redis writes it from a small sorted set, which keeps whole numbers as such.
func writeScannedScore(c *data.Call, f float64) {
	if f == math.Trunc(f) && math.Abs(f) <= math.MaxInt64/2 {
		c.BulkInt(int64(f))
		return
	}
	writeScore(c, f)
}
