package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
)

// openAll returns the limits that an AcquireAll asks. It returns false when res has an error instead.
func openAll(s *Store, g *acquireAllCall, op *engine.Op, res *engine.Result) (parts []engine.Op, ok bool) {
	if op.Options&engine.FromPurses == 0 {
		return op.Parts, true
	}
	parts = g.parts[:copy(g.parts, op.Parts)]
	res.Clear()
	return parts, purse.Place(s.owns, op, parts, res)
}
