package keywait

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/waitqueue"
)

// placeWait is what is particular about a wait for a place among the leases of a key. Until there is one, each attempt
// is denied. Only the first client in line looks at the key: after each change of the key, and when a lease expires.
type placeWait struct {
	op   engine.Op // as its client sent it
	peek engine.Op // the lease alone, to see in this node's state whether there is a place
	part int       // of the operation, -1 if it is the lease itself
	gone bool      // the policy of the operation has no such lease any longer: the next attempt is the last

	expiry *waitqueue.Waiter // the time of the next look without a change
	lacks  bool              // the holder has no lease, as an attempt or this node's state has shown
	probes bool              // the attempt under way only finds out whether the holder has a lease
	renews bool              // it has: the next attempt is made at once
}

// Each priority has its line.
const _ = uint(blocking.MaxPriority - command.MaxPriority)

// Lease is the first lease that an operation asks for, and its part of the operation, -1 if it is the whole. It is nil if
// the operation asks for none, or, as a check in shadow, is never denied.
func (e *Env) Lease(op *engine.Op) (lease *engine.Op, part int) {
	whole := *op
	if op.Verb == engine.Check {
		if p, found := e.Keys.PolicyOf(string(op.Key), nil); !found || p.Shadow {
			return nil, 0
		}
		whole.Parts = e.Keys.Asked(op)
	}
	switch part = whole.FirstLease(); {
	case part < 0:
		return &whole, part
	case part < len(whole.Parts):
		return &whole.Parts[part], part
	}
	return nil, 0
}

// BeginPlace is [Env.Begin] for a command that waits for a place among the leases of op: for the lease that [Env.Lease]
// has returned.
func (e *Env) BeginPlace(w Wait, asks *command.Wait, op, lease *engine.Op, part int, now int64, wake func(alone bool)) *Wait {
	p := &placeWait{peek: lease.Clone(), part: part}
	*op = op.Clone() // it may outlive the input
	p.op = *op
	p.peek.Options |= engine.Peek
	w.env, w.asks, w.place, w.names = e, *asks, p, [][]byte{p.peek.Key}
	return w.begin(blocking.ToEnter+blocking.Line(asks.Priority), now, wake)
}

// follow brings the lease up to the present policy.
func (p *placeWait) follow(e *Env) {
	if p.op.Verb != engine.Check {
		return
	}
	lease, part := e.Lease(&p.op)
	if p.gone = lease == nil || part != p.part || !bytes.Equal(lease.Key, p.peek.Key); !p.gone {
		p.peek = *lease
		p.peek.Options |= engine.Peek
	}
}

// look finds out from this node's state whether the holder has a lease, which it then renews at once. If it is not the
// client's turn, and this node knows of no lease, the first attempt is a probe: this node may not have heard of the lease
// yet.
func (p *placeWait) look(w *Wait) {
	list, res := engine.Op{Verb: engine.Leases, Key: p.peek.Key, Who: p.peek.Who}, engine.Result{}
	isKnown := w.env.try(&list, &res)
	p.lacks = isKnown && len(res.Leases) == 0
	p.probes = len(w.asked) == 0 && (!isKnown || p.lacks)
}

// restrict makes an attempt a probe, or leaves other limits what is left of the client's time.
func (p *placeWait) restrict(op *engine.Op, left int64) {
	switch {
	case p.probes:
		// With a limit of 1, only a holder may have a lease, or anybody if there is none.
		*op = p.peek
		op.Limit.Capacity = 1
	case p.part >= 0:
		op.SetMaxWait(max(1, left))
	}
}

// mayEnter reports whether there is a place, as far as this node knows. If there is none, it sets the alarm to the time
// at which a lease expires.
func (p *placeWait) mayEnter(w *Wait) bool {
	p.cancel(w)
	p.follow(w.env)
	res := engine.Result{}
	if isKnown := w.env.try(&p.peek, &res); p.gone || !isKnown || res.Status != engine.OK || res.Allowed {
		return true
	}
	waiter, name := w.waiter, string(p.peek.Key)
	p.expiry = w.env.Queue.Call(w.env.Clock.Now()+res.Wait, func() { waiter.Again(name) })
	return false
}

func (p *placeWait) cancel(w *Wait) {
	if p.expiry != nil {
		w.env.Queue.Cancel(p.expiry)
	}
}

// isDenied reports whether there was no place in an attempt. A denial by another limit ends the wait.
func (p *placeWait) isDenied(res *engine.Result) bool {
	switch {
	case p.probes && res.Status == engine.OK:
		p.probes, p.renews, p.lacks = false, res.Allowed, !res.Allowed
		return true
	case res.Status != engine.OK || res.Allowed || p.gone:
		return false
	case p.part < 0:
		return true
	}
	return p.part < len(res.Parts) && res.Parts[p.part].Wait > 0
}

// isLost reports whether an attempt was not decided, as while a cluster has no leader, and may be repeated.
func (p *placeWait) isLost(res *engine.Result) bool {
	if p.probes { // the holder may have a lease
		p.probes, p.renews, p.lacks = false, true, false
	}
	switch res.Status {
	case engine.NoLeader, engine.Overloaded:
		return true
	case engine.Uncertain:
		return p.part < 0 // a repeated attempt renews the lease
	}
	return false
}

// IsForPlace reports whether the wait is for a place among leases.
func (w *Wait) IsForPlace() bool { return w.place != nil }

// GivesBack reports whether what an attempt was granted goes back if its client has left. What a holder has renewed
// does not, because the holder may still rely on it.
func (w *Wait) GivesBack() bool { return w.place != nil && w.place.lacks && !w.place.probes }

// Last makes an operation the last attempt, after the time of the wait.
func (w *Wait) Last(op *engine.Op) {
	if w.place.part >= 0 {
		op.SetMaxWait(engine.NoWait)
	}
}
