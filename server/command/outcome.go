package command

import (
	"github.com/stintdb/stint/engine"
)

// Undecided returns the status of a whole command or transaction. It is engine.OK if all operations were decided, with
// any outcome. If only some were decided, and they may have changed something, it is engine.Uncertain, because the
// other statuses promise that nothing was taken.
func Undecided(ops []engine.Op, results []engine.Result) engine.Status {
	for i := range results {
		if undecided(results[i].Status) {
			return fold(ops, results, results[i].Status)
		}
	}
	return engine.OK
}

func undecided(s engine.Status) bool {
	switch s {
	case engine.Uncertain, engine.NoLeader, engine.Moved, engine.Overloaded, engine.TooBig, engine.Unreadable, engine.TooNew, engine.NoHome, engine.NotAwayFromHome, engine.CrossSlot, engine.NotShared, engine.Importing:
		return true
	}
	return false
}

func fold(ops []engine.Op, results []engine.Result, first engine.Status) engine.Status {
	for i := range results {
		switch s := results[i].Status; {
		case s == engine.Uncertain, s == engine.OK && ops[i].Writes():
			return engine.Uncertain
		}
	}
	return first
}

// UndecidedError is the error for a status of Undecided other than engine.OK. For a redirect, slot and leader say where
// to; leader is "" if none is known.
func UndecidedError(status engine.Status, slot int, leader string) error {
	switch {
	case status == engine.Uncertain:
		return ErrUncertain
	case status == engine.Overloaded:
		return ErrOverloaded
	case status == engine.TooBig:
		return errCallTooBig
	case status == engine.Unreadable:
		return errUnreadable
	case status == engine.NoHome:
		return ErrNoHome
	case status == engine.NotAwayFromHome:
		return errAwayFromHome
	case status == engine.CrossSlot:
		return ErrCrossSlot
	case status == engine.NotShared:
		return errNotShared
	case status == engine.Importing:
		return ErrImporting
	case status == engine.Moved && leader != "":
		return errMoved.With(slot, leader)
	}
	return ErrNoLeader
}
