package group

import "github.com/stintdb/stint/engine"

// Turns has the clients of several nodes that wait for a key take from it in the order in which they came. It is asked on the leader.
type Turns interface {
	// Begin notes that this node leads from now on.
	Begin(now int64)
	// IsAttempt reports whether an operation is an attempt of a client that waits.
	IsAttempt(op *engine.Op) bool
	// Attempt notes the claim of such an attempt.
	Attempt(now int64, op *engine.Op)
	// MayTake reports whether an operation that would take something may do so: if not, it is an attempt, and another client's turn.
	MayTake(now int64, op *engine.Op) bool
	// Taken notes whether an attempt that had its turn got something.
	Taken(op *engine.Op, got bool)
}

// noTurns are the turns where nobody waits.
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

// leaderTime is the time at which the leader answers from its state.
func (d *decider) leaderTime() int64 { return max(d.clock.NowOrWall(), d.fsm.Now.Load()) }

// noteAttempts notes the claims of the attempts in a batch.
func (d *decider) noteAttempts(b *engine.Batch) {
	for i := range b.Ops {
		if op := &b.Ops[i]; op.Verb == engine.Command && d.opt.Turns.IsAttempt(op) {
			d.opt.Turns.Attempt(d.leaderTime(), op)
		}
	}
}

// mustWait answers an attempt as if there were nothing to take, if it is another client's turn.
func (d *decider) mustWait(now int64, op *engine.Op, res *engine.Result) bool {
	if d.opt.Turns.MayTake(now, op) {
		return false
	}
	res.StartReply()
	res.Reply = append(res.Reply, "*-1\r\n"...)
	return true
}
