package store

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

// A tree of classes has an assured rate and a ceiling for each class, and ancestors from which a class borrows what nobody else is
// assured: the idea of HTB, hierarchical token buckets (Devera, 2002), for requests that are answered at once rather than
// packets that wait in a queue.
//
// In an AcquireAll, a part with an assured rate in Who is a class under its ceiling, and the nodes that follow are its ancestors up
// to the root. Each part is a token bucket; a grant takes its tokens from all of them. Other limits may stand before and behind.
//
//   - Assured: every bucket on the way has the tokens, and so has the class's assured bucket, which they are taken from too.
//   - Borrowed: every ancestor has them beyond the assured capacities of its registered children, and the class's ceiling beyond
//     those of the class's children.
//
// Let F be the tokens left of an ancestor and A those of the assured buckets below it. A class that registers begins with no more
// than what F exceeds the others' capacities by; so F ≥ ΣA holds from then on while the sums of the capacities and of the
// rates fit the ancestor's: borrowing leaves F at least at the sum of the capacities, an assured grant takes from both sides, and F
// refills at least as fast until it is full. So assured tokens are always there.

// askTree has the tree of classes decide whose nodes are the parts from first to end. The result of its class has the answer.
func (g *acquireAllCall) askTree(now int64, parts []engine.Op, first, end int, results []engine.Result) {
	for i := first; i < end; i++ {
		g.loadPart(now, &parts[i], i, &results[i])
	}
	class := &results[first]
	for i := first; i < end; i++ {
		switch c, t := &g.calls[i], &g.targets[i]; {
		case !c.isNew && c.prev.Algorithm != limits.Class:
			class.Status, class.Held, class.Wanted = engine.WrongType, c.prev, limits.Class
			return
		case c.isNew && g.rulesFor(parts[i].Key, t.place.found) != nil:
			class.Status = engine.OutOfRoom
			return
		case c.isNew && !t.place.found:
			g.made = append(g.made, parts[i].Key)
		}
	}
	decideTree(g.calls[first:end], true)
}

// registerTrees registers the classes of a request that was denied: their assured tokens are not lent from now on. With readOnly it
// changes nothing, and returns false if it would have.
func (g *acquireAllCall) registerTrees(now int64, parts []engine.Op, readOnly bool) (done bool) {
	changes := false
	for i := range parts {
		changes = changes || g.calls[i].isToBeKept()
	}
	if changes && !readOnly {
		g.keep(now, parts) // without room for it, nothing is registered
	}
	return !changes || !readOnly
}

// decideTree decides a tree of classes, its class first and the root last. Without takes it registers the class only.
func decideTree(nodes []call, takes bool) {
	class := &nodes[0]
	end := registrationEnd(class.now)
	class.scanAsked(end)
	leaf, n := &class.class, class.op.Tokens
	isNews, isUnregistered, spare := leaf.isNews, false, int64(math.MaxInt64)
	most, lends := leaf.free, leaf.free-leaf.children
	for i := 1; i < len(nodes); i++ {
		c := &nodes[i]
		s := c.scanClass()
		c.register(&nodes[i-1].class, end)
		kept := s.total()
		isNews, isUnregistered = isNews || s.isNews, isUnregistered || s.isFull
		spare = min(spare, s.free-kept+leaf.own)
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
	left := max(0, leaf.assured.Capacity-leaf.used.DivideUp(period))
	isAssured, granted := n <= most && n <= left, int64(0)
	allowed := isAssured || n <= lends
	switch {
	case !allowed:
		class.result.Wait = waitTree(nodes, isUnregistered)
	case takes:
		granted = n
	}
	if leaf.tookAssured = isAssured && granted > 0; leaf.tookAssured {
		leaf.used = leaf.used.Plus(uint128.Product(uint64(granted), period))
		left -= granted
	}
	for i := range nodes {
		c := &nodes[i]
		c.result.Allowed, c.result.Granted = allowed, granted
		c.reportClass(c.class.free, granted)
	}
	class.result.Remaining = max(0, min(most-granted, max(left, lends-granted)))
}

// waitTree is the time until a request that was denied could be granted, by the class's assured rate or by borrowing.
func waitTree(nodes []call, isUnregistered bool) int64 {
	class := &nodes[0]
	leaf, n := &class.class, class.op.Tokens
	pass, borrow := class.waitClass(0), class.waitClass(leaf.children)
	for i := range nodes[1:] {
		c := &nodes[i+1]
		pass, borrow = later(pass, c.waitClass(0)), later(borrow, c.waitClass(c.class.total()))
	}
	if n > leaf.assured.Capacity || isUnregistered {
		return borrow
	}
	period := uint64(leaf.assured.Rate.Period)
	wanted := leaf.used.Plus(uint128.Product(uint64(n), period))
	room := uint128.Product(uint64(leaf.assured.Capacity), period)
	return sooner(later(pass, wanted.Minus(room).DivideUp(uint64(leaf.assured.Rate.Tokens))), borrow)
}

// keepMeters keeps a grant of classes that changes only meters: nearly all are such. It returns false, having kept nothing, for any other.
func (g *acquireAllCall) keepMeters(parts []engine.Op) bool {
	if g.reserving != nil {
		return false
	}
	for i := range parts {
		if parts[i].Limit.Algorithm != limits.Class || g.calls[i].result.Granted == 0 || !g.calls[i].writesInPlace() || g.targets[i].shard.snapshot != nil {
			return false
		}
	}
	for i := range parts {
		c, t := &g.calls[i], &g.targets[i]
		c.writeMeters(c.state)
		t.shard.note(t.place.ref)
	}
	return true
}
