package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
)

// check asks a policy's limits for a caller. With readOnly it takes nothing if tokens would be taken, and returns false.
func (s *Store) check(g *acquireAllCall, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	return s.checkBy(g, op, res, func(parts []engine.Op) bool { return s.acquireAll(g, now, op, parts, res, locked, readOnly) })
}

// checkBy is check with the limits asked by decide.
func (s *Store) checkBy(g *acquireAllCall, op *engine.Op, res *engine.Result, decide func(parts []engine.Op) (done bool)) (done bool) {
	if !s.openCheck(g, op, res) {
		return true
	}
	if !decide(g.check.Parts) {
		return false
	}
	g.check.Complete(op, res)
	return true
}

// openCheck finds out the limits that a check asks, with their keys. It returns false when res has an answer instead: an error, or the denial
// of a caller for whom two of the limits have one key.
func (s *Store) openCheck(g *acquireAllCall, op *engine.Op, res *engine.Result) (ok bool) {
	return s.policies.Fill(&g.check, g.parts, op, res) && purse.Place(s.owns, op, g.check.Parts, res) && !g.check.DenySameKey(op, res)
}
