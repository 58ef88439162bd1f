package server

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// held is a granted reservation whose reply waits for its time (BLOCK). The connection carries out nothing else
// meanwhile; other connections are not affected.
type held struct {
	row    *command.Row
	quiet  bool
	op     engine.Op
	result engine.Result
	wait   *waiter
	over   atomic.Bool
}

// hold keeps a reply back until its wait is over.
func (s *session) hold(r *reply, op engine.Op, result engine.Result) {
	op.Tokens = result.Granted
	h := &held{row: r.row, quiet: r.quiet, op: op, result: result}
	s.held = h
	s.waiting.Store(true)
	due := s.host.clock.Now() + result.Wait
	h.wait = s.host.waits.add(op, due, func() {
		h.over.Store(true)
		s.wake()
	})
}

// release writes the reply that was held.
func (s *session) release(ws *workspace) {
	h := s.held
	s.held = nil
	s.lastActive.Store(s.host.clock.Now()) // it was not idle: it was made to wait
	s.waiting.Store(false)
	if h.quiet {
		return
	}
	waited := h.result.Wait
	h.result.Wait = 0
	h.result.Reset = max(0, h.result.Reset-waited)
	h.row.Reply(&ws.out, []engine.Op{h.op}, []engine.Result{h.result})
}

// abandon gives up what the session was waiting for, because its client has gone: the tokens go back, and those who
// wait behind it move up.
func (s *session) abandon() {
	if a := s.awaited; a != nil && a.wait != nil {
		s.host.waits.cancel(a.wait)
	}
	h := s.held
	if h == nil || !s.host.waits.cancel(h.wait) {
		return
	}
	s.held = nil
	s.waiting.Store(false)
	b := &engine.Batch{
		Ops:     []engine.Op{{Verb: engine.Refund, Key: h.op.Key, Tokens: h.op.Tokens}},
		Results: make([]engine.Result, 1),
		Done:    func() {},
	}
	s.host.decider.Decide(b)
}
