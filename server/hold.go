package server

import (
	"sync"
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
	s.held, s.answered = nil, true
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

// abandon gives up what the session was waiting for, because its client has gone: the tokens of a reply that was held,
// or that is going to be, go back, and those who wait behind it move up.
func (s *session) abandon() {
	if a := s.awaited; a != nil && a.wait != nil {
		s.host.waits.cancel(a.wait)
	}
	s.endMonitor()
	if s.kept != nil {
		s.left.Store(true)
		s.settle()
	}
	h := s.held
	if h == nil || !s.host.waits.cancel(h.wait) {
		return
	}
	s.held = nil
	s.waiting.Store(false)
	s.host.refund(h.op)
}

// settle gives back what a batch reserved for a client that left before it was decided. It is called when the batch is
// finished and when the connection is closed; whichever comes second does it.
func (s *session) settle() {
	if !s.done.Load() || !s.left.Load() || s.settled.Swap(true) {
		return
	}
	ws := s.kept
	for i := range ws.replies {
		r := &ws.replies[i]
		if !r.hold || !ws.batch.Results[r.first].Allowed || ws.batch.Results[r.first].Wait <= 0 {
			continue
		}
		op, result := ws.batch.Ops[r.first], &ws.batch.Results[r.first]
		op.Tokens = result.Granted
		// It takes its place in the queue and leaves it, which moves up those who came behind it.
		if s.host.waits.cancel(s.host.waits.add(op, s.host.clock.Now()+result.Wait, func() {})) {
			s.host.refund(op)
		}
	}
}

// refund gives back what a reservation took. A cluster that can't be asked leaves it taken, which is the safe side.
func (s *Server) refund(reserved engine.Op) {
	b := &engine.Batch{
		Ops:     []engine.Op{{Verb: engine.Refund, Key: reserved.Key, Tokens: reserved.Tokens}},
		Results: make([]engine.Result, 1),
		Done:    func() {},
	}
	s.decider.Decide(b)
}

// late runs what is left to do for connections that are closed, on goroutines of its own, until the server ends.
type late struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// run starts f, unless the server has ended: then there may be no store any more.
func (l *late) run(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.running.Go(f)
	}
}

// end waits for all that was started and lets nothing more start.
func (l *late) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.running.Wait()
}
