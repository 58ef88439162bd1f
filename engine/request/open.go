package request

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
)

// check asks a policy's limits for a caller. With readOnly it takes nothing if tokens would be taken, and returns
// false.
func (r *Runner) check(g *group, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	return r.checkBy(g, op, res, func(parts []engine.Op) bool { return r.acquireAll(g, now, op, parts, res, locked, readOnly) })
}

// checkBy is check with the limits asked by decide.
func (r *Runner) checkBy(g *group, op *engine.Op, res *engine.Result, decide func(parts []engine.Op) (done bool)) (done bool) {
	if !r.openCheck(g, op, res) {
		return true
	}
	if !decide(g.check.Parts) {
		return false
	}
	g.check.Complete(op, res)
	return true
}

// openCheck finds out the limits that a check asks, with their keys. It returns false when res has an answer instead:
// an error, or the denial of a caller for whom two of the limits have one key.
func (r *Runner) openCheck(g *group, op *engine.Op, res *engine.Result) (ok bool) {
	return r.policies.Fill(&g.check, g.parts, op, res) && purse.Place(r.owns, op, g.check.Parts, res) && !g.check.DenySameKey(op, res)
}

// openAll returns the limits that an AcquireAll asks. It returns false when res has an error instead.
func (r *Runner) openAll(g *group, op *engine.Op, res *engine.Result) (parts []engine.Op, ok bool) {
	if op.Options&engine.FromPurses == 0 {
		return op.Parts, true
	}
	parts = g.parts[:copy(g.parts, op.Parts)]
	res.Clear()
	return parts, purse.Place(r.owns, op, parts, res)
}
