package transaction

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// Apply carries out an operation on the limiter of one key, as part of the transaction. It reports false for verbs that
// are about several keys.
func (t *Tx) Apply(op *engine.Op, res *engine.Result) bool {
	if !op.Verb.HasOneKey() {
		return false
	}
	res.Clear()
	c, op := &t.call, t.named(op)
	if !t.loadLimiter(c, op, res) {
		return true
	}
	if op.Verb == engine.Acquire {
		t.acquire(c)
		return true
	}
	if c.IsNew {
		res.Status = engine.NotFound
		return true
	}
	c.Limit = c.Prev
	t.change(c)
	return true
}

// loadLimiter fills c from the key of an operation; it reports false if its lock is not held.
func (t *Tx) loadLimiter(c *algorithm.Call, op *engine.Op, res *engine.Result) bool {
	if p := t.find(op.Key); p != nil {
		c.Begin(t.now, op, res)
		switch {
		case p.Gone:
		case p.Kind.IsData():
			c.Prev, c.State, c.IsNew = p.Limit, p.Data, false
		default:
			c.Open(&p.Limit, p.Data)
		}
		return true
	}
	s, held := t.shards.spotOf(op.Key)
	if !held {
		return false
	}
	s.shard.Load(c, t.now, op, res, s.find(op.Key))
	if c.IsNew && op.Verb == engine.Acquire && t.script != nil {
		t.startFrom(c, t.script)
	}
	return true
}

// startFrom begins a limiter with the leader's allowance taken, where the script says so.
func (t *Tx) startFrom(c *algorithm.Call, script *engine.Op) {
	var names database.Room
	isDeclared := slices.ContainsFunc(script.DeclaredKeys(), func(key []byte) bool { return bytes.Equal(names.NameOf(script.Database, key), c.Op.Key) })
	if !isDeclared || script.Options&engine.AlsoDeclared != 0 {
		c.StartFrom(c.Limit.LeaderAllowance(), c.Now)
	}
}

func (t *Tx) acquire(c *algorithm.Call) {
	if c.IsNew {
		if rules := t.runner.keys.Admission.RulesFor(c.Op.Key, false, nil); rules != nil {
			c.Refuse()
			c.Result.Status = engine.OutOfRoom
			return
		}
	}
	if !c.Ask() || c.Op.Options&engine.Peek != 0 {
		return
	}
	alg := &algorithm.Table[c.Limit.Algorithm]
	if alg.Bytes != 0 {
		t.keepLimiter(c, c.Next[:alg.Bytes])
		return
	}
	size := alg.Need(c)
	if !c.IsNew {
		size = max(size, len(c.State))
	}
	state := make([]byte, size)
	if !c.IsNew {
		copy(state, c.State)
	}
	layout.SetVariableSize(state, size)
	alg.Write(c, state)
	t.keepLimiter(c, state)
}

// keepLimiter gives the call's key a state. The key is gone if the state holds no information. Loans stay as they are.
func (t *Tx) keepLimiter(c *algorithm.Call, state []byte) {
	if c.Limit.Warn != 0 && c.Warns(state, c.Rearms()) {
		w := c.Warning(state)
		w.Key = bytes.Clone(w.Key)
		t.warnings = append(t.warnings, w)
	}
	limit := c.Limit
	if c.Wrapped || limit.History > 0 {
		limit, state = c.WrappedState(state)
	}
	p := t.changed(c.Op.Key)
	p.Gone = algorithm.Table[limit.Algorithm].Expired(state, &limit, t.now)
	p.Limit, p.Value = limit, engine.Value{Kind: engine.KindOf(limit.Algorithm), Data: append(p.Data[:0], state...)}
}

// change carries out the other verbs, on a key that has a state.
func (t *Tx) change(c *algorithm.Call) {
	alg := &algorithm.Table[c.Prev.Algorithm]
	switch {
	case c.Op.Verb == engine.Delete:
		t.delete(c.Op.Key)
	case c.Prev.Algorithm.IsValue():
		c.WrongType(limits.NoAlgorithm)
	case c.Op.Verb == engine.Look:
		c.Show()
		c.Result.Bytes = int64(len(c.State))
	case algorithm.List(c):
	case c.Op.Verb == engine.Leases && alg.Release != nil:
		algorithm.ListLeases(c)
	case c.Op.Verb == engine.Release && alg.Release == nil, c.Op.Verb == engine.Leases:
		c.WrongType(limits.Concurrency)
	case c.Op.Verb == engine.Refund && alg.Refund == nil:
		c.Result.Status, c.Result.Held = engine.NotRefundable, c.Prev
	default:
		t.changeInPlace(c, alg)
	}
}

// changeInPlace refunds tokens or ends a lease, on a copy of the state.
func (t *Tx) changeInPlace(c *algorithm.Call, alg *algorithm.Row) {
	state := append([]byte(nil), c.State...)
	c.State = state
	if c.Op.Verb == engine.Release {
		if !alg.Release(c) {
			return
		}
		c.Result.Granted = 1
	} else if alg.Refund(c); alg.Bytes != 0 {
		copy(state, c.Next[:])
	}
	t.keepLimiter(c, state)
}
