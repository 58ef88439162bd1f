package request

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/reservation"
)

// settle charges the limits of a reservation other amounts than those it reserved: less goes back, and more is taken as
// with Force. Leases end. It does so once; asked again for the same amounts, it answers with the present state of the
// limits. With readOnly it changes nothing, and returns false if it would have.
func (r *Runner) settle(g *group, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	state, now, shards := r.openReservation(g, now, op, res, locked, readOnly)
	defer r.keys.Unlock(shards)
	defer g.unlockShared()
	if state == nil {
		return true
	}
	count := g.amounts(op)
	if len(op.Parts) > 0 && len(op.Parts) != count {
		res.Status, res.Limit = engine.WrongAmounts, int64(count)
		return true
	}
	res.Grow(count)
	divideUse(g, now, op, state.IsSettled())
	if state.IsSettled() {
		return g.repeatSettlement(now, res)
	}
	if readOnly {
		return false
	}
	g.carryOut(now, state, op, res)
	return true
}

// openReservation locks a reservation and its limits. It returns the copy of the state in g.text, or nil and the error in
// res; the time at which the operation is decided; and the shards that it has locked.
func (r *Runner) openReservation(g *group, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (state reservation.State, at int64, shards []uint32) {
	res.Clear()
	g.admission, g.full, g.division = &r.keys.Admission, false, division{}
	shards = g.lockSettlement(r, op.Key, locked)
	now = r.keys.Instant(shards, now, !readOnly)
	c := g.loadID(now, op.Key, limits.Limit{})
	switch {
	case c.IsNew:
		res.Status = engine.NotFound
		return nil, now, shards
	case c.Prev.Algorithm != limits.Reservation:
		res.Status, res.Held, res.Wanted = engine.WrongType, c.Prev, limits.Reservation
		return nil, now, shards
	}
	state = reservation.State(g.text)
	if key, permitted := state.Permits(op); !permitted {
		res.Status, res.Reply = engine.NotPermitted, append(res.Reply[:0], key...)
		return nil, now, shards
	}
	return state, now, shards
}

// repeatSettlement answers for a reservation that is settled.
func (g *group) repeatSettlement(now int64, res *engine.Result) (done bool) {
	for i := range g.settlements {
		if p := &g.settlements[i]; p.Charged() != p.amount {
			res.Status, res.Parts = engine.SettledOtherwise, res.Parts[:0]
			return true
		}
	}
	g.showSettlement(now, res)
	return true
}

// carryOut takes the missing tokens, from all limits or from none, and then gives back the tokens that were not used.
// state is a copy of the reservation, which the settlements refer to.
func (g *group) carryOut(now int64, state reservation.State, op *engine.Op, res *engine.Result) {
	if !takeMissing(g, now, op.PriorAt, res) {
		g.failSettlement(res)
		return
	}
	for i := range g.settlements {
		p := &g.settlements[i]
		g.giveBack(now, i, op.MaxWait)
		p.SetCharged(p.amount)
	}
	state.MarkSettled()
	g.id.findMoved(g.idOp.Key)
	g.id.shard.PreserveAt(g.id.place)
	copy(foundReservation(g), state)
	g.id.shard.NoteAt(g.id.place)
	g.showSettlement(now, res)
}

// takeMissing takes what was used beyond the reserved tokens. Mostly that is nothing.
func takeMissing(g *group, now, priorAt int64, res *engine.Result) (done bool) {
	missing := false
	for i := range g.settlements {
		missing = missing || g.settlements[i].amount > g.settlements[i].Charged()
	}
	if !missing {
		return true
	}
	parts := g.parts[:len(g.settlements)]
	for i := range parts {
		p := &g.settlements[i]
		parts[i] = engine.Op{Key: p.Key, Who: p.Who, Limit: p.Limit, Options: engine.FixedCost, PriorAt: priorAt}
		if g.loadPresent(now, i, &g.idResult); p.amount > p.Charged() {
			parts[i].Tokens, parts[i].Options = p.amount-p.Charged(), engine.FixedCost|engine.Force
			if p.isInPurse() { // which has no debt
				parts[i].Tokens = min(parts[i].Tokens, purseTokens(&g.calls[i]))
				p.atHome = p.Charged() + parts[i].Tokens - p.amount
			}
		}
	}
	return g.ask(now, parts, res) < 0 && g.keep(now, parts)
}

// isInPurse reports whether the tokens of a limit were taken from a purse.
func (p *settlement) isInPurse() bool { return p.Limit.Algorithm.IsPurse() }

// purseTokens returns how many tokens a key has in its purse, 0 if it has no purse. The key is loaded.
func purseTokens(c *algorithm.Call) int64 {
	if c.IsNew || !c.Prev.Algorithm.IsPurse() {
		return 0
	}
	return purse.Load(c.State).Tokens
}

// failSettlement answers that a limit could not be charged: by its error, or because there is no room for its key.
func (g *group) failSettlement(res *engine.Result) {
	res.Status = engine.OutOfRoom
	for i := range res.Parts {
		if p := &res.Parts[i]; p.Status != engine.OK {
			res.Status, res.Held, res.Wanted = p.Status, p.Held, p.Wanted
			break
		}
	}
	res.Parts = res.Parts[:0]
}

// loadPresent loads part i under the limit that its key is held to now. It stays under that of the reservation if there
// is no such key, or if another algorithm's is to be charged, which is then refused.
func (g *group) loadPresent(now int64, i int, res *engine.Result) {
	p, t, c := &g.settlements[i], &g.targets[i], &g.calls[i]
	t.find(p.Key)
	g.loadPart(now, &g.parts[i], i, res)
	if !c.IsNew && (c.Prev.Algorithm == p.Limit.Algorithm || p.amount <= p.Charged()) {
		g.parts[i].Limit, c.Limit = c.Prev, c.Prev
	}
}

// giveBack returns what part i was charged beyond its amount, the tokens that were taken last first, or ends its lease.
// In a History its tokens are no longer reserved. A purse takes tokens back as long as maxAge says.
func (g *group) giveBack(now int64, i int, maxAge int64) {
	p := &g.settlements[i]
	back := max(0, p.Charged()-p.amount)
	if back == 0 && p.Limit.History == 0 {
		return
	}
	g.marks = p.AppendMarks(g.marks[:0])
	for _, m := range slices.Backward(g.marks) {
		n := min(back, m.Tokens)
		if back -= n; n > 0 || p.Limit.History > 0 {
			g.giveBackTo(now, i, m, n, maxAge)
		}
	}
}

// giveBackTo returns some of the tokens of part i that have one mark. Tokens that do not go back to a purse can go back
// to its home, which counts them as spent, but for those of a window: they may be from an earlier one.
func (g *group) giveBackTo(now int64, i int, from reservation.Mark, back, maxAge int64) {
	p, t, c := &g.settlements[i], &g.targets[i], &g.calls[i]
	g.parts[i] = engine.Op{Verb: engine.Refund, Key: p.Key, Who: p.Who, Tokens: back, MaxWait: maxAge}
	t.find(p.Key)
	place := t.place
	g.idResult.Clear()
	if p.isInPurse() && p.Limit.Algorithm != limits.PurseFixedWindow {
		defer func() { p.atHome += back - g.idResult.Granted }()
	}
	t.shard.Load(c, now, &g.parts[i], &g.idResult, place)
	if c.IsNew && p.Limit.Algorithm == limits.Concurrency {
		g.lockShared()
		g.admission.Shared.ReleaseLocked(c, false)
	}
	if c.IsNew || c.Prev.Algorithm != p.Limit.Algorithm {
		return // it has forgotten all of it, or belongs to another algorithm
	}
	if c.Limit = c.Prev; c.Limit.History > 0 {
		c.Reserved = from.Tokens
	}
	alg := &algorithm.Table[c.Prev.Algorithm]
	t.shard.PreserveAt(place)
	switch {
	case alg.Release != nil:
		alg.Release(c)
	case alg.Unreserve != nil:
		alg.Unreserve(c, from.At)
	default:
		alg.Refund(c)
	}
	if alg.Bytes != 0 {
		t.shard.Keep(c, t.tag, place)
	}
	t.shard.NoteOrDrop(c, place)
}

// showSettlement answers with what each limit is charged, and its present state. Debt shows below zero.
func (g *group) showSettlement(now int64, res *engine.Result) {
	res.Allowed, res.Binding = true, -1
	for i := range g.settlements {
		p, one := &g.settlements[i], &res.Parts[i]
		g.parts[i] = engine.Op{}
		g.parts[i].Verb, g.parts[i].Key, g.parts[i].Limit = engine.Look, p.Key, p.Limit
		g.loadPresent(now, i, one)
		g.calls[i].Report()
		one.Granted, one.Lent = p.amount, p.atHome
		res.Work += one.Work
	}
}

// Reserved returns the limits of a reservation as operations on their keys, none if there is no such reservation.
func (r *Runner) Reserved(id []byte) []engine.Op {
	sh, tag := r.keys.Locate(id)
	sh.Lock()
	state := bytes.Clone(reservationAt(sh, sh.Find(tag, id)))
	sh.Unlock()
	if state == nil {
		return nil
	}
	return reservation.State(state).View().Parts
}

// reservationKeys calls visit for a copy of the key of each limit of a reservation, if there is one of that id.
func (r *Runner) reservationKeys(id []byte, visit func(key []byte)) {
	g := groups.Get().(*group)
	defer groups.Put(g)
	sh, tag := r.keys.Locate(id)
	sh.Lock()
	g.text = append(g.text[:0], reservationAt(sh, sh.Find(tag, id))...)
	sh.Unlock()
	if len(g.text) == 0 {
		return
	}
	for _, _, parts := reservation.State(g.text).Parts(); len(parts.Rest) > 0; {
		p := reservation.NextPart(&parts)
		visit(p.Key)
	}
}
