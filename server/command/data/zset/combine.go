package zset

import (
	"cmp"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

const (
	weightsSyntax = " [WEIGHTS weight ...] [AGGREGATE function]"
	sumNote       = " with the sum of their scores. AGGREGATE names another function: MIN or MAX."
)

var (
	combinedKeys = command.Keys{First: 1, Number: 2, Access: command.Changes, Others: command.Reads}
)

var combineScoredRows = []command.Row{{
	Name: "zunion", Syntax: "numkeys key ..." + weightsSyntax + " [WITHSCORES]", Group: "sorted-set",
	Summary: "The members of several sorted sets, or of sets, whose members score 1," + sumNote,
	Example: "2 hits other", Cost: command.ValueSort, Flags: command.ReadOnly | command.MovableKeys, Keys: command.NumberedKeys, Shape: resp.Scored, Data: data.Code(combinesScored(uniteScored)),
}, {
	Name: "zinter", Syntax: "numkeys key ..." + weightsSyntax + " [WITHSCORES]", Group: "sorted-set",
	Summary: "The members that are in all of several sorted sets, or sets," + sumNote,
	Example: "2 hits other", Cost: command.ValueSort, Flags: command.ReadOnly | command.MovableKeys, Keys: command.NumberedKeys, Shape: resp.Scored, Data: data.Code(combinesScored(intersectScored)),
}, {
	Name: "zdiff", Syntax: "numkeys key ... [WITHSCORES]", Group: "sorted-set",
	Summary: "The members of the first sorted set that are in none of the others.",
	Example: "2 hits other", Cost: command.ValueSort, Flags: command.ReadOnly | command.MovableKeys, Keys: command.NumberedKeys, Shape: resp.Scored, Data: data.Code(combinesScored(nil)),
}, {
	Name: "zunionstore", Syntax: "destination numkeys key ..." + weightsSyntax, Group: "sorted-set",
	Summary: "Store what ZUNION replies, replacing data at the destination.",
	Example: "other 1 hits", Cost: command.ValueSort, Flags: command.Write | command.DenyOOM | command.MovableKeys,
	KeyFlags: "OW update, RO access", Keys: combinedKeys, Data: data.Code(storesScored(uniteScored)),
}, {
	Name: "zinterstore", Syntax: "destination numkeys key ..." + weightsSyntax, Group: "sorted-set",
	Summary: "Store what ZINTER replies, replacing data at the destination.",
	Example: "other 1 hits", Cost: command.ValueSort, Flags: command.Write | command.DenyOOM | command.MovableKeys,
	KeyFlags: "OW update, RO access", Keys: combinedKeys, Data: data.Code(storesScored(intersectScored)),
}, {
	Name: "zdiffstore", Syntax: "destination numkeys key ...", Group: "sorted-set",
	Summary: "Store what ZDIFF replies, replacing data at the destination.",
	Example: "other 1 hits", Cost: command.ValueSort, Flags: command.Write | command.DenyOOM | command.MovableKeys,
	KeyFlags: "OW update, RO access", Keys: combinedKeys, Data: data.Code(storesScored(nil)),
}, {
	Name: "zintercard", Syntax: "numkeys key ... [LIMIT limit]", Group: "sorted-set",
	Summary: "The number of members that are in all of several sorted sets, or sets, at most the limit.",
	Example: "2 hits other", Cost: command.ValueSort, Flags: command.ReadOnly | command.MovableKeys, Keys: command.NumberedKeys, Data: data.Code(countScoredIntersection),
}}

// combination combines several inputs into a set with scores. nil stands for the difference, which has no weights.
type combination func(inputs []combineInput, aggregate func(a, b float64) float64) datatype.SortedSet

func combinesScored(combine combination) func(*data.Call) {
	return func(c *data.Call) {
		if set, o, ok := combineScored(c, combine, c.Args[1:], combineOptions{mayShow: true}); ok {
			writeMembers(c, set, 0, 1, set.Len(), o.scores)
		}
	}
}

func storesScored(combine combination) func(*data.Call) {
	return func(c *data.Call) {
		destination, words := c.Args[1], c.Args[2:]
		if c.ByClient() { // then the number of keys comes before the destination
			destination, words = c.Args[2], append([][]byte{c.Args[1]}, c.Args[3:]...)
		}
		set, _, ok := combineScored(c, combine, words, combineOptions{})
		if ok && data.StoreValue(c, destination, engine.SortedSetKind, set) {
			c.Writer.Int(int64(set.Len()))
		}
	}
}

// combineScored parses the inputs and options of a command, and combines the inputs.
func combineScored(c *data.Call, combine combination, words [][]byte, o combineOptions) (set datatype.SortedSet, _ combineOptions, ok bool) {
	inputs, words, ok := readInputs(c, words)
	if !ok {
		return nil, o, false
	}
	o.mayWeigh = combine != nil
	if ok = readCombineOptions(c, &o, inputs, words); !ok || !mayCombineInputs(c, inputs) {
		return nil, o, false
	}
	if combine == nil {
		return subtractScored(inputs), o, true
	}
	// Sums of floats depend on the order: Redis begins with the smallest set.
	slices.SortStableFunc(inputs, func(a, b combineInput) int { return cmp.Compare(a.len(), b.len()) })
	return combine(inputs, o.aggregate), o, true
}

// mayCombineInputs reports whether the inputs are small enough to combine, and writes the error if not.
func mayCombineInputs(c *data.Call, inputs []combineInput) bool {
	size, members := 0, 0
	for i := range inputs {
		size += inputs[i].size()
		members += inputs[i].len()
	}
	c.Tx.Spend(members * (command.IndexWork + command.SortWork))
	return c.Fits(engine.SortedSetKind, size) && c.MayCombine(members)
}

func uniteScored(inputs []combineInput, aggregate func(a, b float64) float64) datatype.SortedSet {
	members := 0
	for i := range inputs {
		members += inputs[i].len()
	}
	union := datatype.NewScores(members)
	for _, in := range inputs {
		for i := range in.len() {
			member, score := in.at(i)
			score = notNaN(in.weight * score)
			if before, found := union.Score(member); found {
				score = notNaN(aggregate(before, score))
			}
			union.Put(member, score)
		}
	}
	return union.Pack()
}

func intersectScored(inputs []combineInput, aggregate func(a, b float64) float64) datatype.SortedSet {
	common := map[string]float64{}
	for i := range inputs[0].len() {
		member, score := inputs[0].at(i)
		common[string(member)] = notNaN(inputs[0].weight * score)
	}
	for _, in := range inputs[1:] {
		left := make(map[string]float64, len(common))
		for i := range in.len() {
			member, score := in.at(i)
			if before, found := common[string(member)]; found {
				left[string(member)] = notNaN(aggregate(before, in.weight*score))
			}
		}
		common = left
	}
	return packScores(inputs[0], func(member []byte, _ float64) (score float64, kept bool) {
		score, kept = common[string(member)]
		return score, kept
	})
}

func subtractScored(inputs []combineInput) datatype.SortedSet {
	gone := map[string]bool{}
	for _, in := range inputs[1:] {
		for i := range in.len() {
			member, _ := in.at(i)
			gone[string(member)] = true
		}
	}
	return packScores(inputs[0], func(member []byte, score float64) (float64, bool) { return score, !gone[string(member)] })
}

// packScores returns the members of an input that keep selects, with the scores that it returns.
func packScores(in combineInput, keep func(member []byte, score float64) (float64, bool)) datatype.SortedSet {
	kept := datatype.NewScores(in.len())
	for i := range in.len() {
		member, score := in.at(i)
		if score, ok := keep(member, score); ok {
			kept.Put(member, score)
		}
	}
	return kept.Pack()
}

func countScoredIntersection(c *data.Call) {
	inputs, words, ok := readInputs(c, c.Args[1:])
	if !ok {
		return
	}
	limit, ok := data.ReadLimit(c, words)
	if ok && mayCombineInputs(c, inputs) {
		slices.SortStableFunc(inputs, func(a, b combineInput) int { return cmp.Compare(a.len(), b.len()) })
		data.WriteUpTo(c, intersectScored(inputs, aggregates[0].of).Len(), limit)
	}
}
