package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stintdb/stint/engine/limits"
)

// randomStep is an operation of any verb, with any algorithm, on one of a few keys and policies: enough of them meet
// for denials, wrong types, refunds without usage and policies that come and go.
func randomStep(r *rand.Rand) Op {
	n := r.IntN(24)
	key := fmt.Appendf(nil, "key-%d", n)
	switch r.IntN(70) {
	case 60, 61, 62, 63, 64, 65, 66, 67, 68, 69:
		return stepLoan(r)
	case 50, 51, 52, 53, 54:
		return stepReserve(r)
	case 55, 56, 57, 58, 59:
		return stepSettle(r)
	case 40, 41, 42, 43, 44, 45, 46, 47, 48, 49:
		return stepCommand(r)
	case 0, 1:
		return Op{Verb: Look, Key: key}
	case 2:
		if r.IntN(5) == 0 {
			return stepRestrict(r)
		}
		return Op{Verb: Leases, Key: key}
	case 3:
		if r.IntN(3) > 0 {
			return stepReport(r)
		}
		return Op{Verb: Delete, Key: key}
	case 4, 5, 6:
		return Op{Verb: Refund, Key: key, Tokens: 1 + r.Int64N(4)}
	case 7, 8, 9:
		return Op{Verb: Release, Key: key, Who: stepHolder(r)}
	case 10:
		if r.IntN(30) == 0 {
			return Op{Verb: Flush}
		}
		return stepPolicy(r)
	}
	return stepRequest(r, n)
}

// stepReport reports to a limiter, mostly to one that adapts.
func stepReport(r *rand.Rand) Op {
	at := slices.Index(limits.Algorithms(), limits.Adaptive)
	key := fmt.Appendf(nil, "key-%d", 8+23-at)
	if r.IntN(8) == 0 {
		key = fmt.Appendf(nil, "key-%d", r.IntN(24))
	}
	return Op{Verb: Adapt, Key: key, Report: &Report{Good: r.Int64N(3), Bad: r.Int64N(4) / 3, Every: 1 + r.Int64N(sec), Down: 1 + r.Int64N(WholeRate-1), Up: 1 + r.Int64N(WholeRate), Pause: r.Int64N(20) / 19 * r.Int64N(sec)}}
}

// stepRequest asks one limit or several.
func stepRequest(r *rand.Rand, n int) Op {
	switch r.IntN(29) {
	case 0, 1, 2, 3, 4:
		op := Op{Verb: Check, Key: stepName(r), Who: stepCaller(r), Tokens: 1 + r.Int64N(2), MaxKey: []uint32{0, 0, 0, 5}[r.IntN(4)], Options: stepPeek(r)}
		if r.IntN(3) == 0 { // some policies ask for it
			op.Options |= NamedFields
			op.Args = [][]byte{[]byte("n"), stepCaller(r)}
		}
		return op
	case 5, 6, 7, 8, 9:
		op := Op{Verb: AcquireAll, Tokens: 1 + r.Int64N(3), Options: stepPeek(r)}
		for i := range 1 + r.IntN(4) {
			p := stepPart(r, n+i*(1+r.IntN(3)))
			p.Tokens, p.Options = op.Tokens, op.Options
			op.Parts = append(op.Parts, p)
		}
		return op
	}
	op := stepPart(r, n)
	op.Tokens = []int64{1, 1, 1, 2, 3, 50, 0}[r.IntN(7)]
	op.Options = stepPeek(r) | []Option{0, 0, 0, UpTo, Force}[r.IntN(5)]
	if op.Options&Force == 0 {
		op.MaxWait = []int64{0, 0, 0, sec / 4, NoWait}[r.IntN(5)]
	}
	return op
}

// stepReserve gives a request one of a few ids, some of which are keys of limits. Each id has few requests, so that they are
// often sent again.
func stepReserve(r *rand.Rand) Op {
	id := stepID(r)
	r = rand.New(rand.NewPCG(uint64(id[len(id)-1]), uint64(r.IntN(3))))
	for {
		request := stepRequest(r, r.IntN(24))
		if request.Options&Peek == 0 && (request.Verb != Acquire || request.Limit.Algorithm.Keeps()) {
			return Op{Verb: Reserve, Key: id, MaxWait: 1 + r.Int64N(30*sec), Parts: []Op{request}}
		}
	}
}

func stepSettle(r *rand.Rand) Op {
	op := Op{Verb: Settle, Key: stepID(r), Tokens: r.Int64N(6)}
	switch r.IntN(6) {
	case 0, 1:
		op.Options, op.Tokens = Cancel, 1
	case 2:
		for range 1 + r.IntN(3) {
			op.Parts = append(op.Parts, Op{Tokens: r.Int64N(5), Options: FixedCost * Option(r.IntN(2))})
		}
	case 3:
		op.Options = DeclaredOnly
		for range 1 + r.IntN(20) {
			op.Args = append(op.Args, fmt.Appendf(nil, "key-%d%s", r.IntN(24), []string{"", "*"}[r.IntN(2)]))
		}
	}
	return op
}

// stepLoan is an operation on the loans of a few limiters. The numbers are few, so that many operations follow the last one.
func stepLoan(r *rand.Rand) Op {
	op := stepPart(r, []int{8, 9, 10, 12, 16, 17, 18, 20}[r.IntN(8)])
	op.Who = fmt.Appendf(nil, "holder-%d", r.IntN(3))
	op.Verb = []Verb{Lend, Lend, Lend, Lend, Return, Void, Loans}[r.IntN(7)]
	if op.Verb == Lend && !op.Limit.Algorithm.CanBeLent() {
		op.Limit = bucket(20, 1, sec)
	}
	number := uint64(r.IntN(3))
	switch op.Verb {
	case Lend:
		op.Tokens, op.Loan = r.Int64N(4), &Loan{Number: 1 + (number+1)%3, Previous: number, Left: r.Int64N(2)}
		op.MaxWait = []int64{0, sec / 2, 3 * sec, 40 * sec}[r.IntN(4)]
		return op
	case Return:
		return Op{Verb: Return, Key: op.Key, Who: op.Who, Loan: &Loan{Number: number + 1, Previous: number, Left: r.Int64N(2)}}
	case Void:
		return Op{Verb: Void, Key: op.Key, Who: op.Who, Options: []Option{0, Force}[r.IntN(2)]}
	}
	return Op{Verb: Loans, Key: op.Key}
}

func stepID(r *rand.Rand) []byte {
	if r.IntN(30) == 0 {
		return fmt.Appendf(nil, "key-%d", r.IntN(24))
	}
	return fmt.Appendf(nil, "id-%d", r.IntN(8))
}

// stepPart asks a limit of the algorithm that the key's number stands for; now and then of another, or with other
// parameters.
func stepPart(r *rand.Rand, n int) Op {
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
	op := Op{Key: fmt.Appendf(nil, "key-%d", n), Limit: l, Tokens: 1}
	if algorithm.NeedsWho() {
		op.Who = stepHolder(r)
	}
	if algorithm.Weighs() {
		op.Weight = r.Int64N(4)
	}
	return op
}

func stepHolder(r *rand.Rand) []byte { return fmt.Appendf(nil, "holder-%d", r.IntN(12)) }
func stepCaller(r *rand.Rand) []byte { return fmt.Appendf(nil, "%d", r.IntN(40)) }
func stepName(r *rand.Rand) []byte   { return fmt.Appendf(nil, "policy-%d", r.IntN(4)) }
func stepPeek(r *rand.Rand) Option   { return []Option{0, 0, 0, 0, Peek}[r.IntN(5)] }

// stepPolicy changes a policy. Its keys are partly those of single operations; two may come to the same.
func stepPolicy(r *rand.Rand) Op {
	op := Op{Verb: []Verb{SetPolicy, SetPolicy, SetOverride, SetOverride, SetOverride, DropPolicy}[r.IntN(6)], Key: stepName(r)}
	if op.Verb == SetOverride {
		op.Who = stepCaller(r)
	}
	if op.Verb == SetPolicy && r.IntN(3) == 0 {
		op.Options = Shadow
	}
	if op.Verb == DropPolicy || op.Verb == SetOverride && r.IntN(3) == 0 {
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
			op.Options |= []Option{NamedFields, NamedFields, 0}[r.IntN(3)]
		}
		op.Parts = append(op.Parts, p)
	}
	return op
}

// stepRestrict restricts new keys that begin somehow, or ends that, with delimiters that most keys have.
func stepRestrict(r *rand.Rand) Op {
	return Op{Verb: Restrict, Key: []byte([]string{"", "key-1", "key-2"}[r.IntN(3)]), Who: []byte([]string{"-", "", "12"}[r.IntN(3)]),
		NewKeys: []NewKeys{AdmitNew, AdmitNew, AdmitNew, AdmitNew, AdmitNew, AdmitNew, AdmitNew, AdmitNew, DenyNew, AllowNew, OverflowNew, OverflowNew, OverflowNew}[r.IntN(13)]}
}
