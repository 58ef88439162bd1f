package store

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// randomStep is an operation of any verb, with any algorithm, on one of a few keys and policies: enough of them meet
// for denials, wrong types, refunds without usage and policies that come and go.
func randomStep(r *rand.Rand) engine.Op {
	n := r.IntN(24)
	key := fmt.Appendf(nil, "key-%d", n)
	switch r.IntN(70) {
	case 60, 61, 62, 63, 64, 65, 66, 67, 68, 69:
		return stepLoan(r)
	case 50, 51, 52, 53, 54:
		return stepReserve(r)
	case 55, 56, 57, 58, 59:
		if r.IntN(3) == 0 {
			return stepExtend(r)
		}
		return stepSettle(r)
	case 40, 41, 42, 43, 44, 45, 46, 47, 48, 49:
		return stepCommand(r)
	case 0, 1:
		return engine.Op{Verb: engine.Look, Key: key}
	case 2:
		if r.IntN(5) == 0 {
			return stepRestrict(r)
		}
		return engine.Op{Verb: engine.Leases, Key: key}
	case 3:
		if r.IntN(3) > 0 {
			return stepReport(r)
		}
		return engine.Op{Verb: engine.Delete, Key: key}
	case 4, 5, 6:
		return engine.Op{Verb: engine.Refund, Key: key, Tokens: 1 + r.Int64N(4)}
	case 7, 8, 9:
		return engine.Op{Verb: engine.Release, Key: key, Who: stepHolder(r)}
	case 10:
		if r.IntN(30) == 0 {
			return engine.Op{Verb: engine.Flush}
		}
		return stepPolicy(r)
	}
	return stepRequest(r, n)
}

// stepReport reports to a limiter, mostly to one that adapts.
func stepReport(r *rand.Rand) engine.Op {
	at := slices.Index(limits.Algorithms(), limits.Adaptive)
	key := fmt.Appendf(nil, "key-%d", 8+23-at)
	if r.IntN(8) == 0 {
		key = fmt.Appendf(nil, "key-%d", r.IntN(24))
	}
	return engine.Op{Verb: engine.Adapt, Key: key, Report: &engine.Report{Good: r.Int64N(3), Bad: r.Int64N(4) / 3, Every: 1 + r.Int64N(sec), Down: 1 + r.Int64N(engine.WholeRate-1), Up: 1 + r.Int64N(engine.WholeRate), Pause: r.Int64N(20) / 19 * r.Int64N(sec)}}
}

// stepRequest asks one limit or several.
func stepRequest(r *rand.Rand, n int) engine.Op {
	switch r.IntN(29) {
	case 0, 1, 2, 3, 4:
		op := engine.Op{Verb: engine.Check, Key: stepName(r), Who: stepCaller(r), Tokens: 1 + r.Int64N(2), MaxKey: []uint32{0, 0, 0, 5}[r.IntN(4)], Options: stepPeek(r)}
		if r.IntN(3) == 0 { // some policies ask for it
			op.Options |= engine.NamedFields
			op.Args = [][]byte{[]byte("n"), stepCaller(r)}
		}
		return op
	case 5, 6, 7, 8, 9:
		op := engine.Op{Verb: engine.AcquireAll, Tokens: 1 + r.Int64N(3), Options: stepPeek(r)}
		for i := range 1 + r.IntN(4) {
			p := stepPart(r, n+i*(1+r.IntN(3)))
			p.Tokens, p.Options = op.Tokens, op.Options
			op.Parts = append(op.Parts, p)
		}
		if r.IntN(3) == 0 {
			p := stepPart(r, 8+23-slices.Index(limits.Algorithms(), limits.Penalty))
			p.Tokens, p.Options = op.Tokens, op.Options
			op.Parts = append([]engine.Op{p}, op.Parts...)
		}
		stepElse(r, &op)
		return op
	}
	op := stepPart(r, n)
	op.Tokens = []int64{1, 1, 1, 2, 3, 50, 0}[r.IntN(7)]
	op.Options = stepPeek(r) | []engine.Option{0, 0, 0, engine.UpTo, engine.Force}[r.IntN(5)]
	if op.Options&engine.Force == 0 {
		op.MaxWait = []int64{0, 0, 0, sec / 4, engine.NoWait}[r.IntN(5)]
	}
	return op
}

// stepElse lets a balance give what the limits before it cannot, if it is the last.
func stepElse(r *rand.Rand, op *engine.Op) {
	last := &op.Parts[len(op.Parts)-1]
	if r.IntN(3) == 0 {
		last.Limit, last.Key = limits.Limit{Algorithm: limits.Balance}, fmt.Appendf(nil, "key-%d", 8+23-slices.Index(limits.Algorithms(), limits.Balance))
		last.Who, last.Weight = nil, 0
	}
	if last.Limit.Algorithm != limits.Balance {
		return
	}
	if last.Options |= engine.Else; !op.ElseValidly() {
		last.Options &^= engine.Else
	}
}

// stepReserve gives a request one of a few ids, some of which are keys of limits. Each id has few requests, so that
// they are often sent again.
func stepReserve(r *rand.Rand) engine.Op {
	id := stepID(r)
	r = rand.New(rand.NewPCG(uint64(id[len(id)-1]), uint64(r.IntN(3))))
	if r.IntN(6) == 0 {
		return stepPayment(r, id)
	}
	for {
		request := stepRequest(r, r.IntN(24))
		if request.Options&engine.Peek == 0 && (request.Verb != engine.Acquire || request.Limit.Algorithm.Keeps()) {
			return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: 1 + r.Int64N(30*sec), Parts: []engine.Op{request}}
		}
	}
}

func stepExtend(r *rand.Rand) engine.Op {
	op := engine.Op{Verb: engine.Extend, Key: stepID(r), Nth: 1 + r.Uint32N(2), Tokens: 1 + r.Int64N(4), Options: engine.UpTo * engine.Option(r.IntN(2))}
	if r.IntN(3) == 0 {
		op.MaxWait = 1 + r.Int64N(30*sec)
	}
	return op
}

// stepPayment adds credits, mostly to a balance.
func stepPayment(r *rand.Rand, id []byte) engine.Op {
	n := 8 + 23 - slices.Index(limits.Algorithms(), limits.Balance)
	add := engine.Op{Verb: engine.AddCredits, Key: fmt.Appendf(nil, "key-%d", n-r.IntN(8)/7), Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: 1 + r.Int64N(60)}
	if r.IntN(2) == 0 {
		add.PriorAt = epoch + r.Int64N(200*sec)
	}
	return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: limits.MaxDuration, Parts: []engine.Op{add}}
}

func stepSettle(r *rand.Rand) engine.Op {
	op := engine.Op{Verb: engine.Settle, Key: stepID(r), Tokens: r.Int64N(6)}
	switch r.IntN(6) {
	case 0, 1:
		op.Options, op.Tokens = engine.Cancel, 1
	case 2:
		for range 1 + r.IntN(3) {
			op.Parts = append(op.Parts, engine.Op{Tokens: r.Int64N(5), Options: engine.FixedCost * engine.Option(r.IntN(2))})
		}
	case 3:
		op.Options = engine.DeclaredOnly
		for range 1 + r.IntN(20) {
			op.Args = append(op.Args, fmt.Appendf(nil, "key-%d%s", r.IntN(24), []string{"", "*"}[r.IntN(2)]))
		}
	}
	return op
}

// stepLoan is an operation on the loans of a few limiters. The numbers are few, so that many operations follow the last
// one.
func stepLoan(r *rand.Rand) engine.Op {
	op := stepPart(r, []int{8, 9, 10, 12, 16, 17, 18, 20}[r.IntN(8)])
	op.Who = fmt.Appendf(nil, "holder-%d", r.IntN(3))
	op.Verb = []engine.Verb{engine.Lend, engine.Lend, engine.Lend, engine.Lend, engine.Return, engine.Void, engine.Loans}[r.IntN(7)]
	if op.Verb == engine.Lend && !op.Limit.Algorithm.CanBeLent() {
		op.Limit = bucket(20, 1, sec)
	}
	number := uint64(r.IntN(3))
	switch op.Verb {
	case engine.Lend:
		op.Tokens, op.Loan = r.Int64N(4), &engine.Loan{Number: 1 + (number+1)%3, Previous: number, Left: r.Int64N(2)}
		op.MaxWait = []int64{0, sec / 2, 3 * sec, 40 * sec}[r.IntN(4)]
		return op
	case engine.Return:
		return engine.Op{Verb: engine.Return, Key: op.Key, Who: op.Who, Keep: engine.KeepTokens(r.Int64N(2)), Loan: &engine.Loan{Number: number + 1, Previous: number, Left: r.Int64N(2)}}
	case engine.Void:
		return engine.Op{Verb: engine.Void, Key: op.Key, Who: op.Who, Options: []engine.Option{0, engine.Force}[r.IntN(2)]}
	}
	return engine.Op{Verb: engine.Loans, Key: op.Key}
}

func stepID(r *rand.Rand) []byte {
	if r.IntN(30) == 0 {
		return fmt.Appendf(nil, "key-%d", r.IntN(24))
	}
	return fmt.Appendf(nil, "id-%d", r.IntN(8))
}

// stepPart asks a limit of the algorithm that the key's number stands for; now and then of another, or with other
// parameters.
func stepPart(r *rand.Rand, n int) engine.Op {
	n %= 24
	all := limits.Algorithms()
	algorithm := all[n%8]
	if added := 8 + 23 - n; added < len(all) {
		algorithm = all[added]
	}
	if r.IntN(30) == 0 {
		algorithm = all[r.IntN(len(all))]
	}
	l := limits.Limit{Algorithm: algorithm, Capacity: 2 + int64(n), Rate: limits.Rate{Tokens: 0, Period: sec}}
	if r.IntN(8) == 0 {
		l.Capacity, l.Rate.Period = 1+r.Int64N(30), []int64{sec / 10, sec / 2, 5 * sec, 60 * sec}[r.IntN(4)]
	}
	switch {
	case algorithm.HasRate():
		if l.Rate.Tokens = 1 + r.Int64N(5); algorithm.HasLeast() {
			l.Least = 1 + r.Int64N(l.Rate.Tokens)
		}
	case algorithm == limits.FixedWindow && n%3 == 1:
		l.Span = limits.Aligned
	case algorithm == limits.FixedWindow && n%3 == 2:
		l.Span, l.Rate.Period = limits.EachMinute, 0
	}
	if algorithm == limits.FixedWindow && n%2 == 0 && r.IntN(8) > 0 {
		l.History = 3
	}
	if l.History > 0 && l.Span != limits.FromFirst && r.IntN(2) == 0 {
		l.Rollover = 40
	}
	if algorithm == limits.SlidingSegments {
		l.Segments = []uint8{2, 4, 5}[r.IntN(3)]
	}
	if algorithm.Warns() && l.Capacity%2 == 0 {
		l.Warn = uint8(1 + 4*n)
	}
	if algorithm == limits.Penalty { // of few denials
		l.Capacity, l.Ban = 1+l.Capacity%4, 1+r.Int64N(3)*sec
		l.LongestBan = l.Ban * (1 + r.Int64N(2)*9)
	}
	if algorithm == limits.Balance {
		l = limits.Limit{Algorithm: algorithm}
	}
	op := engine.Op{Key: fmt.Appendf(nil, "key-%d", n), Limit: l, Tokens: 1}
	if algorithm.NeedsWho() {
		op.Who = stepHolder(r)
	}
	if algorithm.Weighs() {
		op.Weight = r.Int64N(4)
	}
	return op
}

func stepHolder(r *rand.Rand) []byte      { return fmt.Appendf(nil, "holder-%d", r.IntN(12)) }
func stepCaller(r *rand.Rand) []byte      { return fmt.Appendf(nil, "%d", r.IntN(40)) }
func stepName(r *rand.Rand) []byte        { return fmt.Appendf(nil, "policy-%d", r.IntN(4)) }
func stepPeek(r *rand.Rand) engine.Option { return []engine.Option{0, 0, 0, 0, engine.Peek}[r.IntN(5)] }

// stepPolicy changes a policy. Its keys are partly those of single operations; two may come to the same.
func stepPolicy(r *rand.Rand) engine.Op {
	op := engine.Op{Verb: []engine.Verb{engine.SetPolicy, engine.SetPolicy, engine.SetOverride, engine.SetOverride, engine.SetOverride, engine.DropPolicy}[r.IntN(6)], Key: stepName(r)}
	if op.Verb == engine.SetOverride {
		op.Who = stepCaller(r)
	}
	if op.Verb == engine.SetPolicy && r.IntN(3) == 0 {
		op.Options = engine.Shadow
	}
	if op.Verb == engine.DropPolicy || op.Verb == engine.SetOverride && r.IntN(3) == 0 {
		return op
	}
	for range 1 + r.IntN(3) {
		p := stepPart(r, r.IntN(24))
		p.Tokens = 0
		switch r.IntN(6) {
		case 0, 1, 2:
			p.Key = []byte("key-{}")
		case 3:
			p.Key = []byte("key-{n}") // a field, or text
			op.Options |= []engine.Option{engine.NamedFields, engine.NamedFields, 0}[r.IntN(3)]
		}
		op.Parts = append(op.Parts, p)
	}
	stepElse(r, &op)
	return op
}

// stepRestrict restricts new keys that begin somehow, or ends that, with delimiters that most keys have.
func stepRestrict(r *rand.Rand) engine.Op {
	return engine.Op{Verb: engine.Restrict, Key: []byte([]string{"", "key-1", "key-2"}[r.IntN(3)]), Who: []byte([]string{"-", "", "12"}[r.IntN(3)]),
		NewKeys: []engine.NewKeys{engine.AdmitNew, engine.AdmitNew, engine.AdmitNew, engine.AdmitNew, engine.AdmitNew, engine.AdmitNew, engine.AdmitNew, engine.AdmitNew, engine.DenyNew, engine.AllowNew, engine.OverflowNew, engine.OverflowNew, engine.OverflowNew}[r.IntN(13)]}
}
