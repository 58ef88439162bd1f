package opcodec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

const (
	sec   = int64(time.Second)
	epoch = 1_700_000_000 * sec
)

// unknownAlgorithm is the first number that no algorithm has.
var unknownAlgorithm = func() limits.Algorithm {
	a := limits.NoAlgorithm
	for a.Known() {
		a++
	}
	return a
}()

func keyOf(i int) []byte { return fmt.Appendf(nil, "key:%012d", i) }

func bucket(capacity, tokens, period int64) limits.Limit {
	return limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: tokens, Period: period}}
}

// anyLimit is a limit of any algorithm, any span and any size.
func anyLimit(r *rand.Rand) limits.Limit {
	algorithms := limits.Algorithms()
	l := limits.Limit{Algorithm: algorithms[r.IntN(len(algorithms))]}
	for l.Algorithm != limits.Balance && l.Check() != nil { // tries until the fields suit the algorithm
		l.Span, l.Anchor, l.Warn, l.History, l.Rollover, l.Segments, l.Capacity = 0, calendar.Anchor{}, 0, 0, 0, 0, 1+r.Int64N(1<<r.IntN(39))
		if r.IntN(3) == 0 {
			l.Warn = uint8(r.IntN(limits.MaxWarn + 2))
		}
		if r.IntN(3) == 0 { // mostly of no fixed window, and tried again
			l.History = uint8(r.IntN(limits.MaxHistory + 2))
			l.Rollover = uint8(r.IntN(limits.MaxRollover+2) * r.IntN(2))
		}
		if l.Algorithm == limits.SlidingSegments {
			l.Segments = uint8(r.IntN(limits.MaxSegments + 2))
		}
		if l.Algorithm == limits.Penalty {
			l.Ban = r.Int64N(limits.MaxDuration)
			l.LongestBan = l.Ban + r.Int64N(2)*r.Int64N(limits.MaxDuration)
		}
		l.Rate = limits.Rate{Period: limits.MinDuration + r.Int64N(limits.MaxDuration)}
		switch r.IntN(3) {
		case 0:
			if l.Rate.Tokens = 1 + r.Int64N(limits.MaxTokens>>r.IntN(39)); l.Algorithm.HasLeast() {
				l.Least = 1 + r.Int64N(l.Rate.Tokens)
			}
		case 1:
			if l.Span = limits.Span(r.IntN(int(limits.EachYear) + 1)); l.Span > limits.Aligned {
				l.Rate.Period = 0
			}
			if r.IntN(2) == 0 { // mostly of no unit, and tried again
				l.Anchor = calendar.Anchor{Zone: calendar.Zone(r.IntN(600)), From: calendar.From(r.IntN(1 << (r.IntN(8) + 1)))}
			}
		}
	}
	return l
}

// randomOp is an operation of any verb, of the form that the server makes.
func randomOp(r *rand.Rand, among []limits.Limit) engine.Op {
	return randomOpOf(r, engine.Verb(r.IntN(len(opLayouts))), among)
}

// randomOpOf is randomOp for a verb.
func randomOpOf(r *rand.Rand, verb engine.Verb, among []limits.Limit) engine.Op {
	text := func(most int) []byte {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	part := func() engine.Op {
		p := engine.Op{Key: text(40), Limit: among[r.IntN(len(among))]}
		if p.Limit.Algorithm.NeedsWho() {
			p.Who = append(text(100), 'x')
		}
		if p.Limit.Algorithm.Weighs() {
			p.Weight = r.Int64N(engine.MaxWeight + 1)
		}
		return p
	}
	parts := func(least int) (ops []engine.Op) {
		for range least + r.IntN(4)*r.IntN(20) {
			ops = append(ops, part())
		}
		return ops
	}
	tokens := []int64{0, 1, 1, 1, 2, 300, limits.MaxTokens}[r.IntN(7)]
	op := engine.Op{Verb: verb, Key: text(300)}
	switch op.Verb {
	case engine.Acquire:
		op = part()
		op.Tokens, op.Options = tokens, []engine.Option{0, 0, engine.Peek, engine.UpTo, engine.Force, engine.Force | engine.Peek}[r.IntN(6)]
		randomSpread(r, &op)
		if op.Options&engine.Force == 0 {
			if op.Limit.Algorithm.Keeps() {
				op.Keep = randomKeep(r)
			}
			op.MaxWait = []int64{0, 0, engine.NoWait, limits.MinDuration, limits.MaxDuration}[r.IntN(5)]
		}
	case engine.AcquireAll:
		op.Key, op.Parts, op.Tokens, op.Options = nil, parts(1), tokens, []engine.Option{0, engine.Peek}[r.IntN(2)]
		for i := range op.Parts {
			op.Parts[i].Tokens, op.Parts[i].Options = tokens, op.Options
			randomCost(r, &op.Parts[i])
		}
		randomElse(r, &op)
		op.SetMaxWait([]int64{0, 0, engine.NoWait, limits.MaxDuration}[r.IntN(4)])
		if r.IntN(4) == 0 {
			op = randomTree(r, tokens, op.Options, text)
		}
	case engine.Check:
		op.Key, op.Who, op.Tokens, op.MaxKey, op.Options = text(255), text(300), tokens, r.Uint32()>>r.IntN(32), []engine.Option{0, engine.Peek}[r.IntN(2)]
		for range r.IntN(2) * r.IntN(engine.MaxFields+1) {
			op.Options |= engine.NamedFields
			op.Args = append(op.Args, fmt.Appendf(nil, "field-%d", len(op.Args)), text(30))
		}
		op.MaxWait, op.Keep = []int64{0, 0, limits.MinDuration}[r.IntN(3)], randomKeep(r)
	case engine.Refund:
		op.Tokens = tokens
	case engine.ListLog:
		op.Tokens = 1 + r.Int64N(engine.MaxGrants)
	case engine.Release:
		op.Who = append(text(254), 'x')
	case engine.Flush:
		op.Key = nil
	case engine.SetPolicy:
		op.Key, op.Parts, op.Options = text(255), parts(1), []engine.Option{0, engine.Shadow, engine.Strict, engine.Shadow | engine.Strict}[r.IntN(4)]
		nameFields(r, &op)
		for i := range op.Parts {
			randomCost(r, &op.Parts[i])
		}
		randomElse(r, &op)
	case engine.DropPolicy:
		op.Key = text(255)
	case engine.Restrict:
		op.Who, op.NewKeys = text(20), engine.NewKeys(r.IntN(4))
	case engine.KeepOverflow:
		for op.Parts == nil || store.CheckPolicy(&op) != nil { // tries until the text is a state of the limit
			op.Key, op.Who, op.Instance = text(60), text(24), uint8(r.IntN(engine.MaxParts))
			op.Parts = []engine.Op{{Limit: anyLimit(r)}}
		}
	case engine.KeepScript:
		op.Key, op.Who, op.Options = nil, text(300), []engine.Option{0, engine.Loaded}[r.IntN(2)]
	case engine.DropScripts:
		op.Key = nil
	case engine.Adapt:
		op.Report = &engine.Report{Good: r.Int64N(engine.MaxReported), Bad: r.Int64N(3), Every: limits.MinDuration + r.Int64N(limits.MaxDuration-limits.MinDuration),
			Down: 1 + r.Int64N(engine.WholeRate-1), Up: 1 + r.Int64N(engine.WholeRate), Pause: r.Int64N(limits.MaxDuration)}
	case engine.Command, engine.Script:
		op.Key = nil
		for range 1 + r.IntN(8) {
			op.Args = append(op.Args, text(40))
		}
		op.KeyFrom = uint32(r.IntN(len(op.Args)))
		op.KeyCount = uint32(r.IntN(len(op.Args) - int(op.KeyFrom) + 1))
		op.Options = []engine.Option{0, engine.Peek}[r.IntN(2)]
		if op.Verb == engine.Script {
			op.Tokens, op.Who = max(tokens, 1), text(30)
			for i := range int(op.KeyCount) * r.IntN(2) {
				op.MarkWriteOnly(i)
			}
		}
	case engine.Expect:
		if op.Key = nil; r.IntN(8) == 0 {
			op.Args, op.Who = [][]byte{}, make([]byte, engine.PoliciesSumBytes)
			break
		}
		for range 1 + r.IntN(8) {
			op.Args, op.KeyCount = append(op.Args, text(40)), op.KeyCount+1
			for range engine.FingerprintBytes {
				op.Who = append(op.Who, byte(r.Uint32()))
			}
		}
	case engine.Reserve:
		op.MaxWait = []int64{limits.MinDuration, sec, limits.MaxDuration}[r.IntN(3)]
		for op.Parts == nil || !valid(&op) {
			op.Parts = []engine.Op{randomOpOf(r, []engine.Verb{engine.Acquire, engine.AcquireAll, engine.Check, engine.AddCredits}[r.IntN(4)], among)}
		}
	case engine.Lend, engine.Return, engine.Void, engine.Loans:
		op = randomLoan(r, op.Verb, among, op.Key, tokens, text)
	case engine.Prepare:
		op.Limit = among[r.IntN(len(among))]
		for op.Limit.Algorithm = op.Limit.Algorithm.Purse(); op.Limit.Algorithm == limits.NoAlgorithm; op.Limit.Algorithm = op.Limit.Algorithm.Purse() {
			op.Limit = anyLimit(r)
		}
		op.Options = []engine.Option{0, engine.Cancel, engine.Force}[r.IntN(3)]
	case engine.Deposit:
		op.Tokens, op.Options = tokens, []engine.Option{0, engine.Force}[r.IntN(2)]
		op.Loan = &engine.Loan{Number: 1 + r.Uint64N(1<<r.IntN(63)), Previous: r.Uint64N(1 << r.IntN(63))}
	case engine.Settle:
		op.Tokens, op.Options = tokens, []engine.Option{0, engine.Cancel}[r.IntN(2)]
		for range r.IntN(2) * r.IntN(6) {
			op.Options |= engine.DeclaredOnly
			op.Args = append(op.Args, text(40))
		}
		for range r.IntN(2) * r.IntN(engine.MaxParts+1) {
			op.Parts = append(op.Parts, []engine.Op{{}, {Options: engine.FixedCost, Tokens: tokens}}[r.IntN(2)])
		}
	case engine.Extend:
		op.Tokens, op.Nth, op.Options = max(tokens, 1), 1+r.Uint32N(engine.MaxExtensions), []engine.Option{0, engine.UpTo}[r.IntN(2)]
		op.MaxWait = []int64{0, limits.MinDuration, limits.MaxDuration}[r.IntN(3)]
		for range r.IntN(2) * r.IntN(6) {
			op.Options |= engine.DeclaredOnly
			op.Args = append(op.Args, text(40))
		}
	case engine.SetOverride:
		op.Key, op.Who, op.Parts = text(255), text(300), parts(0)
		nameFields(r, &op)
	}
	if opLayouts[op.Verb].fields&fieldPrior != 0 {
		op.PriorAt = randomPriorAt(r)
	}
	switch op.Verb {
	case engine.AcquireAll:
		for i := range op.Parts {
			op.Parts[i].PriorAt = randomPriorAt(r)
		}
	case engine.AddCredits:
		op.Limit, op.Tokens = limits.Limit{Algorithm: limits.Balance}, 1+r.Int64N(limits.MaxTokens)
	case engine.Carry:
		op.Limit, op.Tokens, op.PriorAt = bucket(10, 1, sec), 1+r.Int64N(limits.MaxTokens), 1+r.Int64N(1<<62)
	}
	return op
}

func randomPriorAt(r *rand.Rand) int64 { return []int64{0, 0, 0, 1, 1 << 62}[r.IntN(5)] }

// nameFields gives some policies named fields.
func nameFields(r *rand.Rand, op *engine.Op) {
	if r.IntN(2) > 0 {
		return
	}
	op.Options |= engine.NamedFields
	for i := range op.Parts {
		op.Parts[i].Key = fmt.Appendf(nil, "{{%d}}:{field-%d}:{}", i, r.IntN(5))
		if len(op.Parts[i].Who) > 0 {
			op.Parts[i].Who = []byte("{who}")
		}
	}
}

// randomCost gives some parts a COST, and has some of them keep something.
func randomCost(r *rand.Rand, part *engine.Op) {
	if r.IntN(3) == 0 {
		part.Options |= engine.FixedCost
		part.Tokens = []int64{0, 1, 2, limits.MaxTokens}[r.IntN(4)]
	}
	if part.Limit.Algorithm.Keeps() {
		part.Keep = randomKeep(r)
	}
	randomSpread(r, part)
}

// randomSpread has some denials of a limit spread, where it can be.
func randomSpread(r *rand.Rand, op *engine.Op) {
	if op.Limit.Algorithm.Spreads() && r.IntN(3) == 0 {
		op.Options |= engine.Spread
	}
}

// randomElse lets the last of some limits follow an ELSE, if it can.
func randomElse(r *rand.Rand, op *engine.Op) {
	last := &op.Parts[len(op.Parts)-1]
	if r.IntN(3) == 0 {
		*last = engine.Op{Key: last.Key, Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: op.Tokens, Options: op.Options & engine.Peek}
	}
	if last.Limit.Algorithm != limits.Balance {
		return
	}
	if last.Options |= engine.Else; !op.ElseValidly() {
		last.Options &^= engine.Else
	}
}

func randomKeep(r *rand.Rand) engine.Keep {
	return []engine.Keep{0, 0, 0, engine.KeepTokens(1), engine.KeepTokens(limits.MaxTokens), engine.KeepPercent(1), engine.KeepPercent(engine.MaxKeepPercent), engine.KeepNothing}[r.IntN(8)]
}

// sameOp compares operations; an empty text is the same as none.
func sameOp(a, b engine.Op) bool {
	if !slices.EqualFunc(a.Args, b.Args, bytes.Equal) || a.KeyFrom != b.KeyFrom || a.KeyCount != b.KeyCount {
		return false
	}
	if !bytes.Equal(a.Key, b.Key) || !bytes.Equal(a.Who, b.Who) || len(a.Parts) != len(b.Parts) {
		return false
	}
	for i := range a.Parts {
		if !sameOp(a.Parts[i], b.Parts[i]) {
			return false
		}
	}
	a.Key, a.Who, a.Parts, b.Key, b.Who, b.Parts = nil, nil, nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

// randomLoan is an operation on loans.
func randomLoan(r *rand.Rand, verb engine.Verb, among []limits.Limit, key []byte, tokens int64, text func(int) []byte) engine.Op {
	op := engine.Op{Verb: verb, Key: key}
	if verb == engine.Loans {
		return op
	}
	if op.Who = append(text(100), 'x'); verb == engine.Void {
		op.Options = engine.Force * engine.Option(r.IntN(2))
		return op
	}
	op.Loan = &engine.Loan{Number: 1 + r.Uint64N(1<<r.IntN(63)), Left: r.Int64N(limits.MaxTokens)}
	if r.IntN(2) == 0 {
		op.Loan.Previous = op.Loan.Number + 1
	}
	if verb == engine.Return {
		op.Keep = engine.KeepTokens(r.Int64N(3))
	}
	if verb == engine.Lend {
		op.Tokens, op.MaxWait = tokens, []int64{0, limits.MinDuration, limits.MaxDuration}[r.IntN(3)]
		for op.Limit = among[r.IntN(len(among))]; !op.Limit.Algorithm.CanBeLent(); {
			op.Limit = anyLimit(r)
		}
		if r.IntN(3) == 0 {
			op.Options = engine.Whole
		}
		if op.MaxWait == 0 && r.IntN(2) == 0 {
			op.Options, op.Loan.Waiting, op.Loan.Each = op.Options|engine.Merged, 1+r.Int64N(engine.MaxWaiting), 1+r.Int64N(limits.MaxTokens)
		}
	}
	return op
}

// randomTree asks a tree of classes.
func randomTree(r *rand.Rand, tokens int64, options engine.Option, text func(most int) []byte) engine.Op {
	op := engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Options: options}
	for range 2 + r.IntN(engine.MaxTreeLevels-1) {
		l := bucket(1+r.Int64N(1000), 1+r.Int64N(1000), sec)
		l.Algorithm = limits.Class
		op.Parts = append(op.Parts, engine.Op{Key: text(40), Limit: l, Tokens: tokens, Options: options})
	}
	op.Parts[0].Who = engine.AppendAssured(nil, 1+r.Int64N(1000), limits.Rate{Tokens: 1 + r.Int64N(1000), Period: sec})
	if r.IntN(2) == 0 {
		op.Parts = append(op.Parts, engine.Op{Key: text(40), Limit: bucket(5, 1, sec), Tokens: tokens, Options: options})
	}
	return op
}
