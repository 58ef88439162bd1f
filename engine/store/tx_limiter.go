package store

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Apply carries out an operation on the limiter of one key, as part of the transaction. It reports false for verbs that
// are about several keys.
func (t *Tx) Apply(op *engine.Op, res *engine.Result) bool {
	if !op.Verb.HasOneKey() {
		return false
	}
	res.Clear()
	c := &t.call
	if !t.loadLimiter(c, op, res) {
		return true
	}
	if op.Verb == engine.Acquire {
		t.acquire(c)
		return true
	}
	if c.isNew {
		res.Status = engine.NotFound
		return true
	}
	c.limit = c.prev
	t.change(c)
	return true
}

// loadLimiter fills c from the key of an operation; it reports false if its lock is not held.
func (t *Tx) loadLimiter(c *call, op *engine.Op, res *engine.Result) bool {
	if p := t.find(op.Key); p != nil {
		c.begin(t.now, op, res)
		switch {
		case p.gone:
		case p.Kind.IsValue():
			c.prev, c.state, c.isNew = p.limit, p.Data, false
		default:
			c.open(&p.limit, p.Data)
		}
		return true
	}
	sh, tag := t.store.locate(op.Key)
	if !t.holds(sh) {
		return false
	}
	sh.load(c, t.now, op, res, sh.find(tag, op.Key))
	if c.isNew && op.Verb == engine.Acquire && t.script != nil {
		t.startFrom(c, t.script)
	}
	return true
}

// startFrom begins a limiter with the leader's share taken, where the script says so.
func (t *Tx) startFrom(c *call, script *engine.Op) {
	isDeclared := slices.ContainsFunc(script.DeclaredKeys(), func(key []byte) bool { return bytes.Equal(key, c.op.Key) })
	if !isDeclared || script.Options&engine.AlsoDeclared != 0 {
		c.startFrom(c.limit.LeaderShare(), c.now)
	}
}

func (t *Tx) acquire(c *call) {
	if c.isNew {
		if rules := t.store.admission.rulesFor(c.op.Key, false, nil); rules != nil {
			c.refuse()
			c.result.Status = engine.OutOfRoom
			return
		}
	}
	if !c.ask() || c.op.Options&engine.Peek != 0 {
		return
	}
	alg := &algorithms[c.limit.Algorithm]
	if alg.bytes != 0 {
		t.keepLimiter(c, c.next[:alg.bytes])
		return
	}
	size := alg.need(c)
	if !c.isNew {
		size = max(size, len(c.state))
	}
	state := make([]byte, size)
	if !c.isNew {
		copy(state, c.state)
	}
	setVariableSize(state, size)
	alg.write(c, state)
	t.keepLimiter(c, state)
}

// keepLimiter makes a state that of the call's key, which is gone if that holds no information. Loans stay as they are.
func (t *Tx) keepLimiter(c *call, state []byte) {
	limit := c.limit
	if c.hasLoans {
		limit, state = c.lentState(state)
	}
	p := t.changed(c.op.Key)
	p.gone = algorithms[limit.Algorithm].expired(state, &limit, t.now)
	p.limit, p.Value = limit, Value{Kind: limit.Algorithm, Data: append(p.Data[:0], state...)}
}

// change carries out the other verbs, on a key that has a state.
func (t *Tx) change(c *call) {
	alg := &algorithms[c.prev.Algorithm]
	switch {
	case c.op.Verb == engine.Delete:
		t.Delete(c.op.Key)
	case c.prev.Algorithm.IsValue():
		c.wrongType(limits.NoAlgorithm)
	case c.op.Verb == engine.Look:
		c.show()
		c.result.Bytes = int64(len(c.state))
	case c.op.Verb == engine.ListLog:
		listLog(c)
	case c.op.Verb == engine.ListMembers:
		listMembers(c)
	case c.op.Verb == engine.Leases && alg.release != nil:
		listLeases(c)
	case c.op.Verb == engine.Release && alg.release == nil, c.op.Verb == engine.Leases:
		c.wrongType(limits.Concurrency)
	case c.op.Verb == engine.Refund && alg.refund == nil:
		c.result.Status, c.result.Held = engine.NotRefundable, c.prev
	default:
		t.changeInPlace(c, alg)
	}
}

// changeInPlace refunds tokens or ends a lease, on a copy of the state.
func (t *Tx) changeInPlace(c *call, alg *algorithm) {
	state := append([]byte(nil), c.state...)
	c.state = state
	if c.op.Verb == engine.Release {
		if !alg.release(c) {
			return
		}
		c.result.Granted = 1
	} else if alg.refund(c); alg.bytes != 0 {
		copy(state, c.next[:])
	}
	t.keepLimiter(c, state)
}
