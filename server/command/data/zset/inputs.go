package zset

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// combineInput is a set to combine with others.
type combineInput struct {
	scored datatype.SortedSet
	plain  datatype.Set // in place of scored; every member has the score 1
	weight float64
}

func (in *combineInput) size() int { return len(in.scored) + len(in.plain) }

func (in *combineInput) len() int { return in.scored.Len() + in.plain.Len() }

func (in *combineInput) at(i int) (member []byte, score float64) {
	if len(in.plain) > 0 {
		return in.plain.At(i), 1
	}
	return in.scored.Member(i), in.scored.Score(i)
}

// combineOptions are the options of ZUNION and similar commands.
type combineOptions struct {
	mayWeigh bool // WEIGHTS and AGGREGATE are allowed
	mayShow  bool // WITHSCORES is allowed

	aggregate func(a, b float64) float64
	scores    bool
}

// notNaN returns 0 in place of NaN.
func notNaN(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// readInputs reads the keys, which follow their number, and returns the words after them.
func readInputs(c *data.Call, args [][]byte) (inputs []combineInput, words [][]byte, ok bool) {
	n, ok := c.Integer(args[0])
	switch {
	case !ok:
		return nil, nil, false
	case n < 1:
		c.Fail(errUnionKeys.With(c.Name()))
		return nil, nil, false
	case n > int64(len(args)-1):
		c.Fail(command.ErrSyntax)
		return nil, nil, false
	}
	inputs = make([]combineInput, n)
	for i := range inputs {
		if inputs[i], ok = readInput(c, args[1+i]); !ok {
			return nil, nil, false
		}
	}
	return inputs, args[1+n:], true
}

// readInput returns the set or sorted set of a key.
func readInput(c *data.Call, key []byte) (in combineInput, ok bool) {
	in.weight = 1
	switch v, found := c.Tx.Get(key); {
	case !found:
	case v.Kind == engine.SortedSetKind:
		in.scored = v.Data
	case v.Kind == engine.SetKind:
		in.plain = v.Data
	default:
		c.Fail(command.ErrDataType)
		return in, false
	}
	return in, true
}

func readCombineOptions(c *data.Call, o *combineOptions, inputs []combineInput, words [][]byte) (ok bool) {
	o.aggregate = aggregates[0].of
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case o.mayWeigh && command.IsWord(word, "WEIGHTS") && len(words) >= len(inputs):
			for i := range inputs {
				if inputs[i].weight, ok = data.ParseScore(words[i]); !ok {
					c.Fail(errWeight)
					return false
				}
			}
			words = words[len(inputs):]
		case o.mayWeigh && command.IsWord(word, "AGGREGATE") && len(words) > 0 && isAggregate(words[0], &o.aggregate):
			words = words[1:]
		case o.mayShow && command.IsWord(word, "WITHSCORES"):
			o.scores = true
		default:
			c.Fail(command.ErrSyntax)
			return false
		}
	}
	return true
}

var aggregates = []struct {
	name string
	of   func(a, b float64) float64
}{
	{"SUM", func(a, b float64) float64 { return a + b }},
	{"MIN", smaller},
	{"MAX", func(a, b float64) float64 { return -smaller(-a, -b) }},
}

// smaller returns the smaller number. Of two equal numbers it returns the first, because zeros may differ in their
// sign.
func smaller(a, b float64) float64 {
	if b < a {
		return b
	}
	return a
}

func isAggregate(word []byte, aggregate *func(a, b float64) float64) bool {
	for _, a := range aggregates {
		if command.IsWord(word, a.name) {
			*aggregate = a.of
			return true
		}
	}
	return false
}
