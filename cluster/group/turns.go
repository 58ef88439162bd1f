package group

import (
	"github.com/stintdb/stint/cluster/group/decide"
	"github.com/stintdb/stint/engine"
)

// Turns lets the clients of several nodes that wait for a key take from it in the order in which they came.
type Turns interface {
	decide.Turns
	// Begin notes that this node leads from now on.
	Begin(now int64)
	// Taken notes whether an attempt that had its turn got something.
	Taken(op *engine.Op, got bool)
}

// noTurns are the turns of a server where nobody waits.
type noTurns struct{}

func (noTurns) Begin(int64)                    {}
func (noTurns) IsAttempt(*engine.Op) bool      { return false }
func (noTurns) Attempt(int64, *engine.Op)      {}
func (noTurns) MayTake(int64, *engine.Op) bool { return true }
func (noTurns) Taken(*engine.Op, bool)         {}

// noteTaken notes the outcome of the attempts among operations that were carried out.
func noteTaken(turns Turns, ops []engine.Op, results []engine.Result) {
	for i := range ops {
		if op := &ops[i]; op.Verb == engine.Command && turns.IsAttempt(op) {
			turns.Taken(op, string(results[i].Reply) != "*-1\r\n" && string(results[i].Reply) != "$-1\r\n")
		}
	}
}
