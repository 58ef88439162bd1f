package request

import "github.com/stintdb/stint/engine"

// Apply carries out an AcquireAll, Check, Reserve, Extend or Settle. With locked, the caller holds the locks of all shards
// that it touches. With readOnly it changes nothing, and returns false if it would have.
func (r *Runner) Apply(now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	g := groups.Get().(*group)
	defer groups.Put(g)
	switch op.Verb {
	case engine.Reserve:
		return r.reserve(g, now, op, res, locked, readOnly)
	case engine.Extend:
		return r.extend(g, now, op, res, locked, readOnly)
	case engine.Settle:
		return r.settle(g, now, op, res, locked, readOnly)
	}
	return r.ask(g, now, op, res, locked, readOnly)
}

// ask carries out an AcquireAll, Check or Reserve. With readOnly it takes no tokens, and returns false if it would have.
func (r *Runner) ask(g *group, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	parts, ok := r.openLimits(g, op, res)
	if !ok {
		return true
	}
	if !r.acquireAll(g, now, op.Request(), parts, res, locked, readOnly) {
		return false
	}
	complete(g, op, res)
	return true
}
