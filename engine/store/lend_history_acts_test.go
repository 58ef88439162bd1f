package store

import (
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// request is one of a holder's callers: decided from memory, or by the limiter.
func (h *history) request(x *holder) {
	n := 1 + h.r.Int64N(max(1, h.asked.Capacity/20))
	h.endSpending(x)
	if x.left >= n {
		x.left -= n
		h.Spent++
		h.charge(n)
		if h.r.IntN(20) == 0 {
			h.after(h.delay(), func() { h.refund(n) })
		}
		return
	}
	op := engine.Op{Key: lentKey, Limit: h.asked, Tokens: n}
	switch h.r.IntN(9) {
	case 6:
		op.Options, op.Tokens = engine.UpTo, 1+h.r.Int64N(h.asked.Capacity)
	case 7:
		if op.Keep = engine.KeepTokens(h.r.Int64N(h.asked.Capacity)); h.r.IntN(2) == 0 {
			op.Keep = engine.KeepPercent(h.r.Int64N(engine.MaxKeepPercent))
		}
	case 8:
		h.after(h.delay(), func() { h.reserve(op) })
		return
	case 0:
		op = engine.Op{Verb: engine.AcquireAll, Tokens: n, Parts: h.parts(n, h.r.Int64N(4))}
	case 1:
		op = engine.Op{Verb: engine.Check, Key: enforced, Tokens: n}
		if h.r.IntN(2) == 0 {
			op.Key = shadowed
		}
	}
	h.after(h.delay(), func() { h.acquire(op) })
}

// reserve has a request remembered, which is settled later, at most once.
func (h *history) reserve(op engine.Op) {
	h.reserved++
	id := strconv.AppendInt(nil, int64(h.reserved), 10)
	n := h.acquire(engine.Op{Verb: engine.Reserve, Key: id, MaxWait: sec + h.r.Int64N(3*sec), Limit: op.Limit, Tokens: op.Tokens, Parts: []engine.Op{op}})
	if n == 0 {
		return
	}
	h.after(10*h.delay(), func() {
		used := h.r.Int64N(n + 1)
		h.endWindow()
		if res := h.ask(engine.Op{Verb: engine.Settle, Key: id, Tokens: used}); res.Status != engine.OK || !res.Allowed {
			return // it is not remembered any longer
		}
		if h.lent() > 0 {
			h.Settled++
		}
		h.askOne(engine.Op{Verb: engine.Refund, Key: lentKey, Tokens: n - used})
		h.endWindow()
	})
}

// parts are limits of which one is the key's, at a separate cost unless that is 0.
func (h *history) parts(n, cost int64) []engine.Op {
	parts := []engine.Op{{Key: lentKey, Limit: h.asked, Tokens: n}, {Key: otherKey, Limit: bucket(40, 20, sec), Tokens: n}}
	if cost > 0 {
		parts[0].Options, parts[0].Tokens = engine.FixedCost, cost
	}
	return parts
}

// large is a request for much, most of which comes back later.
func (h *history) large() {
	n := h.acquire(engine.Op{Key: lentKey, Limit: h.asked, Tokens: 1 + h.r.Int64N(h.asked.Capacity)})
	if n > 0 {
		back := 1 + h.r.Int64N(n)
		h.after(10*h.delay(), func() { h.refund(back) })
	}
}

func (h *history) refund(n int64) {
	if h.lent() > 0 {
		h.Refunds++
	}
	op := engine.Op{Verb: engine.Refund, Key: lentKey, Tokens: n}
	h.endWindow()
	h.ask(op)
	h.askOne(op)
	h.endWindow()
}

func (h *history) reset() {
	h.Resets++
	reset := engine.Op{Verb: engine.Delete, Key: lentKey}
	if h.r.IntN(2) == 0 {
		reset = engine.Op{Verb: engine.Flush}
	}
	h.ask(reset)
	h.askOne(reset)
	h.endWindow()
}

// change has requests ask for another limit from now on. Those on their way still ask for the last.
func (h *history) change() {
	h.asked.Capacity = h.first.Capacity/2 + h.r.Int64N(h.first.Capacity*3/2)
	switch {
	case h.first.Algorithm != limits.FixedWindow:
		h.asked.Rate.Tokens = 1 + h.r.Int64N(2*h.first.Rate.Tokens)
	case h.first.Span == limits.Aligned:
		h.asked.Rate.Period = sec + h.r.Int64N(2*sec)
	}
	h.setPolicies()
}

func (h *history) setPolicies() {
	h.ask(engine.Op{Verb: engine.SetPolicy, Key: enforced, Parts: h.parts(0, enforcedCost)})
	h.ask(engine.Op{Verb: engine.SetPolicy, Key: shadowed, Parts: h.parts(0, 0), Options: engine.Shadow})
}

// reload goes on with a store that was loaded from the last snapshot, and carried out the later operations again.
func (h *history) reload() {
	if h.lent() > 0 {
		h.Reloads++
	}
	s := New(Config{Shards: 1})
	h.snapshot.PolicyOps(func(op *engine.Op) { ask(s, h.taken, *op) })
	h.snapshot.Scan(h.taken, func(e keyspace.Entry) { h.differs = h.differs || s.Load(h.taken, e) != nil })
	for i := range h.since {
		ask(s, h.since[i].at, h.since[i].op)
	}
	h.differs = h.differs || s.Digest(h.now) != h.store.Digest(h.now)
	h.snapshot.Release()
	h.store.Close()
	h.store, h.snapshot = s, nil
	if h.fault.reloaded != nil {
		h.fault.reloaded(h)
	}
}

// endSpending has a holder stop before its loan ends.
func (h *history) endSpending(x *holder) {
	if x.left > 0 && h.loanFor != 0 && h.now >= x.since+h.loanFor {
		h.Ended++
		x.left = 0
	}
}

// send sends a holder's operation. It gives up on some, which arrive all the same, or never.
func (h *history) send(x *holder, op engine.Op) {
	if x.busy {
		return
	}
	h.endSpending(x)
	h.sent++
	number := h.sent
	op.Key, op.Who, op.Loan = lentKey, x.name, &engine.Loan{Number: number, Previous: x.known, Left: x.left}
	x.busy, x.last = true, number
	if op.Verb == engine.Lend {
		if op.MaxWait = h.loanFor; h.loanFor == 0 && h.r.IntN(2) == 0 {
			op.Options, op.Loan.Waiting, op.Loan.Each = engine.Merged, 1+h.r.Int64N(8), 1+h.r.Int64N(max(1, h.asked.Capacity/20))
		}
	} else {
		x.left = 0
	}
	sent, delay := h.now, h.delay()
	answer := func() {
		res := h.carryOut(op)
		h.heard = max(h.heard, h.now+h.delay())
		h.messages.send(h.heard, func() { h.hear(x, op, number, sent, res) })
	}
	switch h.r.IntN(16) {
	case 0, 1, 2:
		h.after(h.r.Int64N(sec/50), func() { x.busy = x.busy && x.last != number })
		delay += h.r.Int64N(sec)
	case 3:
		h.after(h.r.Int64N(sec/50), func() { x.busy = x.busy && x.last != number })
		return
	case 4, 5: // the answer is lost, and the operation sent again
		h.after(delay, func() { h.carryOut(op) })
		h.after(delay+h.delay(), func() {
			if x.last == number {
				answer()
			}
		})
		return
	}
	h.after(delay, answer)
}

// carryOut has the store carry out a holder's operation, which arrived now.
func (h *history) carryOut(op engine.Op) (res engine.Result) {
	asked, loan := op, *op.Loan
	op.Loan = &loan
	if h.fault.carryOut != nil {
		res = h.fault.carryOut(h, &op)
	} else {
		res = *h.ask(op)
	}
	if op.Verb == engine.Lend && res.Granted > 0 {
		h.held = h.ask(engine.Op{Verb: engine.Look, Key: lentKey}).Held // the key may be new
	}
	if n := merged(&op, &res); n > 0 {
		h.Merged++
		h.charge(n)
	}
	if res.Number != loan.Number && res.Number != loan.Previous {
		h.Ignored++
	}
	h.endWindow()
	h.tracer.Trace(h.now, []engine.Op{asked}, []engine.Result{res})
	return res
}

// merged is the tokens of the requests that a Lend has granted.
func merged(op *engine.Op, res *engine.Result) int64 {
	if op.Options&engine.Merged == 0 {
		return 0
	}
	return max(0, res.Granted-max(0, res.Lent-op.Loan.Left))
}

// hear is a holder's, when an answer arrives.
func (h *history) hear(x *holder, op engine.Op, number uint64, sent int64, res engine.Result) {
	x.known = res.Number
	if x.last == number {
		x.busy = false
	}
	if x.dead || op.Verb != engine.Lend || res.Number != number {
		return
	}
	h.endSpending(x)
	x.left += res.Granted - merged(&op, &res)
	x.since = sent
}

// replace has a holder die, and another begin in its place.
func (h *history) replace(x int) {
	old := h.holders[x]
	old.dead = true
	h.holders[x] = h.newHolder()
	h.after(h.delay(), func() {
		void := engine.Op{Verb: engine.Void, Key: lentKey, Who: old.name, Options: engine.Force}
		res := h.ask(void)
		if res.Granted > 0 {
			h.Voids++
		}
		h.tracer.Trace(h.now, []engine.Op{void}, []engine.Result{*res})
		h.endWindow()
	})
}
