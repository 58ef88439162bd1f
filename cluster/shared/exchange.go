package shared

import (
	"fmt"
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// outcome is that of an operation on a loan.
type outcome struct {
	refusal engine.Result // of Status OK if the operation was carried out
	isDry   bool          // home has lent less than was asked for
	asked   time.Time     // home, whose answer may be late
}

// exchange begins an operation on the loan of a key, unless one is under way. It returns false at the end. k.mu is held.
func (l *Limits) exchange(k *key, returning bool) bool {
	if k.exchanging {
		return true
	}
	k.exchanging = l.begin(func() {
		for more := true; more; returning = false {
			more = l.serve(k, l.operate(k, returning))
		}
	})
	return k.exchanging
}

// inTurn is do for a step of an operation on a loan, once fewer than maxExchanges of them are under way in its group: those that wait for a group
// without a leader hold up no operations of other groups.
func (l *Limits) inTurn(at int, ops ...engine.Op) []engine.Result {
	group := at
	if at == 0 {
		group = l.opt.Router.Home(ops[0].Key)
	}
	slots := l.slotsOf(group)
	timeout := time.NewTimer(l.opt.Timeout)
	defer timeout.Stop()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return l.do(at, ops...)
	case <-timeout.C:
		return slices.Repeat([]engine.Result{{Status: engine.Overloaded}}, len(ops))
	}
}

// slotsOf has room for each operation on a loan that a group is asked to carry out.
func (l *Limits) slotsOf(group int) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slots[group] == nil {
		l.slots[group] = make(chan struct{}, maxExchanges)
	}
	return l.slots[group]
}

func failed(status engine.Status) outcome { return outcome{refusal: engine.Result{Status: status}} }

// operate carries out one operation on the loan of a key: prepared in the purse's group, carried out at home, deposited in the purse's group. If
// it fails, or home has nothing to lend, the next one, of any node, goes on with it.
func (l *Limits) operate(k *key, returning bool) outcome {
	k.mu.Lock()
	limit := k.limit
	k.mu.Unlock()
	kept, ok := limit.InPurse()
	if !ok {
		return failed(engine.NotShared)
	}
	prepare := engine.Op{Verb: engine.Prepare, Key: []byte(k.name), Limit: kept}
	if returning {
		prepare.Options = engine.Cancel
	}
	prepared := l.inTurn(k.at, prepare)[0]
	if prepared.Status != engine.OK {
		return outcome{refusal: prepared}
	}
	p := purse.Of(&prepared)
	k.mu.Lock()
	want, waiting := int64(0), int64(0)
	if !returning {
		want = k.want(p.Tokens)
	}
	if len(k.waiters) > 0 {
		waiting = k.waiters[0].tokens
	}
	k.mu.Unlock()
	asked := time.Now()
	answers := l.inTurn(0, k.ask(&p, limit, want, waiting)...)
	answer := &answers[0]
	if answer.Status == engine.OK && !returning && p.IsPending(answer.Granted, answer.Number) {
		return l.learn(k, &p, limit, want, waiting, answers, asked)
	}
	deposit, ok := l.depositOf(k, &p, answer)
	if !ok {
		return outcome{refusal: *answer}
	}
	came := l.inTurn(k.at, deposit)[0]
	switch {
	case came.Status != engine.OK:
		return outcome{refusal: came}
	case answer.Status != engine.OK:
		return outcome{refusal: *answer}
	case p.Returning:
		l.counts.returned.Add(answer.Granted)
	default:
		l.counts.lent.Add(came.Granted)
		if late, ok := p.LentLate([]byte(k.name), holderOf(k.at), answer.Granted, &came); ok {
			l.counts.returned.Add(l.inTurn(0, late)[0].Granted)
		}
	}
	return l.learn(k, &p, limit, want, waiting, answers, asked)
}

// depositOf returns the operation that brings an answer to the purse; ok is false if the answer says nothing about the loan.
func (l *Limits) depositOf(k *key, p *purse.Purse, answer *engine.Result) (deposit engine.Op, ok bool) {
	switch answer.Status {
	case engine.OK:
		if !l.close(k, p, answer) {
			return deposit, false
		}
		return p.Answered([]byte(k.name), answer.Granted, answer.Number), true
	case engine.NotHeld:
		return p.Answered([]byte(k.name), 0, 0), true
	case engine.WrongType, engine.OutOfRoom, engine.NoRoomToGrow: // nothing was carried out
		return p.Answered([]byte(k.name), 0, p.Previous), true
	default:
		return deposit, false
	}
}

// close has home end an operation that it had nothing to lend for, and completes its answer. It returns false, with the error in answer, if home did not.
func (l *Limits) close(k *key, p *purse.Purse, answer *engine.Result) bool {
	closing, ok := p.Close([]byte(k.name), holderOf(k.at))
	if !ok || !p.IsOpen(answer.Granted, answer.Number) {
		return true
	}
	closed := l.inTurn(0, closing)[0]
	if closed.Status == engine.OK {
		closed.Granted = p.Closed(closed.Lent, closed.Number)
	}
	*answer = closed
	return answer.Status == engine.OK
}

// ask is the prepared operation, and looks at when the first request that waits could be granted, and at the limit in force.
func (k *key) ask(p *purse.Purse, limit limits.Limit, want, waiting int64) []engine.Op {
	loan, holder := p.Loan(), holderOf(k.at)
	if p.Returning {
		return []engine.Op{{Verb: engine.Return, Key: []byte(k.name), Who: holder, Loan: &loan}}
	}
	ops := []engine.Op{{Verb: engine.Lend, Key: []byte(k.name), Limit: limit, Tokens: want, Who: holder, Loan: &loan}}
	if waiting > 0 {
		ops[0].Options = engine.Whole
		ops = append(ops, engine.Op{Verb: engine.Acquire, Key: []byte(k.name), Limit: limit, Tokens: waiting, Options: engine.Peek}, engine.Op{Verb: engine.Look, Key: []byte(k.name)})
	}
	return ops
}

// holderOf is the name of a group as the holder of a loan.
func holderOf(group int) []byte { return fmt.Append(nil, keyspace.GroupHolder, group) }

// learn takes home's answers, for which it was asked at a time. A limit that is not the one in force at home comes with a grant: that costs one token.
func (l *Limits) learn(k *key, p *purse.Purse, limit limits.Limit, want, waiting int64, answers []engine.Result, asked time.Time) (o outcome) {
	o.asked = asked
	answer, now := &answers[0], time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remaining, k.reset = max(0, answer.Remaining), answer.Reset
	if p.Returning || answer.Number != p.Number && answer.Number != p.Previous {
		return o // the purse begins again
	}
	if answer.Granted >= want {
		k.isDry = false
		return o
	}
	if len(answers) < 3 || answers[1].Status != engine.OK {
		return o
	}
	look, inForce := &answers[1], &answers[2]
	if look.Allowed && inForce.ShowsHeld() && inForce.Held != limit {
		k.mu.Unlock()
		l.do(0, engine.Op{Verb: engine.Acquire, Key: []byte(k.name), Limit: limit, Tokens: 1})
		k.mu.Lock()
		return o
	}
	if look.Allowed && answer.Number == p.Number {
		return o // another node has carried the same operation out, and asked for less
	}
	o.isDry = true
	d := denial{limit: limit, tokens: waiting, wait: now.Add(time.Duration(look.Wait)), never: look.Wait == engine.NeverWait, held: p.Tokens + answer.Granted}
	d.until = asked.Add(denyFor)
	if !d.never {
		rest := d.after(now, waiting)
		if k.isDry && limit.Rate.Tokens > 0 { // more is asked for than refills: not each token is worth an operation
			rest = max(rest, limit.Rate.Refill(limit.Capacity/restShare))
		}
		if due := now.Add(time.Duration(rest)); due.Before(d.until) {
			d.until = due
		}
	}
	k.denied, k.isDry = d, true
	return o
}

// serve has the requests decided that waited for an operation on the loan. It reports whether there are more, and the next operation is to begin.
func (l *Limits) serve(k *key, o outcome) (more bool) {
	k.mu.Lock()
	waiters := k.waiters
	k.waiters = nil
	k.mu.Unlock()
	for len(waiters) > 0 {
		n := min(len(waiters), decideAtOnce)
		requests := make([]*request, n)
		for i := range requests {
			requests[i] = waiters[i].request
		}
		l.decide(k.at, requests, func(r *request) bool { return l.settleServed(k, r, &o) })
		waiters = waiters[n:]
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.exchanging = len(k.waiters) > 0
	return k.exchanging
}

// settleServed is settle for a request that has waited for an operation on the loan of a key.
func (l *Limits) settleServed(k *key, r *request, o *outcome) (finished bool) {
	part := l.short(r)
	if part < 0 || string(r.parts[part].Key) != k.name {
		return l.settle(r)
	}
	switch {
	case o.refusal.Status != engine.OK:
		r.refuse(&o.refusal)
		return true
	case o.isDry && !r.waits.After(o.asked): // a later one may find tokens that have come home since
		k.mu.Lock()
		defer k.mu.Unlock()
		l.deny(k, r, part, k.denied.after(time.Now(), r.parts[part].Tokens))
		return true
	}
	return l.settle(r)
}

// refuse answers a request as an operation on the loan was: nothing was taken.
func (r *request) refuse(by *engine.Result) {
	switch by.Status {
	case engine.Uncertain: // only the operation on the loan is
		r.fail(engine.NoLeader)
	default:
		r.fail(by.Status)
		r.res.Held, r.res.Wanted = by.Held, by.Wanted
	}
}
