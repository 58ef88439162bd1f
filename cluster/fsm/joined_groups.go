package fsm

import (
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
)

// joinedGroup is a group that is applied with others, and its call; nil if nobody waits for the results.
type joinedGroup struct {
	call  *call.Call
	count int
}

const (
	// shortGroup is how many operations a group has at most to be applied with others. The store looks up the keys of
	// 16 side by side.
	shortGroup = 15
	// mostJoined is the number of operations at which no more groups join.
	mostJoined = 64
)

// isShort reports whether a group is applied with others. The memory of its operations stays valid while the next group
// is read.
func isShort(g call.Group, ops []engine.Op) bool {
	if g.Count > shortGroup || g.Atomic && g.Count > 1 {
		return false
	}
	for i := range ops {
		if ops[i].Verb != engine.Acquire {
			return false
		}
	}
	return true
}

// applyJoined applies short groups as if they were one, in their order.
func (f *Machine) applyJoined(now int64) {
	if len(f.joined) == 0 {
		return
	}
	results := f.scratch(len(f.ops))
	f.applyOps(now, false, results)
	for _, g := range f.joined {
		giveResults(g.call, results[:g.count])
		results = results[g.count:]
	}
	clear(f.joined)
	f.joined, f.ops = f.joined[:0], f.ops[:0]
}

// applyAlone applies a single group. c is its call; nil if nobody waits for the results.
func (f *Machine) applyAlone(now int64, g call.Group, c *call.Call) {
	f.refuseLends()
	if c == nil {
		f.applyDiscarding(now, g)
		return
	}
	began := f.Clock.Mono()
	defer func() { c.Batch.Worked += int64(f.Clock.Mono() - began) }()
	switch {
	case c.Unanswered == nil:
		f.applyOps(now, g.Atomic, c.Batch.Results)
	default:
		results := f.scratch(g.Count)
		f.applyOps(now, g.Atomic, results)
		giveResults(c, results)
	}
}

// giveResults exchanges the results of a call's unanswered operations with others, because results keep the memory of
// their parts. Without a call the results are only discarded.
func giveResults(c *call.Call, results []engine.Result) {
	i := 0
	if c != nil {
		c.Each(func(_ *engine.Op, res *engine.Result) {
			*res, results[i] = results[i], *res
			i++
		})
	}
	for i := range results {
		results[i].Trim()
	}
}

// applyDiscarding applies a group whose results nobody waits for, without building lists.
func (f *Machine) applyDiscarding(now int64, g call.Group) {
	for i := range f.ops {
		switch op := &f.ops[i]; {
		case op.Verb.Lists() || op.Verb == engine.Fingerprint:
			op.Verb = engine.Look
		case op.Verb == engine.Script:
			op.Options |= engine.Unread
		}
	}
	results := f.scratch(g.Count)
	f.applyOps(now, g.Atomic, results)
	giveResults(nil, results)
}
