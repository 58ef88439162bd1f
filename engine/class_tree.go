package engine

import (
	"encoding/binary"
	"math"

	"github.com/stintdb/stint/engine/internal/uint128"
)

// A tree of classes has an assured rate and a ceiling for each class, and ancestors from which a class borrows what nobody else is
// assured: the idea of HTB, hierarchical token buckets (Devera, 2002), for requests that are answered at once rather than
// packets that wait in a queue.
//
// A request is an AcquireAll whose parts are the class under its ceiling, and its ancestors up to the root. The class has
// its assured rate in Who. Each part is a token bucket; a grant takes its tokens from all of them.
//
//   - Assured: every bucket on the way has the tokens, and so has the class's assured bucket, which they are taken from too.
//   - Borrowed: every ancestor has them beyond the assured capacities of its registered children, and the class's ceiling beyond
//     those of the class's children.
//
// Let F be the tokens left of an ancestor and A those of the assured buckets below it. A class that registers begins with no more
// than what F exceeds the others' capacities by; so F ≥ ΣA holds from then on while the sums of the capacities and of the
// rates fit the ancestor's: borrowing leaves F at least at the sum of the capacities, an assured grant takes from both sides, and F
// refills at least as fast until it is full. So assured tokens are always there.

// MaxTreeLevels bounds the class and its ancestors.
const MaxTreeLevels = 4

const assuredBytes = 24

// AppendAssured appends an assured rate to b in the form of the Who of a class.
func AppendAssured(b []byte, capacity int64, rate Rate) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(capacity))
	b = binary.LittleEndian.AppendUint64(b, uint64(rate.Tokens))
	return binary.LittleEndian.AppendUint64(b, uint64(rate.Period))
}

// Assured is the assured rate of a class that Who has, and whether there is a valid one.
func Assured(who []byte) (l Limit, ok bool) {
	if len(who) != assuredBytes {
		return l, false
	}
	l = Limit{Algorithm: TokenBucket, Capacity: int64(binary.LittleEndian.Uint64(who)),
		Rate: Rate{int64(binary.LittleEndian.Uint64(who[8:])), int64(binary.LittleEndian.Uint64(who[16:]))}}
	return l, l.Check() == nil
}

// IsTree reports whether an operation asks a tree of classes.
func (o *Op) IsTree() bool {
	return o.Verb == AcquireAll && len(o.Parts) > 0 && o.Parts[0].Limit.Algorithm == Class && len(o.Parts[0].Who) == assuredBytes
}

// TreesValidly reports whether an AcquireAll asks a tree of classes that can be decided, or none.
func (o *Op) TreesValidly() bool {
	if len(o.Parts) == 0 || o.Parts[0].Limit.Algorithm != Class || len(o.Parts[0].Who) == 0 {
		return true
	}
	for i := range o.Parts {
		if p := &o.Parts[i]; p.Limit.Algorithm != Class || p.Tokens != o.Tokens || p.Options&FixedCost != 0 || i > 0 && len(p.Who) > 0 {
			return false
		}
	}
	_, ok := Assured(o.Parts[0].Who)
	return ok && len(o.Parts) > 1 && len(o.Parts) <= MaxTreeLevels && o.MaxWait <= 0
}

// decideClass answers an Acquire of one node alone, which has no assured rate.
func decideClass(c *call) (changed bool) {
	s := c.scanClass()
	n := c.op.Tokens
	if n+s.children <= s.free {
		c.result.Allowed, c.result.Granted = true, n
	} else {
		c.result.Wait = c.waitClass(s.children)
	}
	c.reportClass(s.free-s.children, c.result.Granted)
	return c.result.Granted > 0
}

func lookClass(c *call) {
	s := c.scanClass()
	c.reportClass(s.free, 0)
}

// refundClass gives tokens back to this node alone, in place.
func refundClass(c *call) {
	c.limit = c.prev
	s, rate := c.scanClass(), c.prev.Rate
	left := s.taken.Minus(uint128.Product(uint64(c.op.Tokens), uint64(rate.Period)))
	c.result.Granted = s.taken.Minus(left).DivideUp(uint64(rate.Period))
	meterAfter(c.now, left, rate).store(c.state[8:])
	lookClass(c)
}

// reportClass fills in the tokens that remain of those free before a grant.
func (c *call) reportClass(free, granted int64) {
	res, s := c.result, &c.class
	after := s.taken.Plus(uint128.Product(uint64(granted), uint64(c.limit.Rate.Period)))
	res.Limit, res.Remaining = c.limit.Capacity, max(0, free-granted)
	res.Reset = after.DivideUp(uint64(c.limit.Rate.Tokens))
	if s.assured.Capacity > 0 && !s.used.IsZero() {
		res.Reset = max(res.Reset, s.used.DivideUp(uint64(s.assured.Rate.Tokens)))
	}
}

// waitClass is the time until the node has the tokens that the call asks for, and some that it keeps. Where it can never have
// both, it is the time until the first registration ends.
func (c *call) waitClass(kept int64) int64 {
	s, period := &c.class, uint64(c.limit.Rate.Period)
	switch {
	case c.op.Tokens > c.limit.Capacity:
		return NeverWait
	case c.op.Tokens+kept > c.limit.Capacity:
		if s.nextEnd == math.MaxInt64 {
			return NeverWait
		}
		return max(1, s.nextEnd-c.now)
	}
	wanted := s.taken.Plus(uint128.Product(uint64(c.op.Tokens+kept), period))
	return wanted.Minus(uint128.Product(uint64(c.limit.Capacity), period)).DivideUp(uint64(c.limit.Rate.Tokens))
}

// later is the longer of two waits.
func later(a, b int64) int64 {
	if a == NeverWait || b == NeverWait {
		return NeverWait
	}
	return max(a, b)
}

// sooner is the shorter of two waits.
func sooner(a, b int64) int64 {
	switch {
	case a == NeverWait:
		return b
	case b == NeverWait:
		return a
	}
	return min(a, b)
}

// scanAsked reads the class that asks, under the assured rate that it asks with.
func (c *call) scanAsked() {
	s := c.scanClass()
	had := s.assured
	s.isAsked = true
	s.assured, _ = Assured(c.op.Who)
	if had.Capacity > 0 {
		s.used = carryOver(s.used, had.Rate, s.assured.Rate)
	}
	end := registrationEnd(c.now)
	s.changes = had != s.assured || s.end < end
	s.isNews = s.end <= c.now || had != s.assured
	s.end, s.own = max(s.end, end), s.assured.Capacity
}

// decideTree decides the parts of a tree of classes. With readOnly it takes no tokens, and returns false if it would have, or
// registered something.
func (g *acquireAllCall) decideTree(now int64, whole *Op, parts []Op, res *Result, readOnly bool) (done bool) {
	res.Binding = -1
	if !g.openTree(now, parts, res) {
		return true
	}
	first := g.askTree(parts, res)
	if !res.Allowed {
		res.Binding = 0
	}
	changes := false
	for i := range parts {
		changes = changes || g.calls[i].isToBeKept()
	}
	switch {
	case !changes || whole.Options&Peek != 0:
		return true
	case readOnly:
		return false
	case g.keep(now, parts) || !res.Allowed: // a denial without room registers nothing
		return true
	}
	status := NoRoomToGrow
	if first {
		status = OutOfRoom
	}
	res.Clear()
	res.Status, res.Parts, res.Binding = status, res.Parts[:0], 0
	return true
}

// openTree loads the nodes. It returns false if one of them cannot be asked.
func (g *acquireAllCall) openTree(now int64, parts []Op, res *Result) bool {
	g.made = g.made[:0]
	for i := range parts {
		c, t, one := &g.calls[i], &g.targets[i], &res.Parts[i]
		one.Clear()
		t.place, t.moves, t.rules = t.shard.find(t.tag, parts[i].Key), t.shard.moves, nil
		t.shard.load(c, now, &parts[i], one, t.place)
		switch {
		case !c.isNew && c.prev.Algorithm != Class:
			res.Status, res.Held, res.Wanted, res.Binding = WrongType, c.prev, Class, i
		case c.isNew && g.rulesFor(parts[i].Key, t.place.found) != nil:
			res.Status, res.Binding = OutOfRoom, i
		default:
			if c.isNew && !t.place.found {
				g.made = append(g.made, parts[i].Key)
			}
			continue
		}
		res.Parts = res.Parts[:0]
		return false
	}
	return true
}

// askTree decides. It reports whether some node is new.
func (g *acquireAllCall) askTree(parts []Op, res *Result) (isNew bool) {
	class := &g.calls[0]
	class.scanAsked()
	leaf, n := &class.class, class.op.Tokens
	isNews, isUnregistered, spare := leaf.isNews, false, int64(math.MaxInt64)
	canPass, canBorrow := n <= leaf.free, n+leaf.children <= leaf.free
	pass, borrow := class.waitClass(0), class.waitClass(leaf.children)
	most, lends := leaf.free, leaf.free-leaf.children
	isNew = class.isNew
	for i := 1; i < len(parts); i++ {
		c := &g.calls[i]
		s := c.scanClass()
		c.register(parts[i-1].Key, g.calls[i-1].class.total())
		kept := s.total()
		isNew, isNews, isUnregistered = isNew || c.isNew, isNews || s.isNews, isUnregistered || s.isFull
		spare = min(spare, s.free-kept+leaf.own)
		canPass, canBorrow = canPass && n <= s.free, canBorrow && n+kept <= s.free
		pass, borrow = later(pass, c.waitClass(0)), later(borrow, c.waitClass(kept))
		most, lends = min(most, s.free), min(lends, s.free-kept)
	}
	if isUnregistered {
		spare = 0
	}
	period := uint64(leaf.assured.Rate.Period)
	room := uint128.Product(uint64(leaf.assured.Capacity), period)
	if isNews || isUnregistered {
		begins := uint128.Product(uint64(min(leaf.own, max(0, spare))), period)
		if least := room.Minus(begins); least.Exceeds(leaf.used) {
			leaf.used, leaf.changes = least, true
		}
	}
	left, _ := room.Minus(leaf.used).Divide(period)
	isAssured := canPass && n <= int64(left)
	granted := int64(0)
	if res.Allowed = isAssured || canBorrow; res.Allowed {
		granted = n
	} else {
		byRate := int64(NeverWait)
		if n <= leaf.assured.Capacity && !isUnregistered {
			wanted := leaf.used.Plus(uint128.Product(uint64(n), period))
			byRate = later(pass, wanted.Minus(room).DivideUp(uint64(leaf.assured.Rate.Tokens)))
		}
		class.result.Wait = sooner(byRate, borrow)
	}
	if isAssured {
		leaf.used = leaf.used.Plus(uint128.Product(uint64(granted), period))
		left -= uint64(granted)
	}
	res.Granted, res.Wait = granted, class.result.Wait
	for i := range parts {
		c := &g.calls[i]
		c.result.Allowed, c.result.Granted = res.Allowed, granted
		c.reportClass(c.class.free, granted)
	}
	class.result.Remaining = max(0, min(most-granted, max(int64(left), lends-granted)))
	return isNew
}

// isToBeKept reports whether a decision changes the state.
func (c *call) isToBeKept() bool {
	return c.result.Granted > 0 || c.limit.Algorithm == Class && c.class.changes
}
