package group

import (
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/bloom"
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
)

// decide is [Group.Decide]: from the tokens that this process holds, or else in the log.
func (d *decider) decide(b *engine.Batch) (finished bool) {
	h := d.holder
	at, may := h.mayDecide()
	if !may || b.Atomic && len(b.Ops) > 1 {
		return d.decideInLog(b)
	}
	// The leader asks its allowance first, and then the tokens that it holds. Before a new leader has its lease, only these are certain.
	if r := d.role.active(); r != nil && d.allowance.Term.Load() != nil && r.hasLease(d.clock.Moment()) && !d.formats.isTooNew(b.Ops) && !b.Local {
		return d.decideHere(r, &call.Call{Batch: b, Began: d.clock.Mono()}, true)
	}
	return h.decide(at, b)
}

// decide answers the operations of a batch that the tokens held suffice for, and has the others wait for tokens, or decided in the
// log. An operation behind one of those on the same key goes with it.
func (h *holder) decide(at clock.Reading, b *engine.Batch) (finished bool) {
	if len(b.Ops) == 1 {
		done, isShort := h.answer(at, &b.Ops[0], &b.Results[0], nil)
		if done {
			return true
		}
		if isShort {
			if waits, finished := h.wait(b, nil); waits {
				return finished
			}
		}
		return h.decider.decideInLog(b)
	}
	var touched bloom.Filter
	var rest []uint32
	isShort := false
	for i := range b.Ops {
		op := &b.Ops[i]
		if !touched.MayContain(h.decider.seed, op) {
			done, short := h.answer(at, op, &b.Results[i], nil)
			if done {
				continue
			}
			isShort = isShort || short
		}
		touched.Add(h.decider.seed, op)
		rest = append(rest, uint32(i))
	}
	if len(rest) == 0 {
		return true
	}
	if isShort {
		if waits, finished := h.wait(b, rest); waits {
			return finished
		}
	}
	if len(rest) == len(b.Ops) {
		return h.decider.decideInLog(b)
	}
	return h.decider.decideRest(b, rest)
}

// decideRest has those operations of a batch decided in the log that are at some positions.
func (d *decider) decideRest(b *engine.Batch, positions []uint32) (finished bool) {
	ops := make([]engine.Op, len(positions))
	for i, at := range positions {
		ops[i] = b.Ops[at]
	}
	return d.decideAt(b, positions, ops)
}

// decideAt has operations decided in the log that are those at some positions of a batch.
func (d *decider) decideAt(b *engine.Batch, positions []uint32, ops []engine.Op) (finished bool) {
	rest := &engine.Batch{Local: b.Local, InOrder: b.InOrder, Ops: ops, Results: make([]engine.Result, len(ops))}
	deliver := func() {
		b.Worked += rest.Worked
		for i, at := range positions {
			b.Results[at] = rest.Results[i]
		}
	}
	rest.Done = func() {
		deliver()
		b.Done()
	}
	if !d.decideInLog(rest) {
		return false
	}
	deliver()
	return true
}

// answer answers an operation from the tokens held, or denies it if this node's own state shows no tokens. That state is behind the
// leader's, so only the keys that are held, or were a moment ago, are denied from it, and only while this node hears from the leader.
// isShort reports that a request may wait for more tokens. On the leader, leader takes tokens that are not held from its allowance.
func (h *holder) answer(at clock.Reading, op *engine.Op, res *engine.Result, leader *answerer) (done, isShort bool) {
	switch op.Verb {
	case engine.Acquire:
		if op.Options&^(engine.Peek|engine.UpTo) != 0 || !purses.MayAnswer(op) || h.opt.Store.IsStrict(op) {
			return false, false
		}
		done, held, due := h.table.Spend(at.Mono, at.Cluster, op, res)
		if due != nil {
			h.send([]*purses.Operation{due})
		}
		if done || held && h.denies(op, res) {
			return true, false
		}
		return false, held && purses.CanWait(op)
	case engine.AcquireAll:
		return h.answerAll(at, op, op.Parts, res, leader), false
	case engine.Check:
		return h.answerCheck(at, op, res, leader), false
	case engine.Refund:
		return h.table.Refund(at.Cluster, op, res), false
	}
	return false, false
}

// answerCheck answers for a policy all of whose limits have enough tokens here. The policy is that of this node's state.
func (h *holder) answerCheck(at clock.Reading, op *engine.Op, res *engine.Result, leader *answerer) (done bool) {
	if h.fsm.Loading.Load() {
		return false
	}
	return h.opt.Store.CheckBy(op, res, func(parts []engine.Op) bool { return h.answerAll(at, op, parts, res, leader) })
}

// answerAll answers a request for several limits if there are enough tokens of each here.
func (h *holder) answerAll(at clock.Reading, op *engine.Op, parts []engine.Op, res *engine.Result, leader *answerer) (done bool) {
	if op.Options&^(engine.Peek|engine.NamedFields) != 0 || op.MaxWait != 0 || h.opt.Store.IsStrict(op) {
		return false
	}
	for i := range parts {
		if !purses.MayAnswer(&parts[i]) || parts[i].Options&^(engine.Peek|engine.FixedCost) != 0 {
			return false
		}
	}
	res.Clear()
	res.Grow(len(parts))
	res.Allowed, res.Granted, res.Binding = true, max(1, op.Tokens), -1
	var others func(held engine.PartSet) engine.PartSet
	if leader != nil {
		others = func(held engine.PartSet) engine.PartSet {
			return h.decider.allowance.TakeAll(leader.term, leader.now, op, parts, held, res)
		}
	}
	done, due := h.table.SpendAll(at.Mono, at.Cluster, parts, op.Options&engine.Peek != 0, res, others)
	if len(due) > 0 {
		h.send(due)
	}
	res.Allowed = res.Allowed && done // a peek is answered with a denial too
	return done
}

// denies answers a request that this node's own state denies.
func (h *holder) denies(op *engine.Op, res *engine.Result) bool {
	if h.fsm.Loading.Load() || op.Options&engine.Peek != 0 || !h.hearsLeader() {
		return false
	}
	now := max(h.clock.NowOrWall(), h.fsm.Now.Load())
	if !h.opt.Store.TryReadOnly(now, op, res) || res.Status != engine.OK || res.Allowed {
		return false
	}
	h.table.Decisions.Add(1)
	return true
}

// hearsLeader reports whether this node has heard from the leader within the heartbeat timeout, or leads under its lease.
func (h *holder) hearsLeader() bool {
	if r := h.decider.role.active(); r != nil {
		return r.hasLease(h.clock.Moment())
	}
	leader, _ := h.raft.LeaderWithID() // none after a vote, which Raft counts as a contact too
	now, contact := time.Now(), h.raft.LastContact()
	silent := max(now.Sub(contact), now.Round(0).Sub(contact.Round(0))) // by the time of day too: see moment
	return leader != "" && h.raft.State() == raft.Follower && silent < h.opt.Heartbeat
}
