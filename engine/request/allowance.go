package request

import "github.com/stintdb/stint/engine"

// TakeAllowances is [keyspace.Keyspace.TakeAllowance] of a request for these parts, all or nothing. Those in held are
// only reported: others take their tokens if nothing is missing. It returns a part of which there is too little, and
// then res has no meaning.
func (r *Runner) TakeAllowances(now, priorAt int64, whole *engine.Op, parts []engine.Op, held engine.PartSet, res *engine.Result) (missing engine.PartSet) {
	own := make([]engine.Op, len(parts))
	for i := range parts {
		if held.Has(i) {
			own[i] = engine.Op{Key: parts[i].Key, Limit: parts[i].Limit, Options: engine.FixedCost}
			continue
		}
		var ok bool
		own[i], ok = parts[i].OfAllowance()
		own[i].PriorAt = priorAt
		if carry, found := r.keys.Taken(now, parts[i].Key); !ok || found && carry.Limit != parts[i].Limit {
			missing.Add(i)
			return missing
		}
	}
	all := engine.Op{Verb: engine.AcquireAll, Tokens: whole.Tokens, Options: whole.Options & engine.Peek, Parts: own}
	res.Binding = 0 // of an error that no part has
	r.Apply(now, &all, res, false, false)
	if !res.Allowed && (held != 0 || all.Options&engine.Peek == 0) {
		missing.Add(max(0, res.Binding))
	}
	return missing
}

// CheckBy carries out a Check whose limits take asks, which returns false if it cannot answer. A policy in shadow is
// not asked.
func (r *Runner) CheckBy(op *engine.Op, res *engine.Result, take func(parts []engine.Op) (done bool)) (done bool) {
	if r.policies.IsShadow(op.Key) {
		return false
	}
	g := groups.Get().(*group)
	defer groups.Put(g)
	if !r.openCheck(g, op, res) {
		return res.Status == engine.OK // it is denied without being asked
	}
	if !take(g.check.Parts) {
		return false
	}
	g.check.Complete(op, res)
	return true
}

// LimitKeys calls visit with the key of each limit that an AcquireAll, Check, Extend or Settle asks now: there are none if
// there is no such policy or reservation, or if the check does not fit the policy. visit may call the store, and not keep
// the key.
func (r *Runner) LimitKeys(op *engine.Op, visit func(key []byte)) {
	parts := op.Parts
	switch op.Verb {
	case engine.Extend, engine.Settle:
		r.reservationKeys(op.Key, visit)
		return
	case engine.Check:
		g := groups.Get().(*group)
		defer groups.Put(g)
		if !r.policies.Fill(&g.check, g.parts, op, &g.idResult) {
			return
		}
		parts = g.check.Parts
	}
	for i := range parts {
		visit(parts[i].Key)
	}
}
