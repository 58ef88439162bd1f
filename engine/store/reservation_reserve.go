package store

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/engine/reservation"
)

// reserve carries out the request of a [engine.Reserve] once: a reservation of the same id and parameters is answered as before,
// and takes nothing. With readOnly it takes no tokens, and returns false if it would have.
func (s *Store) reserve(g *acquireAllCall, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	g.reserving, g.fingerprint, g.check.Shadow = op, g.fingerprintOf(op), false
	defer func() { g.reserving = nil }()
	request := &op.Parts[0]
	switch request.Verb {
	case engine.Check:
		if s.repeatCheck(g, now, op, res, locked) {
			return true
		}
		return s.check(g, now, request, res, locked, readOnly)
	case engine.AcquireAll:
		return s.acquireAll(g, now, request, request.Parts, res, locked, readOnly)
	}
	g.parts[0] = *request
	done = s.acquireAll(g, now, request, g.parts[:1], res, locked, readOnly)
	if res.Status == engine.OK && len(res.Parts) > 0 {
		part := &res.Parts[0]
		res.Limit, res.Remaining, res.Reset = part.Limit, part.Remaining, part.Reset
		if res.Allowed && !g.repeated {
			res.Granted = part.Granted
		}
	}
	return done
}

// repeatCheck answers a check whose id is known from the limits that it asked then: the policy may have changed since, or be
// gone. It returns false for any other request.
func (s *Store) repeatCheck(g *acquireAllCall, now int64, op *engine.Op, res *engine.Result, locked bool) (done bool) {
	if !locked && !s.reserves(op.Key) {
		return false
	}
	shards := g.lockSettlement(s, op, locked)
	if !locked {
		defer s.Unlock(shards)
	}
	state := reservationAt(g.id.shard, g.id.tag, op.Key)
	if state == nil || state.End() <= now || state.Fingerprint() != g.fingerprint {
		return false
	}
	res.Clear()
	count := g.amounts(s, state, &engine.Op{Options: engine.Cancel})
	res.Grow(count)
	g.repeated = true
	res.Allowed, res.Binding, res.Number = true, -1, engine.Repeated
	res.Granted, res.Wait, _ = state.Parts()
	for i := range count {
		p := &g.settlements[i]
		g.parts[i] = engine.Op{Key: p.Key, Who: p.Who, Limit: p.Limit}
		g.report(now, i, &g.parts[i], &res.Parts[i])
	}
	policy.ShowThresholds(g.parts, res)
	return true
}

// reserves reports whether a key is that of a reservation, perhaps an expired one.
func (s *Store) reserves(key []byte) bool {
	sh, tag := s.Locate(key)
	sh.Lock()
	defer sh.Unlock()
	return reservationAt(sh, tag, key) != nil
}

// locateReservation finds the shard of the id. It returns the number of shards to be locked.
func (g *acquireAllCall) locateReservation(s *Store, parts []engine.Op) (shards int) {
	if g.reserving == nil {
		return len(parts)
	}
	g.id.shard, g.id.tag = s.Locate(g.reserving.Key)
	g.id.entries, g.id.bytes = 0, 0
	g.order[len(parts)] = g.id.shard.Number
	return len(parts) + 1
}

// repeat answers a request whose id is known. It returns false for a new id.
func (g *acquireAllCall) repeat(now int64, parts []engine.Op, res *engine.Result) (done bool) {
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
	res.Granted, res.Wait, _ = reservation.State(c.State).Parts()
	for i := range parts {
		g.report(now, i, &parts[i], &res.Parts[i])
	}
	return true
}

// report answers part i with the present state of its limit.
func (g *acquireAllCall) report(now int64, i int, op *engine.Op, res *engine.Result) {
	c, t := &g.calls[i], &g.targets[i]
	res.Clear()
	t.place = t.shard.Find(t.tag, op.Key)
	t.shard.Load(c, now, op, res, t.place)
	c.Report()
}

// keepReservation remembers a grant whose tokens were taken. There is room for it.
func (g *acquireAllCall) keepReservation() {
	g.id.shard.Keep(&g.idCall, g.id.tag, g.id.shard.Find(g.id.tag, g.idOp.Key))
}

// describe makes the state of the reservation, without its size, once every limit has decided. It returns false if it would
// be too large.
func (g *acquireAllCall) describe(now int64, parts []engine.Op, res *engine.Result) bool {
	granted := res.Granted
	if g.reserving.Parts[0].Verb == engine.Acquire {
		granted = res.Parts[0].Granted
	}
	wait := res.Wait
	if g.check.Shadow {
		wait = 0
	}
	b := append(g.text[:0], make([]byte, reservation.Head-layout.VariableHead)...)
	binary.LittleEndian.PutUint64(b, uint64(now+g.reserving.MaxWait))
	binary.LittleEndian.PutUint64(b[8:], g.fingerprint)
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(granted)), uint64(wait))
	for i := range parts {
		b = reservation.AppendPart(b, &parts[i], res.Parts[i].Granted, g.calls[i].Mark(), g.calls[i].HasMark())
	}
	binary.LittleEndian.PutUint32(b[21-layout.VariableHead:], uint32(len(b)-(reservation.Head-layout.VariableHead)))
	g.text = b
	g.idCall.Op, g.idCall.Limit, g.idCall.Content = &g.idOp, g.idOp.Limit, b
	g.id.entries, g.id.bytes = 1, keyspace.RecordBytes(algorithm.NeedReservation(&g.idCall), len(g.idOp.Key))
	return len(b) <= reservation.MaxBytes
}

// fingerprintOf is that of a request's parameters as its caller stated them, a policy by its name.
func (g *acquireAllCall) fingerprintOf(reserve *engine.Op) uint64 {
	g.text = reservation.AppendRequest(g.text[:0], &reserve.Parts[0])
	g.text = binary.AppendUvarint(g.text, uint64(reserve.MaxWait))
	sum := sha256.Sum256(g.text)
	return binary.LittleEndian.Uint64(sum[:])
}
