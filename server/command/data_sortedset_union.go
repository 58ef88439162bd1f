package command

import (
	"cmp"
	"math"
	"slices"

	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
)

// unionInput is a set of a union.
type unionInput struct {
	scored datatype.SortedSet
	plain  datatype.Set // in place of the above: every member has the score 1
	weight float64
}

func (in *unionInput) size() int { return len(in.scored) + len(in.plain) }

func (in *unionInput) len() int { return in.scored.Len() + in.plain.Len() }

func (in *unionInput) at(i int) (member []byte, score float64) {
	if len(in.plain) > 0 {
		return in.plain.At(i), 1
	}
	return in.scored.Member(i), in.scored.Score(i)
}

// unionOptions are the options of ZUNION.
type unionOptions struct {
	aggregate func(a, b float64) float64
	scores    bool
}

func uniteSortedSets(c *DataCall) {
	inputs, words, ok := c.unionInputs()
	if !ok {
		return
	}
	o, ok := c.unionOptions(inputs, words)
	if !ok {
		return
	}
	size, members := 0, 0
	for i := range inputs {
		size += inputs[i].size()
		members += inputs[i].len()
	}
	if !c.fits(size) || !c.mayCombine(members) {
		return
	}
	c.Tx.Spend(members * (indexWork + sortWork))
	// Sums of numbers with fractions depend on the order: Redis begins with the smallest set.
	slices.SortStableFunc(inputs, func(a, b unionInput) int { return cmp.Compare(a.len(), b.len()) })
	union := datatype.NewScores(members)
	for _, in := range inputs {
		for i := range in.len() {
			member, score := in.at(i)
			score = notNaN(in.weight * score)
			if before, found := union.Score(member); found {
				score = notNaN(o.aggregate(before, score))
			}
			union.Put(member, score)
		}
	}
	all := union.Pack()
	c.members(all, 0, 1, all.Len(), o.scores)
}

// notNaN is a number, 0 in place of one that is none.
func notNaN(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// unionInputs reads the keys, and returns the words behind them.
func (c *DataCall) unionInputs() (inputs []unionInput, words [][]byte, ok bool) {
	n, ok := c.integer(c.Args[1])
	switch {
	case !ok:
		return nil, nil, false
	case n < 1:
		c.fail(errUnionKeys.With("zunion"))
		return nil, nil, false
	case n > int64(len(c.Args)-2):
		c.fail(ErrSyntax)
		return nil, nil, false
	}
	inputs = make([]unionInput, n)
	for i := range inputs {
		if inputs[i], ok = c.unionInput(c.Args[2+i]); !ok {
			return nil, nil, false
		}
	}
	return inputs, c.Args[2+n:], true
}

// unionInput returns the set of a key, or the sorted set.
func (c *DataCall) unionInput(key []byte) (in unionInput, ok bool) {
	in.weight = 1
	switch v, found := c.Tx.Get(key); {
	case !found:
	case v.Kind == limits.SortedSetValue:
		in.scored = v.Data
	case v.Kind == limits.SetValue:
		in.plain = v.Data
	default:
		c.fail(ErrDataType)
		return in, false
	}
	return in, true
}

func (c *DataCall) unionOptions(inputs []unionInput, words [][]byte) (o unionOptions, ok bool) {
	o.aggregate = aggregates[0].of
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case isWord(word, "WEIGHTS") && len(words) >= len(inputs):
			for i := range inputs {
				if inputs[i].weight, ok = parseScore(words[i]); !ok {
					c.fail(errWeight)
					return o, false
				}
			}
			words = words[len(inputs):]
		case isWord(word, "AGGREGATE") && len(words) > 0 && isAggregate(words[0], &o.aggregate):
			words = words[1:]
		case isWord(word, "WITHSCORES"):
			o.scores = true
		default:
			c.fail(ErrSyntax)
			return o, false
		}
	}
	return o, true
}

var aggregates = []struct {
	name string
	of   func(a, b float64) float64
}{
	{"SUM", func(a, b float64) float64 { return a + b }},
	{"MIN", smaller},
	{"MAX", func(a, b float64) float64 { return -smaller(-a, -b) }},
}

// smaller is the first of two equal numbers: zeros may differ by their sign.
func smaller(a, b float64) float64 {
	if b < a {
		return b
	}
	return a
}

func isAggregate(word []byte, aggregate *func(a, b float64) float64) bool {
	for _, a := range aggregates {
		if isWord(word, a.name) {
			*aggregate = a.of
			return true
		}
	}
	return false
}
