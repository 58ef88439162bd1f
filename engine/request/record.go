package request

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/reservation"
)

// reservationAt is the state of the reservation at p, perhaps an expired one, nil if there is none. The caller holds the
// lock.
func reservationAt(sh *keyspace.Shard, p keyspace.Place) reservation.State {
	if !p.Found {
		return nil
	}
	limit, state := sh.StateAt(p)
	if limit.Algorithm != limits.Reservation {
		return nil
	}
	return state
}

// lockSettlement finds the reservation of an id and its limits, unless they were found together with those of other
// requests. It locks their shards, unless the caller holds them; all shards if another request was faster.
func (g *group) lockSettlement(r *Runner, id []byte, locked bool) (shards []uint32) {
	if g.isLocated {
		g.id.find(id)
		return nil
	}
	order := append(g.order[:0], g.id.locate(r, id))
	if locked {
		findLimits(g, r, id, order)
		return nil
	}
	g.id.shard.Lock()
	order = findLimits(g, r, id, order)
	if shards = r.keys.LockOthers(order); shards != nil {
		return shards
	}
	g.id.shard.Unlock()
	shards = r.keys.Lock(order)
	if g.id.find(id); bytes.Equal(g.text, foundReservation(g)) {
		return shards
	}
	r.keys.Unlock(shards)
	shards = r.keys.Lock(r.keys.AppendAllShards(nil))
	findLimits(g, r, id, g.order[:0])
	return shards
}

// findLimits finds a reservation, whose shard is locked, and where its limits are. It copies the state, because the record
// may move, and appends the numbers of the limits' shards.
func findLimits(g *group, r *Runner, id []byte, order []uint32) []uint32 {
	g.id.find(id)
	g.text, g.settlements = append(g.text[:0], foundReservation(g)...), g.settlements[:0]
	if len(g.text) == 0 {
		return order
	}
	for _, _, parts := reservation.State(g.text).Parts(); len(parts.Rest) > 0; {
		i := len(g.settlements)
		g.settlements = append(g.settlements, settlement{})
		p := &g.settlements[i]
		p.Read(&parts)
		g.parts[i].Key, g.parts[i].Limit = p.Key, p.Limit
		order = append(order, g.targets[i].locate(r, p.Key))
	}
	return order
}

// foundReservation is the state of the reservation that was found, perhaps an expired one, nil if there is none.
func foundReservation(g *group) reservation.State { return reservationAt(g.id.shard, g.id.place) }

// amounts finds out what each limit of a reservation is to be charged, after lockSettlement. It returns their number.
func (g *group) amounts(op *engine.Op) (count int) {
	for i := range g.settlements {
		p := &g.settlements[i]
		p.amount, p.atHome = op.Tokens, 0
		switch {
		case op.Options&engine.Cancel != 0:
			p.amount = 0
		case len(op.Parts) > 0 && i < len(op.Parts) && op.Parts[i].Options&engine.FixedCost != 0:
			p.amount = op.Parts[i].Tokens
		case len(op.Parts) > 0 || p.FixedCost:
			p.amount = p.Charged()
		}
		switch isAncestor := p.Limit.Algorithm == limits.Class && len(p.Who) == 0 && i > 0; {
		case p.Limit.Algorithm == limits.Concurrency, p.Limit.Algorithm == limits.Penalty:
			p.amount = 0
		case isAncestor && g.settlements[i-1].Limit.Algorithm == limits.Class:
			p.amount = g.settlements[i-1].amount // a tree is charged as a whole
		}
	}
	return len(g.settlements)
}

// repeat answers a request whose id is known. It returns false for a new id.
func (g *group) repeat(now int64, parts []engine.Op, res *engine.Result) (done bool) {
	op := g.reserving
	g.id.find(op.Key)
	c := g.loadID(now, op.Key, limits.Limit{Algorithm: limits.Reservation, Capacity: 1, Rate: limits.Rate{Period: op.MaxWait}})
	g.idResult.Clear()
	g.repeated = false
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
		p := reservation.NextPart(&charged)
		res.Parts[i].Granted = p.Charged()
	}
	return true
}

// loadID loads the state that is kept under an id, which was looked up.
func (g *group) loadID(now int64, id []byte, limit limits.Limit) *algorithm.Call {
	g.idOp.Key, g.idOp.Limit = id, limit
	g.id.shard.Load(&g.idCall, now, &g.idOp, &g.idResult, g.id.place)
	return &g.idCall
}

// report answers part i with the present state of its limit.
func (g *group) report(now int64, i int, op *engine.Op, res *engine.Result) {
	c, t := &g.calls[i], &g.targets[i]
	res.Clear()
	t.find(op.Key)
	t.shard.Load(c, now, op, res, t.place)
	c.Report()
}

// keepReservation remembers a grant whose tokens were taken. There is room for it.
func (g *group) keepReservation() {
	g.id.findMoved(g.idOp.Key)
	g.id.shard.Keep(&g.idCall, g.id.tag, g.id.place)
}

// describe makes the state of the reservation, a new one or one that is extended, without its size, once every limit has
// decided. It returns another status than OK if that cannot be kept.
func (g *group) describe(now int64, parts []engine.Op, res *engine.Result) engine.Status {
	contents := contentsOf(g, now, parts, res)
	b, isFull := reservation.Begin(g.content[:0], &contents), contents.Extensions.Total > limits.MaxTokens
	for i := range parts {
		part, charged, added := &parts[i], int64(0), res.Parts[i].Granted
		g.marks = g.marks[:0]
		if g.reserving.Verb == engine.Extend {
			p := &g.settlements[i]
			before := p.asPart()
			part, charged, g.marks = &before, p.Charged(), p.AppendMarks(g.marks)
		}
		if contents.Settled || charged > 0 && part.Limit.Algorithm == limits.Concurrency {
			added = 0
		}
		switch c := &g.calls[i]; {
		case !c.HasMark():
			g.marks = g.marks[:0]
		case len(g.marks) == 0 || added > 0:
			g.marks = reservation.AddMark(g.marks, &part.Limit, reservation.Mark{At: c.Mark(), Tokens: added})
		}
		isFull = isFull || charged+added > limits.MaxTokens || len(g.marks) > engine.MaxMarks
		b = reservation.AppendPart(b, part, charged+added, g.marks)
	}
	c := &g.idCall
	g.content, c.Limit, c.Content = b, c.Prev, b
	g.id.entries, g.id.bytes = g.id.shard.Growth(c)
	switch {
	case isFull:
		return engine.ReservationFull
	case !reservation.Finish(b):
		return engine.TooBig
	}
	return engine.OK
}

// contentsOf is what the reservation of a request that was granted has before its limits.
func contentsOf(g *group, now int64, parts []engine.Op, res *engine.Result) reservation.Contents {
	op := g.reserving
	if op.Verb == engine.Extend {
		c, _ := reservation.State(g.text).Contents()
		if op.MaxWait > 0 {
			c.End = max(c.End, now+op.MaxWait)
		}
		c.Extensions = reservation.Extensions{Count: op.Nth, Granted: res.Granted, Wait: res.Wait, Total: c.Extensions.Total + res.Granted}
		return c
	}
	c := reservation.Contents{End: now + op.MaxWait, Fingerprint: g.fingerprint, Granted: res.Granted, Wait: res.Wait,
		Settled: parts[0].Verb == engine.AddCredits} // a payment has taken nothing that could be settled
	if op.Parts[0].Verb == engine.Acquire {
		c.Granted = res.Parts[0].Granted
	}
	if g.check.Shadow {
		c.Wait = 0
	}
	return c
}
