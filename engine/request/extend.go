package request

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/engine/reservation"
)

// extend takes more tokens of the limits of a reservation, from all of them or from none. The last extension that was
// granted is answered again from the reservation, and takes nothing; a denial is not remembered. With readOnly it takes
// no tokens, and returns false if it would have.
func (r *Runner) extend(g *group, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	state, now, shards := r.openReservation(g, now, op, res, locked, readOnly)
	defer r.keys.Unlock(shards)
	defer g.unlockShared()
	if state == nil {
		return true
	}
	contents, _ := state.Contents()
	last := contents.Extensions
	parts := g.parts[:g.amounts(&engine.Op{Options: engine.Cancel})]
	switch {
	case state.IsSettled():
		res.Status = engine.AlreadySettled
		return true
	case last.Count > 0 && op.Nth == last.Count:
		res.Grow(len(parts))
		res.Allowed, res.Binding, res.Granted, res.Wait, res.Number = true, -1, last.Granted, last.Wait, uint64(last.Total)
		g.reportReserved(now, res)
		showExtended(g, res, false)
		return true
	case op.Nth != last.Count+1:
		res.Status, res.Limit = engine.NotNext, int64(last.Count)+1
		return true
	}
	g.reserving, g.id.entries, g.id.bytes = op, 0, 0
	defer func() { g.reserving = nil }()
	if done = g.askForMore(now, op, op.Tokens, parts, res, readOnly); op.Options&engine.UpTo != 0 && res.Status == engine.OK && !res.Allowed {
		most := max(1, min(op.Tokens, mostOf(parts, res))) // if there is none, the wait is until there is one
		done = g.askForMore(now, op, most, parts, res, readOnly)
	}
	if res.Status == engine.OK {
		res.Number = uint64(last.Total + res.Granted)
		showExtended(g, res, res.Allowed)
	}
	return done
}

// showExtended answers with what the request and all its extensions took from each limit, and with the thresholds of
// the limits. With isNew, what the last extension took is still to be added.
func showExtended(g *group, res *engine.Result, isNew bool) {
	for i := range res.Parts {
		p, all := &g.settlements[i], g.settlements[i].Charged()
		if isNew && p.Limit.Algorithm != limits.Concurrency {
			all += res.Parts[i].Granted
		}
		res.Parts[i].Granted = all
	}
	policy.ShowThresholds(g.parts, res)
}

// askForMore asks the limits of the reservation for tokens, and keeps the extension if none denies. A lease begins
// anew. A limit with a FixedCost was paid by the request.
func (g *group) askForMore(now int64, op *engine.Op, tokens int64, parts []engine.Op, res *engine.Result, readOnly bool) (done bool) {
	res.Clear() // of a denial before
	res.Grow(len(parts))
	for i := range parts {
		p := &g.settlements[i]
		parts[i] = p.asPart()
		parts[i].Verb, parts[i].Tokens, parts[i].PriorAt = engine.Extend, tokens, op.PriorAt
		if isPaid(&p.Part) {
			parts[i].Tokens, parts[i].Options = 0, engine.FixedCost
		}
	}
	whole := &engine.Op{Verb: engine.AcquireAll, Tokens: tokens}
	return g.decide(now, whole, g.division.open(whole, parts, g.parts), res, readOnly)
}

// isPaid reports whether an extension asks nothing of a limit.
func isPaid(p *reservation.Part) bool {
	if p.Limit.Algorithm == limits.Concurrency {
		return p.Charged() == 0
	}
	return p.FixedCost || p.Limit.Algorithm == limits.Penalty // which counts requests, and not their parts
}

// mostOf is the number of tokens that the limits can give, after a denial: those that each of them has left, and with a
// balance after [engine.Else] its credits in addition to what is left of the included limits; 0 if that is none.
func mostOf(parts []engine.Op, res *engine.Result) int64 {
	most, included, credits := int64(limits.MaxTokens), int64(limits.MaxTokens), int64(0)
	divides := engine.HasElse(parts)
	for i := range parts {
		switch p, left := &parts[i], max(0, res.Parts[i].Remaining); {
		case p.Options&engine.FixedCost != 0 || p.Limit.Algorithm == limits.Concurrency:
		case p.IsElse():
			credits = left
		case divides && p.IsIncluded():
			included = min(included, left)
		default:
			most = min(most, left)
		}
	}
	return min(most, included+credits)
}
