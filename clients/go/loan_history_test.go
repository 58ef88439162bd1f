package stint

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLoansNeverExceedTheLimit: over random histories of processes that spend from purses, with messages that are lost
// or late, processes that stop or crash, and refunds, deletions and other rates by anybody, no more is granted than one
// exact limiter would that counts every token when it is spent. Each fault lets some history exceed it, so the test
// finds faults.
func TestLoansNeverExceedTheLimit(t *testing.T) {
	const histories = 5000
	limits := []Limit{PerSecond(1000).Burst(100_000), PerSecond(100).Burst(50), PerSecond(20).Burst(1000), Per(7, 3*time.Second).Burst(300), Window(500, Aligned(2*time.Second))}
	for _, fault := range []string{"", "spends past the end of the loan", "does not see that the machine slept", "uses late answers", "takes any number for the last"} {
		t.Run(cmp.Or(fault, "no fault"), func(t *testing.T) {
			exceeded := 0
			var total loanHistory
			for seed := range uint64(histories) {
				h := newLoanHistory(seed, limits[seed%uint64(len(limits))], fault)
				for range 500 {
					h.step()
				}
				if h.model.excess > 0 {
					exceeded++
					if fault == "" {
						t.Fatalf("history %d: %d tokens more than %v", seed, h.model.excess, h.limit)
					}
				}
				total.spent += h.spent
				total.ignored += h.ignored
				total.lost += h.lost
				total.late += h.late
			}
			t.Logf("%d of %d histories exceed the limit", exceeded, histories)
			if fault != "" && exceeded == 0 {
				t.Error("no history shows the fault")
			}
			if total.spent == 0 || total.ignored == 0 || total.lost == 0 || total.late == 0 {
				t.Errorf("too little happened: %+v", total)
			}
		})
	}
}

// A loanHistory is random events on one key.
type loanHistory struct {
	random  *rand.Rand
	limit   Limit
	fault   string
	model   *model
	now     int64
	events  []loanEvent
	holders []*loanHolder
	serial  int
	direct  int64 // tokens granted to others, of which some come back
	spent   int64
	ignored int
	lost    int
	late    int // answers that came while their process was stopped
}

type loanEvent struct {
	at     int64
	happen func()
}

// A loanHolder is a process with a purse.
type loanHolder struct {
	purse   purse
	waits   int64 // the number of the operation whose answer it waits for
	stopped int64 // until then it does nothing
	slept   int64 // the time for which its monotonic clock stood still
}

func newLoanHistory(seed uint64, limit Limit, fault string) *loanHistory {
	h := &loanHistory{random: rand.New(rand.NewPCG(seed, 7)), limit: limit, fault: fault, model: newModel(limit)}
	for range 2 {
		h.holders = append(h.holders, h.newHolder())
	}
	return h
}

func (h *loanHistory) newHolder() *loanHolder {
	h.serial++
	p := &loanHolder{}
	p.purse.holder, p.purse.spendFor = fmt.Sprint("holder", h.serial), spendFor
	if h.fault == "spends past the end of the loan" {
		p.purse.spendFor = math.MaxInt64
	}
	return p
}

// clock is a process's reading.
func (h *loanHistory) clock(p *loanHolder) moment {
	m := moment{h.now - p.slept, h.now}
	if h.fault == "does not see that the machine slept" {
		m.day = m.monotonic
	}
	return m
}

func (h *loanHistory) after(delay int64, happen func()) {
	e := loanEvent{h.now + delay, happen}
	i, _ := slices.BinarySearchFunc(h.events, e.at+1, func(other loanEvent, at int64) int { return cmp.Compare(other.at, at) })
	h.events = slices.Insert(h.events, i, e)
}

// delay is mostly short, and now and then as long as a pause or a cut.
func (h *loanHistory) delay() int64 {
	switch h.random.IntN(20) {
	case 0:
		return h.random.Int64N(int64(3 * time.Second))
	case 1, 2:
		return h.random.Int64N(int64(200 * time.Millisecond))
	}
	return h.random.Int64N(int64(5 * time.Millisecond))
}

func (h *loanHistory) step() {
	until := h.now + h.random.Int64N(int64(30*time.Millisecond))
	if h.random.IntN(100) == 0 {
		until += h.random.Int64N(int64(15 * time.Second))
	}
	for len(h.events) > 0 && h.events[0].at <= until {
		e := h.events[0]
		h.events = h.events[1:]
		h.now = e.at
		e.happen()
	}
	h.now = until
	i, kind := h.random.IntN(len(h.holders)), h.random.IntN(100)
	p := h.holders[i]
	switch {
	case kind >= 98:
		h.model.reset(h.now)
		h.direct = 0
	case kind >= 90:
		h.others()
	case h.now < p.stopped:
	case kind < 45:
		n := max(1, p.purse.tokens.Load())
		if h.random.IntN(2) == 0 {
			n = 1 + h.random.Int64N(n)
		}
		if _, ok := p.purse.spend(h.clock(p), n); ok {
			h.spent += n
			h.model.spend(h.now, n)
		}
	case kind < 75:
		h.send(p, p.purse.lend, 1+h.random.Int64N(h.limit.tokens))
	case kind < 80:
		h.send(p, nil, 0)
	case kind < 82: // stopped, or the machine sleeps
		for h.random.IntN(2) == 0 {
			p.stopped = max(p.stopped, h.now) + h.random.Int64N(int64(30*time.Second))
		}
		if p.stopped > h.now && h.random.IntN(2) == 0 {
			p.slept += p.stopped - h.now
		}
	case kind < 83: // a crash
		h.holders[i] = h.newHolder()
	}
}

// others take tokens from the server, give some back, and change the rate.
func (h *loanHistory) others() {
	switch h.random.IntN(3) {
	case 0, 1:
		n := h.model.acquire(h.now, h.model.limit, 1+h.random.Int64N(h.limit.tokens))[0].(int64)
		if h.direct += n; n > 0 {
			h.after(10*h.delay(), func() {
				back := min(h.direct, 1+h.random.Int64N(n))
				h.direct -= back
				h.model.refund(h.now, back)
			})
		}
	case 2:
		if h.limit.algorithm == tokenBucket {
			h.model.acquire(h.now, Per(1+h.random.Int64N(20*h.limit.count), h.limit.period).Burst(h.limit.tokens), 1)
			h.after(h.delay(), func() { h.model.acquire(h.now, h.limit, 1) })
		}
	}
}

// send sends a holder's operation. It gives up on some, which the server gets all the same, or never.
func (h *loanHistory) send(p *loanHolder, lend func(moment, serverKey, Limit, int64) loanOperation, tokens int64) {
	if p.waits != 0 {
		return
	}
	var op loanOperation
	if lend != nil {
		op = lend(h.clock(p), "k", h.limit, tokens)
	} else {
		op = p.purse.giveBack(h.clock(p), "k")
	}
	p.waits = op.number
	arrives, returns := h.delay(), h.delay()
	if h.random.IntN(4) == 0 {
		h.lost++
		h.after(h.random.Int64N(int64(20*time.Millisecond)), func() { h.giveUp(p, op) })
		if h.random.IntN(4) == 0 {
			return
		}
		arrives += h.random.Int64N(int64(time.Second))
		returns += h.random.Int64N(int64(3 * time.Second))
	}
	h.after(arrives, func() {
		if h.fault == "takes any number for the last" {
			h.forge(p, &op)
		}
		reply, err := h.model.operate(h.now, h.limit, op.arguments)
		h.after(returns, func() { h.arrive(p, op, reply, err) })
	})
}

func (h *loanHistory) giveUp(p *loanHolder, op loanOperation) {
	if p.waits != op.number {
		return
	}
	if p.waits = 0; h.now >= p.stopped {
		_, _ = p.purse.hear(op, nil, errTimeoutSent)
	}
}

// arrive has a process hear an answer, when it runs.
func (h *loanHistory) arrive(p *loanHolder, op loanOperation, reply any, err error) {
	if h.now < p.stopped {
		h.late++
		h.after(p.stopped-h.now, func() { h.arrive(p, op, reply, err) })
		return
	}
	if p.waits == op.number {
		p.waits = 0
		if a, err := p.purse.hear(op, reply, err); err == nil && a.ignored {
			h.ignored++
		}
	} else if granted, ok := reply.([]any); ok && h.fault == "uses late answers" && !op.returning {
		p.purse.tokens.Add(granted[0].(int64))
	}
}

// forge replaces the previous number by that which the server has.
func (h *loanHistory) forge(p *loanHolder, op *loanOperation) {
	previous, left := 8, 10 // positions
	if op.returning {
		previous, left = 4, 5
	}
	for _, l := range h.model.lent {
		if l.holder == p.purse.holder {
			op.arguments[previous], op.arguments[left] = l.number, min(op.arguments[left].(int64), l.tokens)
		}
	}
}

// TestTooManyTokensStated: a holder that the server contradicts drops its tokens, and begins again.
func TestTooManyTokensStated(t *testing.T) {
	m := newModel(PerSecond(10).Burst(800))
	o := purse{holder: "holder", spendFor: spendFor}
	ask := func() error {
		op := o.lend(moment{}, "k", m.limit, 100)
		reply, err := m.operate(0, m.limit, op.arguments)
		_, err = o.hear(op, reply, err)
		return err
	}
	if err := ask(); err != nil || o.tokens.Load() != 100 {
		t.Fatalf("%d tokens, %v", o.tokens.Load(), err)
	}
	o.tokens.Add(1)
	if err := ask(); err == nil || o.tokens.Load() != 0 {
		t.Errorf("%d tokens, %v", o.tokens.Load(), err)
	}
	if err := ask(); err != nil || o.tokens.Load() != 87 {
		t.Errorf("%d tokens, %v", o.tokens.Load(), err)
	}
}
