package upstream

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/server/clock"
)

// Bounds of a lender.
const (
	maxPools   = 4096  // keys
	maxLentOn  = 65536 // holders of all keys
	lenderTick = 25 * time.Millisecond
)

// lender lends tokens of home on to holders that ask this process. It has loans of its own at home, beside those of the
// region's purses, and keeps them in memory: if the process dies, home counts them as spent at their ends, and by then
// the loans of its holders have ended.
type lender struct {
	home     func(op engine.Op, answer func(engine.Result)) // carries out an operation on a loan
	giveBack func(op *engine.Op)                            // returns the tokens that the region's own purse of a key has
	name     func() []byte                                  // at home; it belongs to this process alone
	clock    *clock.Clock

	mu      sync.Mutex
	pools   map[string]*pool
	holders int // of all pools, at the last tick

	lends, lent, returned atomic.Int64 // operations that home has carried out, and their tokens
}

// pool is the tokens of one key.
type pool struct {
	*purse.Pool
	key     []byte
	waiting []*lending
	isAway  bool // an operation is on its way to home
}

// lending is an operation of a holder. It implements [waiting].
type lending struct {
	lender *lender
	op     engine.Op
	res    *engine.Result
	done   func()
}

// newLender returns the lender of a process whose region has a name at home.
func newLender(region func() string, home func(op engine.Op, answer func(engine.Result))) *lender {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails: the runtime ends the process instead
	name := func() []byte { return hex.AppendEncode([]byte(region()+"/"), random) }
	return &lender{home: home, name: name, clock: clock.New(0), pools: map[string]*pool{}}
}

// now is the time, which also goes on while the machine is suspended.
func (l *lender) now() int64 {
	l.clock.Follow()
	return l.clock.Now()
}

// take returns an operation of a holder that is answered here, nil if home is to answer it: because the loan began
// there, or may have no end, or there are too many others here.
func (l *lender) take(op *engine.Op) *lending {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, known := l.pools[string(op.Key)], false
	if p != nil {
		known = p.Knows(op.Who)
	}
	isLend := op.Verb == engine.Lend
	switch {
	case isLend && (op.MaxWait <= 0 || op.MaxWait > purse.MaxLentFor):
		return nil
	case !known && (!isLend || op.Loan.Previous != 0 || l.holders >= maxLentOn || p == nil && len(l.pools) >= maxPools):
		return nil
	}
	return &lending{lender: l, op: op.Clone()}
}

// settle implements [waiting].
func (w *lending) settle(res *engine.Result, done func()) (finished bool) {
	l := w.lender
	hasOwn := res.Status == engine.OK && res.Remaining > 0 // tokens are in the region's own purse, which this holder cannot get
	w.res, w.done = res, done
	l.mu.Lock()
	now := l.now()
	p := l.pools[string(w.op.Key)]
	if p == nil {
		p = &pool{Pool: purse.NewPool(now), key: w.op.Key}
		l.pools[string(w.op.Key)] = p
	}
	switch {
	case !p.Needs(now, &w.op):
		if *res = p.Now(now, &w.op); res.Granted < min(1, w.op.Tokens) && p.HasFailed() {
			*res = engine.Result{Status: engine.NoHome}
		}
	case len(p.waiting) >= purse.MaxHolders:
		*res = engine.Result{Status: engine.Overloaded}
	default:
		p.waiting = append(p.waiting, w)
		asks := !p.isAway && p.MayAsk(now)
		var op engine.Op
		if asks {
			op = p.ask(now, l.name())
		}
		isDry := p.IsDry()
		l.mu.Unlock()
		if hasOwn && isDry {
			l.giveBack(&w.op)
		}
		if asks {
			l.send(p, op)
		}
		return false
	}
	l.mu.Unlock()
	return true
}

// ask begins the next operation at home. l.mu is held.
func (p *pool) ask(now int64, name []byte) engine.Op {
	p.isAway = true
	return p.named(p.Ask(now, name, p.ops()))
}

func (p *pool) named(op engine.Op) engine.Op {
	op.Key = p.key
	return op
}

func (p *pool) ops() []*engine.Op {
	ops := make([]*engine.Op, len(p.waiting))
	for i, w := range p.waiting {
		ops[i] = &w.op
	}
	return ops
}

// send sends an operation home, and answers those that wait.
func (l *lender) send(p *pool, op engine.Op) {
	l.home(op, func(res engine.Result) {
		l.mu.Lock()
		now, waiting := l.now(), p.waiting
		if res.Status == engine.OK {
			l.count(&op, &res)
			p.Hear(now, &res)
		} else {
			p.Failed(now)
		}
		if op.Verb == engine.Return && res.Status == engine.OK && len(waiting) > 0 { // nobody has asked home for these yet
			lend := p.ask(now, l.name())
			l.mu.Unlock()
			l.send(p, lend)
			return
		}
		results := p.Serve(now, p.ops())
		p.waiting, p.isAway = nil, false
		l.mu.Unlock()
		for i, w := range waiting {
			if *w.res = results[i]; res.Status != engine.OK && results[i].Granted == 0 {
				*w.res = engine.Result{Status: engine.NoHome}
			}
			w.done()
		}
	})
}

func (l *lender) count(op *engine.Op, res *engine.Result) {
	if l.lends.Add(1); op.Verb == engine.Lend {
		l.lent.Add(res.Granted)
	} else {
		l.returned.Add(res.Granted)
	}
}

// run asks home about what no operation waits for, until the end.
func (l *lender) run(ctx context.Context) {
	ticks := time.NewTicker(lenderTick)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			l.begin(func(p *pool, now int64) (op engine.Op, ok bool) {
				if len(p.waiting) > 0 && p.MayAsk(now) || p.Due(now) {
					return p.ask(now, l.name()), true
				}
				return op, false
			})
		case <-ctx.Done():
			return
		}
	}
}

// returnAll begins to return what nobody has been lent, and reports whether there was any.
func (l *lender) returnAll() (any bool) {
	return l.begin(func(p *pool, now int64) (op engine.Op, ok bool) {
		if op, ok = p.ReturnAll(now, l.name()); ok {
			p.isAway = true
		}
		return p.named(op), ok
	})
}

// begin begins operations at home, and forgets empty pools. It reports whether any is on its way.
func (l *lender) begin(next func(p *pool, now int64) (op engine.Op, ok bool)) (any bool) {
	due := map[*pool]engine.Op{}
	l.mu.Lock()
	l.holders = 0
	now := l.now()
	for key, p := range l.pools {
		l.holders += p.Holders()
		if p.isAway {
			any = true
		} else if op, ok := next(p, now); ok {
			due[p] = op
		} else if p.IsEmpty(now) && len(p.waiting) == 0 {
			delete(l.pools, key)
		}
	}
	l.mu.Unlock()
	for p, op := range due {
		l.send(p, op)
	}
	return any || len(due) > 0
}
