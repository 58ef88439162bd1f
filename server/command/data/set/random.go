package set

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var randomRows = []command.Row{{
	Name: "srandmember", Syntax: "key [count]", Group: "set",
	Summary: "Random members of a set: at most count different ones, or with a negative count as many, some perhaps more than once.",
	Example: "seen",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Seeks: true, Keys: command.ReadKey, Answers: data.ChosenElements, Data: data.Code(randomMembers),
}, {
	Name: "spop", Syntax: "key [count]", Group: "set", Summary: "Remove random members of a set.",
	Example: "seen",
	Cost:    command.ValuePass, Flags: command.Write | command.Fast, Seeks: true,
	KeyFlags: "RW access delete", Keys: command.UsedKey, Shape: resp.Set, Answers: data.CountedElements,
	Data: data.Code(popRandomMembers),
}, {
	Name: "sscan", Syntax: "key cursor [MATCH pattern] [COUNT count]", Group: "set", Summary: "Iterate over the members of a set." + data.ScanNote,
	Example: "seen 0",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: data.Code(scanSet),
}}

func randomMembers(c *data.Call) {
	data.AnswerRandom(c, engine.SetKind, "", func(data []byte) int { return datatype.Set(data).Len() }, func(data []byte, i int, _ bool) {
		c.Writer.Bulk(datatype.Set(data).At(i))
	}, func(s *large.Value, i int, _ bool) { c.Writer.Bulk(s.At(i).Key) })
}

func popRandomMembers(c *data.Call) {
	count, counts := int64(1), len(c.Args) == 3
	if len(c.Args) > 3 {
		c.Fail(command.ErrSyntax)
		return
	}
	if counts {
		var ok bool
		if count, ok = c.Positive(c.Args[2]); !ok {
			return
		}
	}
	if s := c.Large(c.Args[1], engine.SetKind); s != nil && count <= mostPopped {
		popLarge(c, s, count, counts)
		return
	}
	v, found, ok := c.Get(c.Args[1], engine.SetKind)
	if !ok {
		return
	}
	if !found && !counts {
		c.Writer.Null()
		return
	}
	s := datatype.Set(v.Data)
	n := int(min(count, int64(s.Len())))
	r := data.NewChoice(c, s.Len())
	var members [][]byte
	c.Tx.Spend(s.Len()/2 + n*command.WriteWork)
	if counts {
		c.Writer.Array(n)
	}
	r.Distinct(n, s.Len(), func(i int) {
		c.Writer.Bulk(s.At(i))
		members = append(members, bytes.Clone(s.At(i)))
	})
	if n > 0 {
		dropMembers(c, c.Args[1], v, members)
	}
}

func scanSet(c *data.Call) {
	if value, f, ok := data.BeginScan(c, engine.SetKind); ok {
		s := datatype.Set(value)
		data.ScanElements(c, f, s.Len(), 1, s.At, nil)
	}
}
