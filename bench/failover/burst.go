package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	clients   = 32
	keys      = 20
	limit     = 1000 // requests on each key; none comes back during a round
	killAfter = keys * limit / 2
	// pace is a client's pause between requests, so that the burst is not over before the kill.
	pace = time.Millisecond
	// patience bounds the time of a round after the kill: if its election fails, Sentinel waits six minutes before the
	// next, twice its failover-timeout.
	patience = 8 * time.Minute
)

// outcome is the effect of one kill on clients.
type outcome struct {
	beyond  int           // requests admitted beyond the limits
	silence time.Duration // the longest time without an answer to any client, from the kill on
	failed  int           // requests without an answer
}

// ledger records the answers to clients.
type ledger struct {
	admitted [keys]atomic.Int64
	total    atomic.Int64
	failed   atomic.Int64
	full     [keys]atomic.Bool // a request was denied after the new primary's first answer

	mu      sync.Mutex
	killed  time.Time // zero before
	last    time.Time // answer, or the kill
	silence time.Duration
}

// answered notes an answer to a request sent at a time.
func (l *ledger) answered(key int, sent time.Time, admitted bool) {
	if admitted {
		l.admitted[key].Add(1)
		l.total.Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.killed.IsZero() && now.After(l.last) {
		l.silence = max(l.silence, now.Sub(l.last))
	}
	l.last = now
	if !admitted && !l.killed.IsZero() && sent.After(l.killed) {
		l.full[key].Store(true)
	}
}

func (l *ledger) allFull() bool {
	for i := range l.full {
		if !l.full[i].Load() {
			return false
		}
	}
	return true
}

// burst sends requests from clients at their pace, kills the primary half-way, and continues until the new primary has
// denied a request on every key: by then it has granted every token that it had left.
func burst(ctx context.Context, c cluster) (o outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var (
		l       ledger
		running sync.WaitGroup
	)
	defer running.Wait()
	defer cancel()
	for i := range clients {
		a, err := c.connect(i)
		if err != nil {
			return o, err
		}
		running.Go(func() {
			defer a.close()
			l.client(ctx, a, rand.New(rand.NewPCG(uint64(i), 0)))
		})
	}
	if err := await(ctx, time.Minute, "the first requests of the burst", func() bool { return l.total.Load() >= killAfter }); err != nil {
		return o, err
	}
	if err := c.killPrimary(ctx); err != nil {
		return o, err
	}
	l.mu.Lock()
	l.killed = time.Now()
	l.last = l.killed
	l.mu.Unlock()
	if err := await(ctx, patience, "all limits to be reached after the kill", l.allFull); err != nil {
		return o, err
	}
	cancel()
	running.Wait()
	for i := range l.admitted {
		o.beyond += max(0, int(l.admitted[i].Load())-limit)
	}
	o.silence, o.failed = l.silence, int(l.failed.Load())
	return o, nil
}

func (l *ledger) client(ctx context.Context, a asker, r *rand.Rand) {
	for ctx.Err() == nil {
		key := r.IntN(keys)
		sent := time.Now()
		admitted, err := a.ask(ctx, fmt.Sprint("key:", key))
		switch {
		case err == nil:
			l.answered(key, sent, admitted)
		case ctx.Err() == nil && !errors.Is(err, context.Canceled):
			l.failed.Add(1)
		}
		select {
		case <-time.After(pace):
		case <-ctx.Done():
		}
	}
}

// await waits until a condition holds.
func await(ctx context.Context, atMost time.Duration, what string, so func() bool) error {
	for deadline := time.Now().Add(atMost); !so(); {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v for %s", atMost, what)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
