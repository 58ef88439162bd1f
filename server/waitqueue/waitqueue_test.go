package waitqueue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/clock/clocktest"
)

// player compares a queue with a plain list of waiters, each with its own time.
type player struct {
	*Queue
	clock   *clocktest.Manual
	random  *rand.Rand
	waiting []*modelWaiter // in the order in which they are due
	woken   []int
}

type modelWaiter struct {
	*Waiter
	number int
	key    string
	at     int64 // due
}

const token = int64(time.Second) // the time of one token

func (p *player) add(number int) {
	key := fmt.Sprint("k", p.random.IntN(3))
	at := p.Queue.clock.Now() + p.random.Int64N(20)*token
	op := engine.Op{Key: []byte(key), Tokens: p.random.Int64N(3), Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: 9, Rate: limits.Rate{Tokens: 1, Period: token}}}
	for _, other := range p.waiting {
		if other.key == key { // as the store decides: after the last one of the key
			at = max(at, other.at+op.Tokens*token)
		}
	}
	n := p.Add(op, at, func() { p.woken = append(p.woken, number) })
	p.waiting = append(p.waiting, &modelWaiter{n, number, key, at})
}

func (p *player) cancel(t *testing.T, i int) {
	gone := p.waiting[i]
	if !p.Cancel(gone.Waiter) || p.Cancel(gone.Waiter) {
		t.Fatalf("waiter %d is canceled twice, or never", gone.number)
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
	for _, n := range p.waiting[i:] {
		if n.key == gone.key {
			n.at -= n.limit.DurationOf(gone.tokens)
		}
	}
}

// pass has time go by, and compares the waiters that were woken.
func (p *player) pass(t *testing.T, d time.Duration) {
	p.woken = nil
	p.clock.Advance(d)
	var want []int
	now := p.Queue.clock.Now()
	p.waiting = slices.DeleteFunc(p.waiting, func(n *modelWaiter) bool {
		if n.at <= now {
			want = append(want, n.number)
		}
		return n.at <= now
	})
	slices.Sort(want)
	slices.Sort(p.woken)
	if !slices.Equal(p.woken, want) {
		t.Fatalf("at %d, %v are woken, want %v", now/token, p.woken, want)
	}
	if p.Len() != len(p.waiting) {
		t.Fatalf("%d wait, want %d", p.Len(), len(p.waiting))
	}
}

// Waiters are woken at the times of a plain list, while others give up.
func TestQueueAgainstModel(t *testing.T) {
	p := &player{clock: clocktest.New(time.Unix(1e9, 0)), random: rand.New(rand.NewPCG(testsize.Seed(), 4))}
	p.Queue = New(p.clock.Clock)
	defer p.Stop()
	for i := range testsize.Pick(5_000, 50_000) {
		switch n := p.random.IntN(10); {
		case n < 5:
			p.add(i)
		case n < 8 && len(p.waiting) > 0:
			p.cancel(t, p.random.IntN(len(p.waiting)))
		default:
			p.pass(t, time.Duration(p.random.Int64N(5)*token))
		}
	}
	p.pass(t, time.Hour)
	if p.Keys() != 0 || len(p.due) != 0 {
		t.Errorf("%d lines and %d due times are left", p.Keys(), len(p.due))
	}
}

// Of a line, the heap has the first waiter alone: one that gives up costs the same however many wait behind it.
func TestLongLine(t *testing.T) {
	c := clocktest.New(time.Unix(1e9, 0))
	q := New(c.Clock)
	defer q.Stop()
	op := engine.Op{Key: []byte("k"), Tokens: 1, Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: 9, Rate: limits.Rate{Tokens: 1, Period: token}}}
	now, woken := q.clock.Now(), 0
	var all []*Waiter
	for i := range int64(10_000) {
		all = append(all, q.Add(op, now+(i+1)*token, func() { woken++ }))
	}
	if len(q.due) != 1 {
		t.Errorf("a line has %d places in the heap", len(q.due))
	}
	for _, n := range all[:9_000] {
		q.Cancel(n)
	}
	c.Advance(10 * time.Second)
	if woken != 10 || q.Len() != 990 {
		t.Errorf("%d were woken and %d wait, want 10 and 990", woken, q.Len())
	}
}
