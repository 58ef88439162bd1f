package allowance

import (
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// Queue prepares operations of a call for the log and queues the call. The operations are those at the positions in
// which, or all of them if which is nil.
func (s *Allowance) Queue(p *propose.Proposer, c *call.Call, b *engine.Batch, which []uint32) engine.Status {
	if engine.AnyChangesPolicies(b.Ops) {
		s.order.Lock()
		defer s.order.Unlock()
	} else {
		s.order.RLock()
		defer s.order.RUnlock()
	}
	t := s.Term.Load()
	if t == nil {
		return p.Add(c)
	}
	m := s.enter(t, s.now(), b.Ops, which)
	c.Outcome = func(applied bool) { m.leave(s.now(), applied) }
	var first *call.Call
	if carried := m.handOver(); carried != nil {
		first = &call.Call{Batch: &engine.Batch{Ops: carried.carries, Results: carried.carried, Done: func() {}}}
		first.Summarize()
		first.Outcome = func(applied bool) { carried.leave(s.now(), applied) }
	}
	status := engine.OK
	if c.Group != nil {
		c.Group, status = call.PackGroup(nil, &opcodec.Writer{}, b, which)
	}
	if status == engine.OK {
		status = p.AddBehind(first, c)
	}
	if status != engine.OK {
		c.Settle(false)
		if first != nil {
			first.Settle(false)
		}
	}
	return status
}

// Requeue is [Allowance.Queue] for a call that comes back as a group, perhaps in another term.
func (s *Allowance) Requeue(p *propose.Proposer, c *call.Call) engine.Status {
	g, _, err := call.NextGroup(c.Group)
	if err != nil {
		return engine.Unreadable
	}
	ops, err := call.ReadGroup(&opcodec.Reader{}, g, nil)
	if err != nil {
		return engine.Unreadable
	}
	return s.Queue(p, c, &engine.Batch{Ops: ops, Atomic: g.Atomic}, nil)
}

// StartTerm begins a term of the allowance while this node leads.
func (s *Allowance) StartTerm(used bool) {
	s.order.Lock()
	defer s.order.Unlock()
	s.Term.Store(s.newTerm(s.now(), used))
}

// Begin begins a term of the allowance, when the state contains everything that earlier leaders have written. Calls
// that were queued before are prepared again.
func (s *Allowance) Begin(p *propose.Proposer, wanted, used bool) {
	s.order.Lock()
	s.Term.Store(nil)
	if wanted || used {
		s.Term.Store(s.newTerm(s.now(), used))
	}
	s.order.Unlock()
	p.Expel()
}
