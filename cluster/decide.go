package cluster

import (
	"hash/maphash"

	"github.com/stintdb/stint/engine"
)

// Decide has a batch decided by the cluster. It either fills in the results and returns true, or returns false at once and
// calls b.Done later, within [Options.DecideTimeout]; it never waits. The operations' keys are only read until it returns.
func (n *Node) Decide(b *engine.Batch) (finished bool) {
	if b.Local && n.readLocally(b) {
		return true
	}
	c := &call{batch: b, began: n.clock.mono()}
	if r := n.deciding(); r != nil {
		return n.decideHere(r, c)
	}
	c.group = appendGroup(nil, &engine.OpWriter{}, b, nil)
	c.count()
	if !n.forwarder.add(c) {
		n.overloaded(c)
		return true
	}
	return n.leave(c)
}

// readLocally answers a batch that only reads from the state this node has applied.
func (n *Node) readLocally(b *engine.Batch) bool {
	if n.fsm.loading.Load() || n.fsm.known.Load().ClusterID == "" {
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

// decideHere decides a call on the leader. What changes nothing in the applied state is answered at once: the limits can
// only be fuller once what is under way has been applied too, so a denial now is right. It counts only while the lease
// shows that nobody else leads, as of after the state was looked at.
func (n *Node) decideHere(r *reign, c *call) (finished bool) {
	b := c.batch
	if !b.Atomic || len(b.Ops) == 1 {
		n.settle(b, c)
		switch {
		case len(c.which) == len(b.Ops):
			c.which = nil
		case !r.holds(n.clock.mono()):
			c.which = nil
		case len(c.which) == 0:
			n.counts.settled.Add(int64(len(b.Ops)))
			return true
		default:
			n.counts.settled.Add(int64(len(b.Ops) - len(c.which)))
		}
	}
	c.count()
	if !n.proposer.add(c) {
		n.overloaded(c)
		return true
	}
	return n.leave(c)
}

// settle answers the operations of a batch that change nothing, and lists the others in c.which. An operation behind an
// unanswered one on the same key has to wait for it.
func (n *Node) settle(b *engine.Batch, c *call) {
	now := max(n.Now(), n.fsm.now.Load())
	if len(b.Ops) == 1 {
		if !n.opt.Store.Settle(now, &b.Ops[0], &b.Results[0]) {
			c.which = oneOp
		}
		return
	}
	var touched touchedKeys
	for i := range b.Ops {
		op := &b.Ops[i]
		if touched.mayTouch(n.seed, op) || !n.opt.Store.Settle(now, op, &b.Results[i]) {
			if c.which == nil {
				c.which = make([]uint32, 0, len(b.Ops)-i)
			}
			touched.add(n.seed, op)
			c.which = append(c.which, uint32(i))
		}
	}
}

// oneOp is the list of positions of a batch of one.
var oneOp = []uint32{0}

// leave leaves a call to whoever answers it, or to time. A node that has ended answers it itself.
func (n *Node) leave(c *call) (finished bool) {
	if n.waits.add(c) {
		return false
	}
	told := c.end(engine.NoLeader)
	n.counts.failed(told)
	return told != engine.OK
}

// overloaded refuses a call that found no room to wait in.
func (n *Node) overloaded(c *call) {
	c.refuse(engine.Overloaded)
	n.counts.failed(engine.Overloaded)
}

// touchedKeys is a set of keys that may say yes for one that is not in it.
type touchedKeys struct {
	any, all bool
	bits     [32]uint64
}

// touchesAll reports whether an operation is about keys that only show later, or about more than its own.
func touchesAll(op *engine.Op) bool {
	switch op.Verb {
	case engine.Acquire, engine.AcquireAll, engine.Look, engine.Refund, engine.Release, engine.Leases, engine.Delete:
		return false
	}
	return true
}

func (t *touchedKeys) add(seed maphash.Seed, op *engine.Op) {
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

func (t *touchedKeys) addKey(seed maphash.Seed, key []byte) {
	h := maphash.Bytes(seed, key) % uint64(len(t.bits)*64)
	t.bits[h/64] |= 1 << (h % 64)
}

func (t *touchedKeys) has(seed maphash.Seed, key []byte) bool {
	h := maphash.Bytes(seed, key) % uint64(len(t.bits)*64)
	return t.bits[h/64]&(1<<(h%64)) != 0
}

func (t *touchedKeys) mayTouch(seed maphash.Seed, op *engine.Op) bool {
	switch {
	case !t.any:
		return false
	case t.all || touchesAll(op):
		return true
	case op.Verb == engine.AcquireAll:
		for i := range op.Parts {
			if t.has(seed, op.Parts[i].Key) {
				return true
			}
		}
		return false
	}
	return t.has(seed, op.Key)
}
