package stint

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultFailures = 5
	defaultCoolDown = 250 * time.Millisecond
)

// A breaker stops requests to a server that does not answer. It opens after several failures in a row. While it is
// open, it sends probes in the background, so that no caller waits; when a probe is answered, the breaker closes.
// Probes do not become rarer: a server that is back after a long outage is found as soon as one after a short outage.
//
// Failures that overlap count as one: requests in flight when a failure was counted do not count again. So if the
// server is stuck, five failures take five timeouts, for any number of requests; if connections are refused, five
// requests one after the other.
type breaker struct {
	failures int32
	coolDown time.Duration
	probe    func(context.Context) error
	changed  func(open bool, cause error)

	open atomic.Bool

	mu       sync.Mutex
	inRow    atomic.Int32 // written with mu held
	lastFail time.Time    // time of the last failure that counted
	closed   bool         // by Close
	timer    *time.Timer
}

// succeeded records a reply, including an error reply.
func (b *breaker) succeeded() {
	if b.inRow.Load() == 0 {
		return
	}
	b.mu.Lock()
	b.inRow.Store(0)
	b.mu.Unlock()
}

// failed records that a request begun at the given time was not answered.
func (b *breaker) failed(begun time.Time, cause error) {
	b.mu.Lock()
	if b.closed || b.open.Load() || (b.inRow.Load() > 0 && begun.Before(b.lastFail)) {
		b.mu.Unlock()
		return
	}
	b.lastFail = time.Now()
	opens := b.inRow.Add(1) >= b.failures
	b.open.Store(opens)
	b.mu.Unlock()
	if opens {
		b.changed(true, cause) // before the first probe, so that hooks see the opening before the closing
		b.mu.Lock()
		b.schedule()
		b.mu.Unlock()
	}
}

// schedule starts a probe after the cool-down, more or less. b.mu is held.
func (b *breaker) schedule() {
	if b.closed {
		return
	}
	jittered := b.coolDown/2 + rand.N(b.coolDown) // so that processes do not all probe at once
	b.timer = time.AfterFunc(jittered, b.tryAgain)
}

func (b *breaker) tryAgain() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	err := b.probe(ctx)
	cancel()
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	if err != nil {
		b.schedule()
		b.mu.Unlock()
		return
	}
	b.inRow.Store(0)
	b.open.Store(false)
	b.mu.Unlock()
	b.changed(false, nil)
}

func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
