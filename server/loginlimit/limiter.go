// Package loginlimit limits failed logins by address.
package loginlimit

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/waitqueue"
)

// Limiter limits failed logins by address. Each attempt takes a token of its address; a correct password refunds it.
// Without a token, attempts wait in a queue. The connection with the fewest failures goes first, and among equals a
// random one, so that no number of guesses can surely keep out a correct password.
type Limiter struct {
	clock    *clock.Clock
	waits    *waitqueue.Queue
	accounts *store.Store // by address
	networks *store.Store // by network, for addresses that accounts has no room for
	widest   *store.Store // by the largest networks, for networks that networks has no room for

	mu    sync.Mutex
	queue map[string]*queue // by address
}

// queue is the waiting attempts of one address.
type queue struct {
	waiting   []*Attempt
	perMinute int
	next      int64 // clock: when there may be a token
	timer     *waitqueue.Waiter
}

// Attempt is an attempt to log in. Decided is called, once, if it had to wait and was not cancelled.
type Attempt struct {
	Address string // HOST:PORT
	Failed  int    // attempts of the same connection that failed before
	Decided func(t *Outcome)
	timeout *waitqueue.Waiter
}

// Outcome is the result of an attempt: a token, or the time until there may be one.
type Outcome struct {
	address string
	from    *store.Store // nil if the attempt is rejected
	key     string
	waitSec int64 // of a rejected attempt
}

const (
	// maxWait is how long an attempt to log in may wait for its turn.
	maxWait = 10 * time.Second
	// TableBytes bounds the memory of failed logins by address, some 20,000 of them, and once more by network.
	TableBytes = 2 << 20
	// sweepKeys is the number of keys that one sweep looks at.
	sweepKeys = 2_000
)

// The bits of addresses that are counted together while there is no room for each alone. There are 131,072 of the
// widest at most.
const (
	networkBits4, networkBits6 = 24, 48
	widestBits4, widestBits6   = 16, 16
)

// New returns a limiter without failed logins. Its attempts wait in a queue of the server.
func New(clock *clock.Clock, waits *waitqueue.Queue) *Limiter {
	return &Limiter{clock: clock, waits: waits, queue: map[string]*queue{},
		accounts: store.New(store.Config{Shards: 16, MaxBytes: TableBytes}),
		networks: store.New(store.Config{Shards: 16, MaxBytes: TableBytes}),
		widest:   store.New(store.Config{Shards: 16})}
}

// Sweep drops expired entries.
func (l *Limiter) Sweep(now int64) {
	for _, s := range []*store.Store{l.accounts, l.networks, l.widest} {
		s.Sweep(now, sweepKeys)
	}
}

// limitOf lets an address fail n times in a minute: all at once, then evenly.
func limitOf(n int) limits.Limit {
	return limits.Limit{Algorithm: limits.TokenBucket, Capacity: int64(n),
		Rate: limits.Rate{Tokens: int64(n), Period: int64(time.Minute)}}
}

// Acquire takes a token for an attempt, without waiting. If there is no room for the address, its network counts.
func (l *Limiter) Acquire(address string, perMinute int) (t *Outcome, r engine.Result) {
	t = &Outcome{address: address}
	for _, level := range []struct {
		store        *store.Store
		bits4, bits6 int
	}{{l.accounts, 32, 64}, {l.networks, networkBits4, networkBits6}, {l.widest, widestBits4, widestBits6}} {
		t.key = unauthenticated.Prefix(address, level.bits4, level.bits6)
		r = apply(level.store, l.clock.Now(), engine.Op{Key: []byte(t.key), Limit: limitOf(perMinute), Tokens: 1})
		if r.Allowed {
			t.from = level.store
		}
		if r.Status != engine.OutOfRoom {
			break
		}
	}
	return t, r
}

// Begin returns the outcome of an attempt that has a token at once. Otherwise it returns nil, and the attempt waits.
func (l *Limiter) Begin(a *Attempt, perMinute int) *Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	network := unauthenticated.Network(a.Address)
	q := l.queue[network]
	if q == nil {
		t, r := l.Acquire(a.Address, perMinute)
		if r.Allowed {
			return t
		}
		q = &queue{}
		l.queue[network] = q
		l.arm(network, q, r.Wait)
	}
	q.perMinute = perMinute
	q.waiting = append(q.waiting, a)
	a.timeout = l.waits.After(l.clock.Now()+int64(maxWait), func() { l.expire(network, a) })
	return nil
}

// arm has the queue looked at when there may be a token again. The caller holds mu.
func (l *Limiter) arm(network string, q *queue, wait int64) {
	q.next = l.clock.Now() + max(wait, int64(time.Millisecond))
	q.timer = l.waits.After(q.next, func() { l.serve(network) })
}

// serve gives attempts their turn while there are tokens.
func (l *Limiter) serve(network string) {
	type served struct {
		*Attempt
		turn *Outcome
	}
	var all []served
	l.mu.Lock()
	q := l.queue[network]
	for q != nil && len(q.waiting) > 0 {
		at := q.pick()
		a := q.waiting[at]
		t, r := l.Acquire(a.Address, q.perMinute)
		if !r.Allowed {
			l.waits.Cancel(q.timer)
			l.arm(network, q, r.Wait)
			break
		}
		l.remove(network, q, at)
		all = append(all, served{a, t})
	}
	l.mu.Unlock()
	for _, s := range all {
		s.Decided(s.turn)
	}
}

// pick chooses whose turn it is.
func (q *queue) pick() (at int) {
	equals := 0
	for i, a := range q.waiting {
		switch best := q.waiting[at]; {
		case a.Failed < best.Failed:
			at, equals = i, 1
		case a.Failed == best.Failed:
			if equals++; rand.IntN(equals) == 0 {
				at = i
			}
		}
	}
	return at
}

// remove takes an attempt out of its queue, and drops an empty queue. The caller holds mu.
func (l *Limiter) remove(network string, q *queue, at int) {
	l.waits.Cancel(q.waiting[at].timeout)
	last := len(q.waiting) - 1
	q.waiting[at], q.waiting[last] = q.waiting[last], nil
	if q.waiting = q.waiting[:last]; last == 0 {
		l.waits.Cancel(q.timer)
		delete(l.queue, network)
	}
}

// Cancel removes a waiting attempt. It reports false if the attempt no longer waits.
func (l *Limiter) Cancel(a *Attempt) bool {
	_, was := l.dequeue(unauthenticated.Network(a.Address), a)
	return was
}

func (l *Limiter) dequeue(network string, a *Attempt) (next int64, was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queue[network]
	if q == nil {
		return 0, false
	}
	for at := range q.waiting {
		if q.waiting[at] == a {
			l.remove(network, q, at)
			return q.next, true
		}
	}
	return 0, false
}

// expire refuses an attempt whose turn has not come.
func (l *Limiter) expire(network string, a *Attempt) {
	if next, was := l.dequeue(network, a); was {
		sec := (next - l.clock.Now() + int64(time.Second) - 1) / int64(time.Second)
		a.Decided(&Outcome{address: a.Address, waitSec: max(1, sec)})
	}
}

// Refund returns the token of a correct password; the next attempt may take it.
func (l *Limiter) Refund(t *Outcome) {
	apply(t.from, l.clock.Now(), engine.Op{Verb: engine.Refund, Key: []byte(t.key), Tokens: 1})
	l.serve(unauthenticated.Network(t.address))
}

// Rejected reports whether the attempt has no token, and the seconds until it may be repeated.
func (t *Outcome) Rejected() (retryAfterSec int64, rejected bool) { return t.waitSec, t.from == nil }

// Bytes is the memory of the tables by address and by network, at most twice [TableBytes].
func (l *Limiter) Bytes() int64 { return l.accounts.Bytes() + l.networks.Bytes() }

// Keys is the number of addresses and networks with failed logins.
func (l *Limiter) Keys() int { return l.accounts.Len() + l.networks.Len() + l.widest.Len() }

// apply decides one operation.
func apply(s *store.Store, now int64, op engine.Op) (r engine.Result) {
	results := [1]engine.Result{}
	s.Apply(now, []engine.Op{op}, results[:])
	return results[0]
}
