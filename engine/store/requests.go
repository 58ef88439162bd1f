package store

import "github.com/stintdb/stint/engine"

// TakeAllowances is [request.Runner.TakeAllowances].
func (s *Store) TakeAllowances(
	now, priorAt int64, whole *engine.Op, parts []engine.Op, held engine.PartSet, res *engine.Result,
) (missing engine.PartSet) {
	return s.requests.TakeAllowances(now, priorAt, whole, parts, held, res)
}

// CheckBy is [request.Runner.CheckBy].
func (s *Store) CheckBy(op *engine.Op, res *engine.Result, take func(parts []engine.Op) (done bool)) (done bool) {
	return s.requests.CheckBy(op, res, take)
}

// LimitKeys is [request.Runner.LimitKeys].
func (s *Store) LimitKeys(op *engine.Op, visit func(key []byte)) { s.requests.LimitKeys(op, visit) }
