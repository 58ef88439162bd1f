package cluster

import (
	"hash/maphash"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// Decide has a batch decided by the cluster. It either fills in the results and returns true, or returns false at once and
// calls b.Done later, within [Options.DecideTimeout]; it never waits. The operations' keys are only read until it returns.
func (n *Node) Decide(b *engine.Batch) (finished bool) {
	if n.formats.isTooNew(b.Ops) {
		return n.decideKnown(b)
	}
	if b.Local && n.readLocally(b) {
		return true
	}
	c := &call.Call{Batch: b, Began: n.clock.mono()}
	if r := n.role.active(); r != nil {
		return n.decideHere(r, c)
	}
	var status engine.Status
	if c.Group, status = call.PackGroup(nil, &opcodec.Writer{}, b, nil); status != engine.OK {
		n.rejectCall(c, status)
		return true
	}
	c.Summarize()
	if !n.forwarder.Add(c) {
		n.rejectCall(c, engine.Overloaded)
		return true
	}
	return n.trackCall(c)
}

// readLocally answers a batch that only reads from the state this node has applied.
func (n *Node) readLocally(b *engine.Batch) bool {
	if n.fsm.loading.Load() || n.fsm.cluster.Load().ClusterID == "" {
		return false
	}
	for i := range b.Ops {
		if b.Ops[i].Writes() {
			return false
		}
	}
	n.opt.Store.Apply(n.Now(), b.Ops, b.Results)
	return true
}

// decideHere decides a call on the leader. Operations that change nothing in the applied state, such as denials, are
// answered at once: entries under way can only take more tokens, so a denial stays right. Such an answer is valid
// only if the lease shows, after the state was read, that no other node can lead.
func (n *Node) decideHere(r *leadership, c *call.Call) (finished bool) {
	b := c.Batch
	if !b.Atomic || len(b.Ops) == 1 {
		n.decideReadOnly(b, c)
		switch {
		case len(c.Unanswered) == len(b.Ops):
			c.Unanswered = nil
		case !r.hasLease(n.clock.mono()):
			c.Unanswered = nil
		case len(c.Unanswered) == 0:
			n.metrics.decidedReadOnly.Add(int64(len(b.Ops)))
			return true
		default:
			n.metrics.decidedReadOnly.Add(int64(len(b.Ops) - len(c.Unanswered)))
		}
	}
	c.Summarize()
	if status := n.proposer.add(c); status != engine.OK {
		n.rejectCall(c, status)
		return true
	}
	return n.trackCall(c)
}

// decideReadOnly answers the operations of a batch that change nothing, and lists the others in c.Unanswered. An
// operation behind an unanswered one on the same key stays unanswered too.
func (n *Node) decideReadOnly(b *engine.Batch, c *call.Call) {
	now := max(n.Now(), n.fsm.now.Load())
	if len(b.Ops) == 1 {
		if !n.opt.Store.TryReadOnly(now, &b.Ops[0], &b.Results[0]) {
			c.Unanswered = oneOp
		}
		return
	}
	var touched bloomFilter
	for i := range b.Ops {
		op := &b.Ops[i]
		if touched.mayContain(n.seed, op) || !n.opt.Store.TryReadOnly(now, op, &b.Results[i]) {
			if c.Unanswered == nil {
				c.Unanswered = make([]uint32, 0, len(b.Ops)-i)
			}
			touched.add(n.seed, op)
			c.Unanswered = append(c.Unanswered, uint32(i))
		}
	}
}

// oneOp is the list of positions of a batch of one.
var oneOp = []uint32{0}

// trackCall registers a call for its timeout. On a closed node it answers the call itself and returns true.
func (n *Node) trackCall(c *call.Call) (finished bool) {
	if n.pendingCalls.Add(c) {
		return false
	}
	told := c.FailUnpublished(engine.NoLeader)
	n.metrics.countFailure(told)
	return told != engine.OK
}

// rejectCall answers a call that was not taken.
func (n *Node) rejectCall(c *call.Call, status engine.Status) {
	c.FillError(status)
	n.metrics.countFailure(status)
}

// decideKnown refuses the operations of a batch that are too new and has the others decided. An atomic batch is refused as
// a whole.
func (n *Node) decideKnown(b *engine.Batch) (finished bool) {
	rest := &engine.Batch{Local: b.Local}
	var positions []int
	for i := range b.Ops {
		if b.Atomic || n.formats.isTooNew(b.Ops[i:i+1]) {
			b.Results[i].Status, b.Results[i].Allowed = engine.TooNew, false
			continue
		}
		rest.Ops, positions = append(rest.Ops, b.Ops[i]), append(positions, i)
	}
	rest.Results = make([]engine.Result, len(rest.Ops))
	deliver := func() {
		for i, at := range positions {
			b.Results[at] = rest.Results[i]
		}
	}
	rest.Done = func() {
		deliver()
		b.Done()
	}
	if len(rest.Ops) > 0 && !n.Decide(rest) {
		return false
	}
	deliver()
	return true
}

// bloomFilter is a set of keys with false positives.
type bloomFilter struct {
	any, all bool
	bits     [32]uint64
}

// touchesAll reports whether an operation may touch keys other than its own.
func touchesAll(op *engine.Op) bool {
	switch op.Verb {
	case engine.Acquire, engine.AcquireAll, engine.Look, engine.Refund, engine.Release, engine.Leases, engine.Delete:
		return false
	}
	return true
}

func (t *bloomFilter) add(seed maphash.Seed, op *engine.Op) {
	t.any = true
	switch {
	case touchesAll(op):
		t.all = true
	case op.Verb == engine.AcquireAll:
		for i := range op.Parts {
			t.addKey(seed, op.Parts[i].Key)
		}
	default:
		t.addKey(seed, op.Key)
	}
}

func (t *bloomFilter) addKey(seed maphash.Seed, key []byte) {
	h := maphash.Bytes(seed, key) % uint64(len(t.bits)*64)
	t.bits[h/64] |= 1 << (h % 64)
}

func (t *bloomFilter) hasKey(seed maphash.Seed, key []byte) bool {
	h := maphash.Bytes(seed, key) % uint64(len(t.bits)*64)
	return t.bits[h/64]&(1<<(h%64)) != 0
}

func (t *bloomFilter) mayContain(seed maphash.Seed, op *engine.Op) bool {
	switch {
	case !t.any:
		return false
	case t.all || touchesAll(op):
		return true
	case op.Verb == engine.AcquireAll:
		for i := range op.Parts {
			if t.hasKey(seed, op.Parts[i].Key) {
				return true
			}
		}
		return false
	}
	return t.hasKey(seed, op.Key)
}
