package request

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

// A tree of classes has an assured rate and a ceiling for each class, and ancestors from which a class borrows what
// nobody else is assured: the idea of HTB, hierarchical token buckets (Devera, 2002), for requests that are answered at
// once rather than packets that wait in a queue.
//
// In an AcquireAll, a part with an assured rate in Who is a class under its ceiling, and the nodes that follow are its
// ancestors up to the root. Each part is a token bucket; a grant takes its tokens from all of them. Other limits may
// stand before and after them.
//
//   - Assured: every bucket on the way has the tokens, and so has the class's assured bucket, which they are taken from too.
//   - Borrowed: every ancestor has them beyond the assured capacities of its registered children, and the class's ceiling beyond
//     the capacities of the class's children.
//
// Let F be the tokens left of an ancestor, and A the tokens left of the assured buckets below it. A class that
// registers begins with no more than what F exceeds the others' capacities by; so F ≥ ΣA holds from then on while the
// sums of the capacities and of the rates fit the ancestor's: borrowing leaves F at least at the sum of the capacities,
// an assured grant takes from both sides, and F refills at least as fast until it is full. So assured tokens are always
// there.

// askTree has the tree of classes decide whose nodes are the parts from first to end. The result of its class has the
// answer.
func (g *group) askTree(now int64, parts []engine.Op, first, end int, results []engine.Result) {
	for i := first; i < end; i++ {
		g.loadPart(now, &parts[i], i, &results[i])
	}
	class := &results[first]
	for i := first; i < end; i++ {
		switch c, t := &g.calls[i], &g.targets[i]; {
		case !c.IsNew && c.Prev.Algorithm != limits.Class:
			class.Status, class.Held, class.Wanted = engine.WrongType, c.Prev, limits.Class
			return
		case c.IsNew && g.rulesFor(parts[i].Key, t.place.Found) != nil:
			class.Status = engine.OutOfRoom
			return
		case c.IsNew && !t.place.Found:
			g.made = append(g.made, parts[i].Key)
		}
	}
	decideTree(g.calls[first:end], true)
}

// decideTree decides a tree of classes, its class first and the root last. Without takes it registers the class only.
func decideTree(nodes []algorithm.Call, takes bool) {
	class := &nodes[0]
	end := algorithm.RegistrationEnd(class.Now)
	class.ScanAsked(end)
	leaf, n := &class.Class, class.Op.Tokens
	isNews, isUnregistered, spare := leaf.IsNews, false, int64(math.MaxInt64)
	most, lends := leaf.Free, leaf.Free-leaf.Children
	for i := 1; i < len(nodes); i++ {
		c := &nodes[i]
		s := c.ScanClass()
		c.Register(&nodes[i-1].Class, end)
		kept := s.Total()
		isNews, isUnregistered = isNews || s.IsNews, isUnregistered || s.IsFull
		spare = min(spare, s.Free-kept+leaf.Own)
		most, lends = min(most, s.Free), min(lends, s.Free-kept)
	}
	if isUnregistered {
		spare = 0
	}
	period := uint64(leaf.Assured.Rate.Period)
	room := uint128.Product(uint64(leaf.Assured.Capacity), period)
	if isNews || isUnregistered {
		begins := uint128.Product(uint64(min(leaf.Own, max(0, spare))), period)
		if least := room.Minus(begins); least.Exceeds(leaf.Used) {
			leaf.Used, leaf.Changes = least, true
		}
	}
	left := max(0, leaf.Assured.Capacity-leaf.Used.DivideUp(period))
	isAssured, granted := n <= most && n <= left, int64(0)
	allowed := isAssured || n <= lends
	switch {
	case !allowed:
		class.Result.Wait = waitTree(nodes, isUnregistered)
	case takes:
		granted = n
	}
	if leaf.TookAssured = isAssured && granted > 0; leaf.TookAssured {
		leaf.Used = leaf.Used.Plus(uint128.Product(uint64(granted), period))
		left -= granted
	}
	for i := range nodes {
		c := &nodes[i]
		c.Result.Allowed, c.Result.Granted = allowed, granted
		c.ReportClass(c.Class.Free, granted)
	}
	class.Result.Remaining = max(0, min(most-granted, max(left, lends-granted)))
}

// waitTree is the time until a request that was denied could be granted, by the class's assured rate or by borrowing.
func waitTree(nodes []algorithm.Call, isUnregistered bool) int64 {
	class := &nodes[0]
	leaf, n := &class.Class, class.Op.Tokens
	pass, borrow := class.WaitClass(0), class.WaitClass(leaf.Children)
	for i := range nodes[1:] {
		c := &nodes[i+1]
		pass, borrow = algorithm.Later(pass, c.WaitClass(0)), algorithm.Later(borrow, c.WaitClass(c.Class.Total()))
	}
	if n > leaf.Assured.Capacity || isUnregistered {
		return borrow
	}
	period := uint64(leaf.Assured.Rate.Period)
	wanted := leaf.Used.Plus(uint128.Product(uint64(n), period))
	room := uint128.Product(uint64(leaf.Assured.Capacity), period)
	return algorithm.Sooner(algorithm.Later(pass, wanted.Minus(room).DivideUp(uint64(leaf.Assured.Rate.Tokens))), borrow)
}

// keepMeters keeps a grant of classes that changes only meters: nearly all are such. It returns false, having kept
// nothing, for any other.
func (g *group) keepMeters(parts []engine.Op) bool {
	if g.reserving != nil {
		return false
	}
	for i := range parts {
		t := &g.targets[i]
		if parts[i].Limit.Algorithm != limits.Class || g.calls[i].Result.Granted == 0 || !g.calls[i].WritesInPlace() || t.shard.IsCopied() {
			return false
		}
		if !t.place.Found { // decided by the rules of a full store, which keep nothing
			return false
		}
	}
	for i := range parts {
		c, t := &g.calls[i], &g.targets[i]
		c.WriteMeters(c.State)
		t.shard.NoteAt(t.place)
	}
	return true
}
