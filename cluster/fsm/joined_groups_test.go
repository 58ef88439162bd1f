package fsm

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/internal/testsize"
)

// owning is a machine whose entries are all this process's own.
type owning struct {
	*Machine
	calls   []*call.Call
	entries uint64
}

func newOwning(t *testing.T) *owning {
	o := &owning{Machine: newTestFSM(t)}
	o.OwnID, o.TakeCalls = 1, func(uint64) []*call.Call { return o.calls }
	return o
}

// apply applies an entry of these calls. Nobody waits for calls that were given up.
func (o *owning) apply(t *testing.T, now int64, calls ...*call.Call) {
	t.Helper()
	entry := make([]byte, EntryHead)
	for _, c := range calls {
		entry = call.AppendGroup(entry, &opcodec.Writer{}, c.Batch, c.Unanswered)
	}
	o.calls, o.entries = calls, o.entries+1
	StampEntry(entry, KindDecisions, now, o.OwnID, o.entries)
	if o.Apply(&raft.Log{Index: o.entries, Data: entry}); o.Broken != nil {
		t.Fatal(o.Broken)
	}
}

// Calls have the same results and effect whether they are in one entry or in an entry each.
func TestCallsOfOneEntry(t *testing.T) {
	rng := rand.New(rand.NewPCG(testsize.Seed(), 1))
	for range 300 {
		together, apart := newOwning(t), newOwning(t)
		for now := int64(1); now < 4; now++ {
			var calls, twins []*call.Call
			answered, want := 0, 0
			for range 1 + rng.IntN(60) {
				ops, unanswered := randomOps(rng)
				isAtomic, isGivenUp := rng.IntN(8) == 0, rng.IntN(8) == 0
				newCall := func() *call.Call {
					c := &call.Call{Unanswered: unanswered, Batch: &engine.Batch{Ops: ops, Atomic: isAtomic,
						Results: make([]engine.Result, len(ops)), Done: func() { answered++ }}}
					if isGivenUp {
						c.Claim()
					} else {
						want++
					}
					return c
				}
				calls, twins = append(calls, newCall()), append(twins, newCall())
			}
			together.apply(t, now, calls...)
			for i, twin := range twins {
				apart.apply(t, now, twin)
				if is, want := calls[i].Batch.Results, twin.Batch.Results; !reflect.DeepEqual(is, want) {
					t.Fatalf("call %d of %d, %v: %+v, want %+v", i, len(calls), twin.Batch.Ops, is, want)
				}
			}
			if answered != want || together.Store.Digest(now) != apart.Store.Digest(now) ||
				together.Decisions.Load() != apart.Decisions.Load() {
				t.Fatalf("%d calls were answered, want %d; or the states differ", answered, want)
			}
		}
	}
}

// randomOps are operations on few keys, most of them in short groups, and which of them have no answer; nil for all.
func randomOps(rng *rand.Rand) (ops []engine.Op, unanswered []uint32) {
	isMixed, leavesSome := rng.IntN(6) == 0, rng.IntN(3) == 0
	for i := range 1 + rng.IntN(3) + rng.IntN(8)/7*20 {
		op := acquire(fmt.Sprint("key", rng.IntN(8)), 20, 1+rng.Int64N(3))
		if isMixed && rng.IntN(2) == 0 {
			op = engine.Op{Verb: engine.Delete, Key: op.Key}
		}
		ops = append(ops, op)
		if leavesSome && rng.IntN(2) == 0 || leavesSome && i == 0 {
			unanswered = append(unanswered, uint32(i))
		}
	}
	return ops, unanswered
}

// scriptOptions notes the options of the scripts that it carries out.
type scriptOptions struct {
	transaction.Commands
	seen []engine.Option
}

func (s *scriptOptions) Run(_ *transaction.Tx, op *engine.Op, _ *engine.Result) {
	s.seen = append(s.seen, op.Options)
}

// Only the node whose call an entry has makes replies of its scripts.
func TestScriptsOfOthersAreUnread(t *testing.T) {
	scripts := &scriptOptions{}
	f := newTestFSM(t)
	f.Store = store.New(store.Config{Shards: 1, Replicated: true, Commands: scripts})
	defer f.Store.Close()
	script := engine.Op{Verb: engine.Script, Tokens: 1, Args: [][]byte{[]byte("EVAL"), []byte("return 1"), []byte("0")}}
	batch := &engine.Batch{Ops: []engine.Op{script}, Results: make([]engine.Result, 1), Done: func() {}}
	entry := call.AppendGroup(make([]byte, EntryHead), &opcodec.Writer{}, batch, nil)
	for index, proposer := range []uint64{f.OwnID, f.OwnID + 1} {
		own := &call.Call{Batch: batch}
		own.Send()
		f.TakeCalls = func(uint64) []*call.Call { return []*call.Call{own} }
		StampEntry(entry, KindDecisions, 10, proposer, 1)
		f.Apply(&raft.Log{Index: uint64(index + 1), Data: entry})
	}
	if want := []engine.Option{0, engine.Unread}; f.Broken != nil || !slices.Equal(scripts.seen, want) {
		t.Errorf("options %v, want %v (%v)", scripts.seen, want, f.Broken)
	}
}
