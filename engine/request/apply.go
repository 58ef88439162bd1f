package request

import "github.com/stintdb/stint/engine"

// Apply carries out an AcquireAll, Check, Reserve, Extend or Settle. With locked, the caller holds the locks of all shards
// that it touches. With readOnly it changes nothing, and returns false if it would have.
func (r *Runner) Apply(now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	g := groups.Get().(*group)
	defer groups.Put(g)
	switch op.Verb {
	case engine.Check:
		return r.check(g, now, op, res, locked, readOnly)
	case engine.Reserve:
		return r.reserve(g, now, op, res, locked, readOnly)
	case engine.Extend:
		return r.extend(g, now, op, res, locked, readOnly)
	case engine.Settle:
		return r.settle(g, now, op, res, locked, readOnly)
	}
	parts, ok := r.openAll(g, op, res)
	if !ok {
		return true
	}
	return r.acquireAll(g, now, op, parts, res, locked, readOnly)
}
