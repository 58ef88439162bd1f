package command

import (
	"fmt"

	"github.com/stintdb/stint/engine"
)

// Undecided returns the status that answers a command, or a transaction, as a whole: engine.OK if all its operations
// were decided, whatever came out. Where only some of them were, and those may have changed anything, it is
// engine.Uncertain: the other statuses say that nothing was taken.
func Undecided(ops []engine.Op, results []engine.Result) engine.Status {
	for i := range results {
		if undecided(results[i].Status) {
			return fold(ops, results, results[i].Status)
		}
	}
	return engine.OK
}

func undecided(s engine.Status) bool {
	return s == engine.Uncertain || s == engine.NoLeader || s == engine.Moved || s == engine.Overloaded
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

// UndecidedError is the wire error of a status of Undecided that is not engine.OK. The slot and the leader's address are
// those of a redirect, "" if no leader is known.
func UndecidedError(status engine.Status, slot int, leader string) error {
	switch {
	case status == engine.Uncertain:
		return ErrUncertain
	case status == engine.Overloaded:
		return ErrOverloaded
	case status == engine.Moved && leader != "":
		return fmt.Errorf("MOVED %d %s", slot, leader)
	}
	return ErrNoLeader
}
