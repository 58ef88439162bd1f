package upstream

import (
	"errors"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/server/command/limiter"
)

// purpose is that of an exchange: an operation on the loan of a key.
type purpose engine.Option

const (
	lendMore  purpose = 0
	returnAll         = purpose(engine.Cancel)
)

// exchange begins an operation on the loan of a key, unless one is under way. k.mu is held.
func (u *Upstream) exchange(k *key, p purpose) {
	if k.exchanging || u.hasEnded() {
		return
	}
	k.exchanging = true
	u.background.Go(func() {
		for more := true; more; p = lendMore {
			more = u.serveWaiters(k, u.inTurn(k, func() error { return u.operate(k, p) }))
		}
	})
}

// inTurn calls f when fewer than maxExchanges are under way with the node that decides a key: those with one that hangs hold up no others.
func (u *Upstream) inTurn(k *key, f func() error) error {
	slots := u.home.of(slot.Of([]byte(k.name))).slots
	timeout := time.NewTimer(u.opt.Timeout)
	defer timeout.Stop()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return f()
	case <-timeout.C:
		return errFull
	}
}

func (u *Upstream) hasEnded() bool {
	select {
	case <-u.stop:
		return true
	default:
		return false
	}
}

// operate carries out one operation on the loan of a key: prepared in the store, carried out at home, deposited in the store. If it
// fails, or home has nothing to lend, the next one goes on with it.
func (u *Upstream) operate(k *key, p purpose) error {
	k.mu.Lock()
	limit := k.limit
	k.mu.Unlock()
	holder := u.opt.Holder()
	kept := limit
	if kept.Algorithm = limit.Algorithm.Purse(); holder == "" || kept.Algorithm == limits.NoAlgorithm {
		return errNotSent
	}
	prepared := u.decide(engine.Op{Verb: engine.Prepare, Key: []byte(k.name), Limit: kept, Options: engine.Option(p)})[0]
	if prepared.Status != engine.OK {
		return errNotSent
	}
	t := purse.Of(&prepared)
	k.mu.Lock()
	want := k.want(t.Tokens)
	k.mu.Unlock()
	loan := t.Loan()
	words := limiter.LendWords([]byte(k.name), limit, want, holder, loan)
	if t.Returning {
		words = limiter.ReturnWords(engine.Op{Key: []byte(k.name), Who: []byte(holder), Loan: &loan})
	}
	n, err := u.ask(k, words)
	if err != nil {
		return err
	}
	var came engine.Result
	if p == returnAll || !t.IsPending(n[0], uint64(n[4])) {
		if came, err = u.deposit(k, &t, holder, n); err != nil {
			return err
		}
	}
	u.counts.lends.Add(1)
	u.counts.lent.Add(came.Granted)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.remaining = n[2]; !t.Returning && want > 0 && came.Granted == 0 {
		k.strict = time.Now().Add(strictFor)
	}
	return nil
}

// deposit ends an operation on a loan as home has answered it.
func (u *Upstream) deposit(k *key, t *purse.Purse, holder string, n []int64) (came engine.Result, err error) {
	if closing, ok := t.Close([]byte(k.name), []byte(holder)); ok && t.IsOpen(n[0], uint64(n[4])) {
		if n, err = u.ask(k, limiter.ReturnWords(closing)); err != nil {
			return came, err
		}
		n[0] = t.Closed(n[3], uint64(n[4]))
	}
	deposit := t.Answered([]byte(k.name), n[0], uint64(n[4]))
	switch {
	case t.Returning:
		u.counts.returned.Add(n[0])
	case deposit.Options&engine.Force != 0:
		u.counts.dropped.Add(t.Tokens)
	}
	if came = u.decide(deposit)[0]; came.Status != engine.OK {
		return came, errNotSent // it stays prepared, and home answers it alike again
	}
	if late, ok := t.LentLate([]byte(k.name), []byte(holder), n[0], &came); ok {
		if n, err := u.ask(k, limiter.ReturnWords(late)); err == nil {
			u.counts.returned.Add(n[0])
		}
	}
	return came, nil
}

// loanInts is the number of integers in the reply to an operation on a loan.
const loanInts = 5

// ask sends an operation on a loan to home, and waits for the answer.
func (u *Upstream) ask(k *key, words []string) (n []int64, err error) {
	done := make(chan struct{})
	u.home.send(u.opt.Timeout, []byte(k.name), words, func(r reply, failed error) {
		if n, err = r.ints, failed; err == nil {
			err = r.refused()
		}
		close(done)
	})
	<-done
	if err == nil && (len(n) != loanInts || n[0] < 0 || n[4] < 0) {
		err = errReply
	}
	return n, err
}

// serveWaiters answers the requests that waited for an operation on the loan. It reports whether there are more, and the next
// operation is to begin.
func (u *Upstream) serveWaiters(k *key, err error) (more bool) {
	k.mu.Lock()
	waiters := k.waiters
	k.waiters = nil
	if errors.Is(err, errRefused) {
		k.strict = time.Now().Add(strictFor)
	}
	k.mu.Unlock()
	for at := 0; at < len(waiters); at += servedAtOnce {
		u.serve(k, waiters[at:min(at+servedAtOnce, len(waiters))], err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.exchanging = len(k.waiters) > 0
	return k.exchanging
}

const servedAtOnce = 512

func (u *Upstream) serve(k *key, waiters []*acquire, err error) {
	ops := make([]engine.Op, len(waiters))
	for i, a := range waiters {
		ops[i] = a.fromPurse()
	}
	results := u.decide(ops...)
	for i, a := range waiters {
		switch res := &results[i]; {
		case res.Status != engine.OK:
			a.result = *res
			a.done()
		case res.Allowed:
			u.grantedHere(a, res)
			a.result = *res
			a.done()
		case err != nil && !errors.Is(err, errRefused):
			u.fail(a, errNotSent)
		default:
			u.askHome(k, a)
		}
	}
}
