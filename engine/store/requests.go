package store

import "github.com/stintdb/stint/engine"

// TakeAllowances is [request.Runner.TakeAllowances].
func (s *Store) TakeAllowances(
	now, priorAt int64, whole *engine.Op, parts []engine.Op, held engine.PartSet, res *engine.Result,
) (missing engine.PartSet) {
	missing = s.requests.TakeAllowances(now, priorAt, whole, parts, held, res)
	if missing == 0 && s.trace != nil {
		op := engine.Op{Verb: engine.AcquireAll, Tokens: whole.Tokens, Options: whole.Options}
		for i := range parts {
			if !held.Has(i) {
				op.Parts = append(op.Parts, parts[i])
			}
		}
		s.trace(now, []engine.Op{op}, []engine.Result{*res})
	}
	return missing
}

// CheckBy is [request.Runner.CheckBy].
func (s *Store) CheckBy(op *engine.Op, res *engine.Result, take func(parts []engine.Op) (done bool)) (done bool) {
	return s.requests.CheckBy(op, res, take)
}

// LimitKeys is [request.Runner.LimitKeys].
func (s *Store) LimitKeys(op *engine.Op, visit func(key []byte)) { s.requests.LimitKeys(op, visit) }
