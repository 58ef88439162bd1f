package store

import "github.com/stintdb/stint/engine"

// Beside returns an empty store of which [Store.Hash] is the same.
func (s *Store) Beside(o Config) *Store { return newBeside(&s.Keyspace, o) }

// TakeAllowances is TakeAllowance of an AcquireAll with these parts.
func (s *Store) TakeAllowances(now int64, whole *engine.Op, parts []engine.Op, res *engine.Result) (done bool) {
	var own [engine.MaxParts]engine.Op
	for i := range parts {
		var ok bool
		if own[i], ok = parts[i].OfAllowance(); !ok {
			return false
		}
		if carry, found := s.Taken(now, parts[i].Key); found && carry.Limit != parts[i].Limit {
			return false
		}
	}
	all := engine.Op{Verb: engine.AcquireAll, Tokens: whole.Tokens, Options: whole.Options & engine.Peek, Parts: own[:len(parts)]}
	s.applySeveral(now, &all, res, false, false)
	return res.Allowed || all.Options&engine.Peek != 0
}

// CheckBy carries out a Check whose limits take asks, which returns false if it cannot answer. A policy in shadow is not asked.
func (s *Store) CheckBy(op *engine.Op, res *engine.Result, take func(parts []engine.Op) (done bool)) (done bool) {
	if _, _, shadow := s.policies.find(op.Key, op.Who); shadow {
		return false
	}
	g := s.groups.Get().(*acquireAllCall)
	defer s.groups.Put(g)
	answered := false
	return s.checkBy(g, op, res, func(parts []engine.Op) bool {
		answered = take(parts)
		return answered
	}) && (answered || res.Status == engine.OK) // or it is denied without being asked
}
