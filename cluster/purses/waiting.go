package purses

import (
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
)

// maxWaiting bounds the requests that wait for one key.
const maxWaiting = 4096

// Waiter is a call whose open operations are alike: all ask for the same number of tokens of one key.
type Waiter struct {
	Call     *call.Call
	Op       engine.Op // one of them; it has no key while the call waits, and afterwards one in memory that stays
	Requests int64
	Failed   engine.Status // the error of an answered call

	tokens int64 // of each
}

// Served are calls that no longer wait. They are claimed.
type Served struct {
	Answered []*Waiter
	ForLog   []*Waiter // to be decided in the log

	granted int64 // requests
}

// giveUp leaves a claimed call for a key to the log.
func (s *Served) giveUp(w *Waiter, key string) {
	w.Op.Key = []byte(key)
	s.ForLog = append(s.ForLog, w)
}

// MayAnswer reports whether tokens held can answer an Acquire, or one part of a request for several limits. Where usage
// is kept, it counts in the window of its request, so nodes hold none of it.
func MayAnswer(op *engine.Op) bool {
	return op.MaxWait == 0 && op.Keep == 0 && op.Limit.Algorithm.CanBeLent() && op.Limit.History == 0
}

// CanWait reports whether a request may wait for a Lend that grants it.
func CanWait(op *engine.Op) bool {
	return op.Verb == engine.Acquire && op.Options == 0 && op.Tokens > 0 && op.Tokens <= op.Limit.Capacity && MayAnswer(op)
}

// Wait makes a call wait for the tokens of a key, or returns false. due is the operation that the call waits for, or
// one to be carried out beside it, nil if there is none.
func (t *Table) Wait(mono time.Duration, w *Waiter) (waits bool, due *Operation) {
	s, _ := t.of(w.Op.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byKey[string(w.Op.Key)]
	if p == nil || p.limit != w.Op.Limit {
		return false, nil
	}
	p.use(mono, w.Op.Tokens*(w.Requests-1)) // Spend has counted one
	w.tokens = w.Op.Tokens
	begins := !p.Prepared && mono >= p.pausedUntil && t.ahead.Load() > 0
	if !begins && (!p.sending || p.Returning) || !p.hasRoomFor(w) {
		return false, t.due(p, mono)
	}
	w.Op.Key = nil // its memory belongs to the session, which reuses it
	p.waiters, p.requests = append(p.waiters, w), p.requests+w.Requests
	if begins {
		due = t.due(p, mono)
	}
	return true, due
}

// Due returns the operation that brings tokens of a held key, nil if there is none.
func (t *Table) Due(mono time.Duration, op *engine.Op) *Operation {
	s, _ := t.of(op.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.byKey[string(op.Key)]; p != nil && p.limit == op.Limit {
		return t.due(p, mono)
	}
	return nil
}

// hasRoomFor reports whether a call may wait: there is room, and it asks for as many tokens as the other calls that
// wait for the next operation.
func (p *keyPurse) hasRoomFor(w *Waiter) bool {
	return p.requests+w.Requests <= maxWaiting && (len(p.waiters) == p.joined || p.waiters[p.joined].tokens == w.tokens)
}

// join makes all calls wait for the operation that is being sent.
func (p *keyPurse) join(mono time.Duration) (requests, each int64) {
	p.begun, p.joined, requests, p.requests = mono, len(p.waiters), p.requests, 0
	for _, w := range p.waiters {
		w.Call.Send()
		each = w.tokens
	}
	return requests, each
}

// taken returns the tokens that a Lend has charged for the requests that waited for it.
func (o *Operation) taken(res *engine.Result) int64 {
	return max(0, res.Granted-max(0, res.Lent-o.Loan.Left))
}

// serve answers the calls that waited for the operation o, and then those that came later, as long as tokens are left.
func (p *keyPurse) serve(now int64, o *Operation, res *engine.Result, isKnown bool) (served Served) {
	joined, taken := p.waiters[:p.joined], int64(0)
	p.waiters, p.joined = p.waiters[p.joined:], 0
	if isKnown && res.Status == engine.OK {
		taken = o.taken(res)
	}
	for _, w := range joined {
		if won, _ := w.Call.Claim(); !won {
			continue
		}
		isDenied := isKnown && res.Status == engine.OK && res.Wait != 0
		switch enough := taken/w.tokens+p.Tokens/w.tokens >= w.Requests; {
		case !isKnown:
			status := res.Status
			if status == engine.OK {
				status = engine.Uncertain
			}
			w.Call.FillError(status)
			w.Failed = status
		case !enough && !isDenied:
			served.giveUp(w, p.key)
			continue
		default:
			taken = p.answerAll(w, now, taken, res, &served)
		}
		served.Answered = append(served.Answered, w)
	}
	for len(p.waiters) > 0 && p.Tokens/p.waiters[0].tokens >= p.waiters[0].Requests {
		w := p.waiters[0]
		p.waiters, p.requests = p.waiters[1:], p.requests-w.Requests
		if won, _ := w.Call.Claim(); won {
			p.answerAll(w, now, 0, res, &served)
			served.Answered = append(served.Answered, w)
		}
	}
	return served
}

// answerAll answers the requests of a call, first from tokens that were charged for them, then from the tokens held. It
// denies the rest as the Lend did, and returns the charged tokens that are left.
func (p *keyPurse) answerAll(w *Waiter, now, taken int64, res *engine.Result, served *Served) (left int64) {
	w.Call.Each(func(_ *engine.Op, result *engine.Result) {
		switch {
		case taken >= w.tokens:
			taken -= w.tokens
		case p.Tokens >= w.tokens:
			p.Tokens -= w.tokens
		default:
			result.Clear()
			result.Limit, result.Remaining = p.limit.Capacity, min(p.Tokens+p.others, w.tokens-1)
			result.Wait, result.Reset = res.Wait, res.Reset
			return
		}
		p.answer(now, w.tokens, result)
		served.granted++
	})
	return taken
}
