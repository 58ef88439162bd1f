package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// openAll returns the limits that an AcquireAll asks. It returns false when res has an error instead.
func openAll(s *Store, g *acquireAllCall, op *engine.Op, res *engine.Result) (parts []engine.Op, ok bool) {
	if op.Options&engine.FromPurses == 0 {
		return op.Parts, true
	}
	parts = g.parts[:copy(g.parts[:], op.Parts)]
	res.Clear()
	return parts, place(s.owns, op, parts, res)
}

// place has the parts of a request whose keys the store does not own asked in their purses, if the request says so. Otherwise, and where one cannot
// be, it returns false, with an error in res.
func place(owns func(key []byte) bool, whole *engine.Op, parts []engine.Op, res *engine.Result) (ok bool) {
	if owns == nil {
		return true
	}
	for i := range parts {
		switch p := &parts[i]; {
		case owns(database.KeyOf(p.Key)):
		case whole.Options&engine.FromPurses == 0:
			res.Status = engine.CrossSlot
			return false
		default:
			if p.Limit, ok = p.Limit.InPurse(); !ok || p.Keep != 0 || p.MaxWait != 0 {
				res.Status = engine.NotShared
				return false
			}
		}
	}
	return true
}
