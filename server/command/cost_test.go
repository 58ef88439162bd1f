package command_test

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
)

// Every command declares the cost of operations whose work grows with the state of a key.
func TestCostsCoverOperations(t *testing.T) {
	for _, row := range command.All {
		if row.Parse == nil {
			continue
		}
		r := command.Request{Args: exampleCall(row)}
		r.SetBounds(command.Bounds{MaxKeyBytes: 4096, MaxLogLimit: 100_000})
		if err := row.Parse(&r); err != nil {
			t.Fatalf("%s: %v", row.FullName, err)
		}
		least := 0
		for i := range r.Ops {
			least += leastWork(&r.Ops[i])
		}
		if got := row.WorkOf(r.Ops); got < least {
			t.Errorf("%s can take %d of work, and the Cost in its row allows %d: choose another class of cost.go", row.FullName, least, got)
		}
	}
}

// leastWork is the least work that a class must declare for an operation.
func leastWork(op *engine.Op) (work int) {
	switch {
	case op.Verb == engine.AcquireAll:
		for i := range op.Parts {
			work += leastWork(&op.Parts[i])
		}
		return work
	case op.Verb == engine.Leases, op.Verb == engine.ListLog, op.Verb == engine.ListMembers:
		return command.MaxBatchWork // so that it is decided alone
	case op.Verb == engine.Acquire && (op.Limit.Algorithm == limits.SlidingLog || op.Limit.Algorithm == limits.FairShare) || op.Verb == engine.Refund:
		return store.MaxLogWork
	case op.Verb == engine.Acquire && op.Limit.Algorithm != limits.Concurrency, op.Verb == engine.Delete, op.Verb == engine.Flush, op.Verb == engine.Adapt,
		op.Verb == engine.SetPolicy, op.Verb == engine.DropPolicy, op.Verb == engine.SetOverride:
		return store.OpWork // these do not read the state that a key holds
	}
	return store.MaxHolderWork
}
