package hash

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var randomRows = []command.Row{{
	Name: "hrandfield", Syntax: "key [count [WITHVALUES]]", Group: "hash",
	Summary: "Random fields of a hash: at most count different ones, or with a negative count as many, some perhaps more than once.",
	Example: "bucket",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Seeks: true, Keys: command.ReadKey, ShapeOf: shapeOfFields, Answers: data.ChosenElements, Data: data.Code(randomFields),
}, {
	Name: "hscan", Syntax: "key cursor [MATCH pattern] [COUNT count]", Group: "hash", Summary: "Iterate over the fields of a hash." + data.ScanNote,
	Example: "bucket 0",
	Cost:    command.ValuePass, Flags: command.ReadOnly, Keys: command.ReadKey, ReadsAll: true, Data: data.Code(scanHash),
}}

func randomFields(c *data.Call) {
	data.AnswerRandom(c, engine.HashKind, "WITHVALUES", func(data []byte) int { return datatype.Hash(data).Len() }, func(data []byte, i int, both bool) {
		c.Writer.Bulk(datatype.Hash(data).Field(i))
		if both {
			c.Writer.Bulk(datatype.Hash(data).Value(i))
		}
	}, func(h *large.Value, i int, both bool) {
		x := h.At(i)
		if c.Writer.Bulk(x.Key); both {
			c.Writer.Bulk(x.Value)
		}
	})
}

// shapeOfFields is the shape of HRANDFIELD's reply: pairs with WITHVALUES.
func shapeOfFields(args [][]byte) resp.Shape {
	if len(args) > 3 {
		return resp.Pairs
	}
	return resp.Same
}

func scanHash(c *data.Call) {
	if value, f, ok := data.BeginScan(c, engine.HashKind); ok {
		h := datatype.Hash(value)
		data.ScanElements(c, f, h.Len(), 2, h.Field, func(i int) { c.Writer.Bulk(h.Value(i)) })
	}
}
