package algorithm

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// A fair share is one token bucket for several members. A member that wants no more than its share is granted it; the
// others divide the rest by weight. Two rules decide:
//
//   - The tokens taken from the pool and those asked for fit the capacity. That is the meter of a token bucket, exactly.
//   - A member that has taken something may have at most shareFactor times its weight times the tokens that then remain
//     in the pool.
//
// The refill gives back to the active members by weight: generalised processor sharing (Parekh and Gallager, 1993), by
// a virtual time that moves on by the refill divided by the weights of the active members. A bound that depends on the
// room left is the dynamic threshold of switches with a shared buffer (Choudhury and Hahne, 1998): a pool under load
// always has some room for newcomers.
//
// decide only reads, so it finds the members that have got everything back, and write removes them.

// ShareFactor is the most that a member of weight 1 may have taken, in units of the tokens left in the pool.
const ShareFactor = 8

// scanShares brings the pool up to the time of the call, once for each call, and changes nothing.
func scanShares(c *Call) *shareScan {
	if !c.Scanned {
		c.shares, c.Scanned = shareScan{}, true
		if !c.IsNew {
			scanPool(c, &c.shares)
		}
	}
	return &c.shares
}

func scanPool(c *Call, s *shareScan) {
	p, from, to := layout.SharePool(c.State), c.Prev.Rate, c.Limit.Rate
	m, now := p.Meter(), max(c.Now, p.SharedTo())
	left := m.Taken(now, from)
	refilled := m.Taken(p.SharedTo(), from).Minus(left)
	refilled = uint128.Min(refilled, uint128.Product(4*limits.MaxTokens, uint64(from.Period)))
	units, restTicks := refilled.Shift(layout.UnitBits).Plus(uint128.Int{Lo: p.RestTicks()}).Divide(uint64(from.Period))
	s.taken, s.restTicks = m.Taken(c.Now, from), restTicks
	if from != to {
		s.taken = layout.CarryOver(s.taken, from, to)
		s.restTicks, _ = uint128.Product(restTicks, uint64(to.Period)).Divide(uint64(from.Period))
	}
	s.room, s.nameRoom = p.Room(), p.NameRoom()
	s.virtual, s.weights, s.active = p.Virtual(), p.Weights(), p.Active()
	units += uint64(p.RestUnits())
	drain(c, s, p, units)
	c.Result.Work += s.drained
	if len(c.Op.Who) == 0 {
		return
	}
	n, steps, found := p.Find(c.Op.Who)
	c.Result.Work += steps
	if e := p.Entry(n); found && layout.IsEarlier(s.virtual, p.TagAt(e.Place())) {
		s.member, s.found, s.weight = n, true, e.Weight()
		s.units = (p.TagAt(e.Place()) - s.virtual) * uint64(s.weight)
	}
}

// drain shares units among the active members.
func drain(c *Call, s *shareScan, p layout.SharePool, units uint64) {
	order := layout.DrainOrder{Pool: p, Places: c.places[:0]}
	for place := 0; s.active > 0; place = int(order.Places[0]) {
		tag := p.TagAt(place)
		high, need := bits.Mul64(tag-s.virtual, uint64(s.weights))
		if high != 0 || need > units {
			s.virtual += units / uint64(s.weights)
			s.restUnits = uint32(units % uint64(s.weights))
			break
		}
		units -= need
		s.virtual, s.weights = tag, s.weights-p.Entry(p.EntryAt(place)).Weight()
		s.drained, s.active = s.drained+1, s.active-1
		if s.active == 0 {
			break
		}
		if len(order.Places) == 0 {
			order.Push(0)
		}
		order.Next()
	}
	c.places = order.Places
}

// weightAsked is the weight that the call gives its member. A settlement and an extension leave the weight as it is.
func weightAsked(c *Call, s *shareScan) uint64 {
	if (c.Op.Options&engine.Force != 0 || c.Op.Verb == engine.Extend) && c.Op.Weight == 0 && s.found {
		return uint64(s.weight)
	}
	return uint64(max(1, c.Op.Weight))
}

func decideShare(c *Call) (changed bool) {
	s, res, period := scanShares(c), c.Result, uint64(c.Limit.Rate.Period)
	if !s.found && s.active >= engine.MaxMembers {
		res.Status = engine.TooManyMembers
		return false
	}
	weight, isForced := weightAsked(c, s), c.Op.Options&engine.Force != 0
	asked, room := uint128.Product(uint64(c.Op.Tokens), period), uint128.Product(uint64(c.Limit.Capacity), period)
	after, free := s.taken.Plus(asked), freeUnits(c, s.taken)
	units := uint64(c.Op.Tokens) << layout.UnitBits
	if after.Exceeds(room) || s.found && isTooMuch(s.units, units, free, weight) {
		most := uint128.Min(room.Plus(uint128.Product(limits.MaxTokens, period)), uint128.Product(uint64(limits.MaxAhead), uint64(c.Limit.Rate.Tokens)))
		switch {
		case !isForced:
			res.Wait = shareWait(c, s, after, room, weight, free)
			reportShare(c, s.taken, free, s.units, weight)
			return false
		case after.Exceeds(most):
			res.Status = engine.DebtTooBig
			return false
		}
	}
	res.Allowed, res.Granted = true, c.Op.Tokens
	reportShare(c, after, free-min(units, free), parts(s.units+units, weight)*weight, weight)
	if isForced && after.Exceeds(room) {
		res.Remaining = -after.Minus(room).DivideUp(period)
	}
	return c.Op.Tokens > 0
}

// freeUnits is the units left in the pool once ticks are taken, rounded down.
func freeUnits(c *Call, taken uint128.Int) uint64 {
	period := uint64(c.Limit.Rate.Period)
	free, _ := uint128.Product(uint64(c.Limit.Capacity), period).Minus(taken).Shift(layout.UnitBits).Divide(period)
	return free
}

// parts divides units by a weight and rounds up: a tag is ahead of the virtual time by so much.
func parts(units, weight uint64) uint64 {
	if weight == 1 {
		return units
	}
	return (units + weight - 1) / weight
}

// isTooMuch reports whether a member with units has too large a part of the pool once it takes more, where free units
// are left before.
func isTooMuch(units, more, free, weight uint64) bool {
	return more > free || uint128.Product(units+more, 1).Exceeds(uint128.Product(free-more, ShareFactor*weight))
}

// shareWait is the time until the same request is granted, if nobody else asks. It takes the present members as active
// until then, so it may be too long by less than an eighth.
func shareWait(c *Call, s *shareScan, after, room uint128.Int, weight, free uint64) int64 {
	if c.Op.Tokens > c.Limit.Capacity {
		return engine.NeverWait
	}
	tokens, period := uint64(c.Limit.Rate.Tokens), uint64(c.Limit.Rate.Period)
	wait := after.Minus(room).DivideUp(tokens)
	units := uint64(c.Op.Tokens) << layout.UnitBits
	debt := s.taken.Minus(room).Shift(layout.UnitBits).DivideUp(period) // beyond the capacity, which may have been lowered
	lacking := uint128.Product(s.units+units+uint64(s.weight), 1).Plus(uint128.Product(units+uint64(debt), ShareFactor*weight)).Minus(uint128.Product(free, ShareFactor*weight))
	if !s.found || lacking.IsZero() {
		return wait
	}
	// Each unit of the refill brings weight*shareFactor, and the member's part of it.
	weights, own := uint64(s.weights), uint64(s.weight)
	refill := lacking.Times(weights).DivideUp(ShareFactor*weight*weights + own)
	drained := uint128.Product(s.units/own+1, weights).DivideUp(1)
	byShare := uint128.Product(uint64(min(refill, drained)), period).DivideUp(tokens << layout.UnitBits)
	return max(wait, min(byShare, s.taken.DivideUp(tokens)))
}

// reportShare fills in the tokens left for a member that has taken units, where ticks are taken of the pool and units
// are free.
func reportShare(c *Call, taken uint128.Int, free, units, weight uint64) {
	res := c.Result
	res.Limit, res.Remaining = c.Limit.Capacity, int64(free>>layout.UnitBits)
	if units > 0 {
		most := uint128.Product(free, ShareFactor*weight).Minus(uint128.Int{Lo: units})
		left, _ := most.Divide((1 + ShareFactor*weight) << layout.UnitBits)
		res.Remaining = int64(left)
	}
	res.Reset = taken.DivideUp(uint64(c.Limit.Rate.Tokens))
}

func lookShare(c *Call) {
	s := scanShares(c)
	reportShare(c, s.taken, freeUnits(c, s.taken), s.units, weightAsked(c, s))
	if debt := s.taken.Minus(uint128.Product(uint64(c.Limit.Capacity), uint64(c.Limit.Rate.Period))); c.Op.Verb == engine.Look && !debt.IsZero() {
		c.Result.Remaining = -debt.DivideUp(uint64(c.Limit.Rate.Period))
	}
}

// roomAfter is the room of the pool once the call's member is active.
func (s *shareScan) roomAfter(c *Call) (room, nameRoom int) {
	room, nameRoom = max(s.room, layout.PoolMinRoom), max(s.nameRoom, layout.PoolMinName)
	if !s.found {
		nameRoom = max(nameRoom, engine.Align(len(c.Op.Who)))
		if s.active == room {
			room *= 2
		}
	}
	return room, nameRoom
}

func needShares(c *Call) int { return layout.ShareBytes(scanShares(c).roomAfter(c)) }

// fullShares is the room for as many members as take one token each.
func fullShares(l *limits.Limit) int64 {
	return int64(layout.ShareBytes(int(min(l.Capacity, engine.MaxMembers)), usualHolderBytes))
}

// writeShares keeps a grant.
func writeShares(c *Call, state []byte) {
	s, p := scanShares(c), layout.SharePool(state)
	if c.IsNew {
		p.Begin(c.Now)
	}
	s.bringUp(c, p)
	if room, nameRoom := s.roomAfter(c); room != p.Room() || nameRoom != p.NameRoom() {
		c.Result.Work += p.Active()
		p.Enlarge(room, nameRoom)
	}
	after := s.taken.Plus(uint128.Product(uint64(c.Result.Granted), uint64(c.Limit.Rate.Period)))
	layout.MeterAfter(c.Now, after, c.Limit.Rate).Store(p[16:])
	weight := weightAsked(c, s)
	tag := s.virtual + parts(s.units+uint64(c.Result.Granted)<<layout.UnitBits, weight)
	if s.found {
		p.Change(s.member, uint32(weight), tag)
	} else {
		p.Add(c.Op.Who, uint32(weight), tag)
	}
}

// bringUp writes the refill up to the time of the call.
func (s *shareScan) bringUp(c *Call, p layout.SharePool) {
	p.ShareRefill(s.drained, max(c.Now, p.SharedTo()), s.virtual, s.restTicks, s.restUnits)
}

// unreserveShare gives tokens of a reservation back, in place: at most as many as the member still has.
func unreserveShare(c *Call, _ int64) {
	s, p := scanShares(c), layout.SharePool(c.State)
	rate := c.Limit.Rate
	s.bringUp(c, p)
	units := min(uint64(c.Op.Tokens)<<layout.UnitBits, s.units)
	back, _ := uint128.Product(units, uint64(rate.Period)).Divide(layout.UnitsOfToken)
	s.taken = s.taken.Minus(uint128.Int{Lo: back})
	layout.MeterAfter(c.Now, s.taken, rate).Store(p[16:])
	if s.found {
		weight := uint64(s.weight)
		if s.units -= units; s.units == 0 {
			s.units = 1 // the next refill ends it
		}
		p.Change(s.member, s.weight, s.virtual+parts(s.units, weight))
	}
	c.Result.Granted = int64(units >> layout.UnitBits)
	reportShare(c, s.taken, freeUnits(c, s.taken), s.units, uint64(max(1, s.weight)))
}

func sharesExpired(state []byte, _ *limits.Limit, now int64) bool {
	return layout.SharePool(state).Meter().IsFull(now)
}

// plainShares has the pool's numbers and its members in order.
func plainShares(state []byte, _ int64) []byte {
	p := layout.SharePool(state)
	plain := bytes.Clone(p[16:64])
	order := layout.DrainOrder{Pool: p}
	for i := range p.Active() {
		if i == 0 {
			order.Push(0)
		} else {
			order.Next()
		}
		place := int(order.Places[0])
		e := p.Entry(p.EntryAt(place))
		plain = append(binary.LittleEndian.AppendUint64(plain, p.TagAt(place)), e[4:6]...)
		plain = layout.AppendText(plain, e.Name())
	}
	return plain
}
