package request

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/reservation"
)

// reservationAt is the state of a reservation, perhaps an expired one, nil if there is none. The caller holds the lock.
func reservationAt(sh *keyspace.Shard, tag uint32, id []byte) reservation.State {
	p := sh.Find(tag, id)
	if !p.Found {
		return nil
	}
	limit, state := sh.StateAt(p)
	if limit.Algorithm != limits.Reservation {
		return nil
	}
	return state
}

// lockSettlement locks the shards of the reservation and of its limits, all of them if that is not enough or the caller
// holds them.
func (g *group) lockSettlement(r *Runner, op *engine.Op, locked bool) (shards []uint32) {
	g.id.shard, g.id.tag = r.keys.Locate(op.Key)
	if locked {
		return nil
	}
	g.id.shard.Lock()
	before := append(g.text[:0], reservationAt(g.id.shard, g.id.tag, op.Key)...)
	g.id.shard.Unlock()
	g.text = before
	order := append(g.order[:0], g.id.shard.Number)
	if len(before) > 0 {
		for _, _, parts := reservation.State(before).Parts(); len(parts.Rest) > 0; {
			p := reservation.NextPart(&parts)
			sh, _ := r.keys.Locate(p.Key)
			order = append(order, sh.Number)
		}
	}
	shards = r.keys.Lock(order)
	if bytes.Equal(before, reservationAt(g.id.shard, g.id.tag, op.Key)) {
		return shards
	}
	r.keys.Unlock(shards) // another request was faster
	return r.keys.Lock(r.keys.AppendAllShards(nil))
}

// amounts finds out what each limit is to be charged.
func (g *group) amounts(r *Runner, state reservation.State, op *engine.Op) (count int) {
	g.settlements = g.settlements[:0]
	for _, _, parts := state.Parts(); len(parts.Rest) > 0; {
		p := reservation.NextPart(&parts)
		amount := op.Tokens
		switch {
		case op.Options&engine.Cancel != 0:
			amount = 0
		case len(op.Parts) > 0 && count < len(op.Parts) && op.Parts[count].Options&engine.FixedCost != 0:
			amount = op.Parts[count].Tokens
		case len(op.Parts) > 0 || p.FixedCost:
			amount = p.Charged()
		}
		switch isAncestor := p.Limit.Algorithm == limits.Class && len(p.Who) == 0 && count > 0; {
		case p.Limit.Algorithm == limits.Concurrency:
			amount = 0
		case isAncestor && g.settlements[count-1].Limit.Algorithm == limits.Class:
			amount = g.settlements[count-1].amount // a tree is charged as a whole
		}
		t := &g.targets[count]
		t.shard, t.tag = r.keys.Locate(p.Key)
		g.settlements = append(g.settlements, settlement{p, amount})
		count++
	}
	return count
}

// locateReservation finds the shard of the id. It returns the number of shards to be locked.
func (g *group) locateReservation(r *Runner, parts []engine.Op) (shards int) {
	if g.reserving == nil {
		return len(parts)
	}
	g.id.shard, g.id.tag = r.keys.Locate(g.reserving.Key)
	g.id.entries, g.id.bytes = 0, 0
	g.order[len(parts)] = g.id.shard.Number
	return len(parts) + 1
}

// repeat answers a request whose id is known. It returns false for a new id.
func (g *group) repeat(now int64, parts []engine.Op, res *engine.Result) (done bool) {
	op := g.reserving
	limit := limits.Limit{Algorithm: limits.Reservation, Capacity: 1, Rate: limits.Rate{Tokens: 0, Period: op.MaxWait}}
	g.idOp = engine.Op{Key: op.Key, Limit: limit}
	g.id.place = g.id.shard.Find(g.id.tag, op.Key)
	g.id.shard.Load(&g.idCall, now, &g.idOp, &g.idResult, g.id.place)
	g.idResult.Clear()
	g.repeated = false
	c := &g.idCall
	switch {
	case c.IsNew:
		if g.admission.RulesFor(op.Key, g.id.place.Found, nil) == nil {
			return false
		}
		res.Status, res.Parts = engine.OutOfRoom, res.Parts[:0]
		return true
	case c.Prev.Algorithm != limits.Reservation:
		res.Status, res.Held, res.Wanted, res.Parts = engine.WrongType, c.Prev, limits.Reservation, res.Parts[:0]
		return true
	case reservation.State(c.State).Fingerprint() != g.fingerprint:
		res.Status, res.Parts = engine.ReservationDiffers, res.Parts[:0]
		return true
	}
	g.repeated = true
	res.Allowed, res.Binding, res.Number = true, -1, engine.Repeated
	var charged engine.PartReader
	res.Granted, res.Wait, charged = reservation.State(c.State).Parts()
	for i := range parts {
		g.report(now, i, &parts[i], &res.Parts[i])
		if p := reservation.NextPart(&charged); g.division.cost > 0 {
			res.Parts[i].Granted = p.Charged()
		}
	}
	return true
}

// report answers part i with the present state of its limit.
func (g *group) report(now int64, i int, op *engine.Op, res *engine.Result) {
	c, t := &g.calls[i], &g.targets[i]
	res.Clear()
	t.place = t.shard.Find(t.tag, op.Key)
	t.shard.Load(c, now, op, res, t.place)
	c.Report()
}

// keepReservation remembers a grant whose tokens were taken. There is room for it.
func (g *group) keepReservation() {
	g.id.shard.Keep(&g.idCall, g.id.tag, g.id.shard.Find(g.id.tag, g.idOp.Key))
}

// describe makes the state of the reservation, without its size, once every limit has decided. It returns another
// status than OK if that cannot be kept.
func (g *group) describe(now int64, parts []engine.Op, res *engine.Result) engine.Status {
	if g.reserving.Verb == engine.Extend {
		return g.describeExtension(now, parts, res)
	}
	granted := res.Granted
	if g.reserving.Parts[0].Verb == engine.Acquire {
		granted = res.Parts[0].Granted
	}
	wait := res.Wait
	if g.check.Shadow {
		wait = 0
	}
	isPayment := parts[0].Verb == engine.AddCredits // which has taken nothing that could be settled
	b := reservation.Begin(g.content[:0], &reservation.Contents{
		End: now + g.reserving.MaxWait, Fingerprint: g.fingerprint, Granted: granted, Wait: wait, Settled: isPayment})
	for i := range parts {
		c, charged := &g.calls[i], res.Parts[i].Granted
		if isPayment {
			charged = 0
		}
		if g.marks = g.marks[:0]; c.HasMark() {
			g.marks = append(g.marks, reservation.Mark{At: c.Mark(), Tokens: charged})
		}
		b = reservation.AppendPart(b, &parts[i], charged, g.marks)
	}
	g.content = b
	g.idCall.Op, g.idCall.Limit, g.idCall.Content = &g.idOp, g.idOp.Limit, b
	g.id.entries, g.id.bytes = 1, keyspace.RecordBytes(algorithm.NeedReservation(&g.idCall), len(g.idOp.Key))
	if !reservation.Finish(b) {
		return engine.TooBig
	}
	return engine.OK
}
