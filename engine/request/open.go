package request

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
)

// openLimits returns the limits that an AcquireAll, Check or Reserve asks, with their keys. It returns false when res has
// an answer instead: an error, or the denial of a caller for whom two of the limits have one key.
func (r *Runner) openLimits(g *group, op *engine.Op, res *engine.Result) (parts []engine.Op, ok bool) {
	switch whole := op.Request(); {
	case whole.Verb == engine.Check:
		ok = r.openCheck(g, whole, res)
		return g.check.Parts, ok
	case whole.Verb != engine.AcquireAll: // of one limit
		return op.Parts, true
	case whole.Options&engine.FromPurses == 0 || op.Verb == engine.Reserve:
		return whole.Parts, true
	default:
		parts = g.parts[:copy(g.parts, op.Parts)]
		res.Clear()
		return parts, purse.Place(r.owns, op, parts, res)
	}
}

// openCheck fills in the limits that a check asks.
func (r *Runner) openCheck(g *group, op *engine.Op, res *engine.Result) (ok bool) {
	return r.policies.Fill(&g.check, g.parts, op, res) && purse.Place(r.owns, op, g.check.Parts, res) && !g.check.DenySameKey(op, res)
}

// complete completes the answer to a request that was carried out: to a check, or, as that to an operation on one key, to
// a Reserve of one limit.
func complete(g *group, op *engine.Op, res *engine.Result) {
	switch whole := op.Request(); {
	case whole.Verb == engine.Check:
		g.check.Complete(whole, res)
	case whole.Verb != engine.AcquireAll && res.Status == engine.OK && len(res.Parts) > 0:
		part := &res.Parts[0]
		res.Limit, res.Remaining, res.Reset = part.Limit, part.Remaining, part.Reset
		if res.Allowed && !g.repeated {
			res.Granted = part.Granted
		}
	}
}
