package cluster

import (
	"context"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/opcodec"
)

// queue prepares the operations of a call for the log, those at the positions in which or all if which is nil, and queues it.
func (s *leaderShare) queue(p *proposer, c *call.Call, b *engine.Batch, which []uint32) engine.Status {
	if changesPolicies(b.Ops) {
		s.order.Lock()
		defer s.order.Unlock()
	} else {
		s.order.RLock()
		defer s.order.RUnlock()
	}
	t := s.term.Load()
	if t == nil {
		return p.add(c)
	}
	m := s.enter(t, s.now(), b.Ops, which)
	if carried := m.handOver(); carried != nil {
		first := &call.Call{Batch: &engine.Batch{Ops: carried.carries, Results: carried.carried, Done: func() {}}}
		first.Summarize()
		s.add(p, first, carried)
	}
	if c.Group != nil {
		var status engine.Status
		if c.Group, status = call.PackGroup(nil, &opcodec.Writer{}, b, which); status != engine.OK {
			m.leave(s.now(), false)
			return status
		}
	}
	return s.add(p, c, m)
}

// add queues a call whose marks are removed when its outcome is known.
func (s *leaderShare) add(p *proposer, c *call.Call, m *shareMarks) engine.Status {
	c.Outcome = func(applied bool) { m.leave(s.now(), applied) }
	status := p.add(c)
	if status != engine.OK {
		c.Settle(false)
	}
	return status
}

// requeue is queue for a call that comes back as a group, perhaps in another term.
func (s *leaderShare) requeue(p *proposer, c *call.Call) engine.Status {
	g, _, err := call.NextGroup(c.Group)
	if err != nil {
		return engine.Unreadable
	}
	ops, err := call.ReadGroup(&opcodec.Reader{}, g, nil)
	if err != nil {
		return engine.Unreadable
	}
	return s.queue(p, c, &engine.Batch{Ops: ops, Atomic: g.Atomic}, nil)
}

// expel hands all waiting calls back, to be prepared for another term.
func (p *proposer) expel() {
	var others, expelled []*entry
	p.mu.Lock()
	for _, e := range p.queue {
		if e.kind != kindDecisions {
			others = append(others, e)
			continue
		}
		expelled = append(expelled, e)
		p.bytes -= len(e.buf) - entryHead
		p.work.Add(-int64(e.work))
	}
	p.queue = others
	p.mu.Unlock()
	for _, e := range expelled {
		e.eachGroup(func(c *call.Call, group []byte) {
			c.Settle(false)
			c.Group = group
			p.requeueCall(c)
		})
	}
}

// shareSwitch opens and closes the share of a node while it leads.
type shareSwitch struct {
	opt     *Options
	clock   *clock
	fsm     *fsm
	formats *versionGate
	role    *leaderRole
	share   *leaderShare
	log     *nodeLog
}

// shareEvery is the time between two looks at the setting, and between two sweeps.
const shareEvery = 100 * time.Millisecond

// begin begins a term of the share; the state contains everything that earlier leaders have written. Calls queued before are
// prepared again.
func (s *leaderShare) begin(p *proposer, wanted, used bool) {
	s.order.Lock()
	s.term.Store(nil)
	if wanted || used {
		s.term.Store(s.newTerm(s.now(), used))
	}
	s.order.Unlock()
	p.expel()
}

// run follows the setting. That leaders may take tokens stands in the log before the first is taken, and until all are back after
// the last.
func (w *shareSwitch) run(ctx context.Context) {
	var closed time.Duration // since when nothing is taken in this term
	var term *shareTerm
	every(ctx, shareEvery, func() {
		r := w.role.active()
		if r == nil {
			return
		}
		wanted, used, t := w.opt.Share(), w.fsm.cluster.Load().Share, w.share.term.Load()
		if wanted || t != term {
			closed, term = w.clock.mono(), t
		}
		switch {
		case wanted && t == nil:
			w.share.order.Lock()
			w.share.term.Store(w.share.newTerm(w.share.now(), used))
			w.share.order.Unlock()
		case wanted && !used:
			w.record(ctx, true)
		case t == nil:
		case !wanted && used && w.clock.mono()-closed > 2*limits.MaxAllowanceTime:
			w.record(ctx, false)
		case !wanted && !used:
			w.share.term.CompareAndSwap(t, nil)
		default:
			t.isOpen.Store(wanted && used)
		}
		w.share.sweep(w.share.now())
	})
}

// record writes into the log whether leaders may take tokens.
func (w *shareSwitch) record(ctx context.Context, share bool) {
	if err := w.formats.propose(ctx, kindShare, shareBody{share}); err != nil {
		w.log.once("share", "cannot switch decisions in the leader's memory yet", "error", err)
	}
}
