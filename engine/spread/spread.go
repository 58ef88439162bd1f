// Package spread tells denied callers to come back one after the other. Otherwise all callers that a limit denies at
// about the same time are told the same wait: they come back together, and most of them are denied again.
package spread

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// Table remembers what the callers were told that limits have denied lately. It is not part of the state, which a
// denial does not change: each server has its own table, and keeps it in memory alone. Nothing is granted by it, so all
// that is lost with a promise is that some callers come back together. Any goroutine may call Delay. The zero value is
// ready for use.
type Table struct {
	mu       sync.Mutex
	seed     maphash.Seed
	promises []promise // nil until the first denial of a request with engine.Spread
}

// promiseCount is the number of promises in a table.
const promiseCount = 4096

// promise is what the denied callers of one key were told.
type promise struct {
	tag    uint64 // a hash of the key; a key with another hash may replace it
	until  int64  // when the last of them comes back, in nanoseconds since the Unix epoch
	tokens int64  // of a fixed window: what those ask for who come back at until
}

// shortest is the least that a promise may be later than the wait without it. A small bucket fills in less time, but
// more callers than it has tokens may be denied at once.
const shortest = int64(time.Minute)

// latestTime is the latest time that is promised, in nanoseconds since the Unix epoch. A bucket in debt whose rate was
// lowered may have tokens only centuries later.
const latestTime = math.MaxInt64 - 2*limits.MaxDuration

// Delay lengthens the wait of a denied request with [engine.Spread]: it becomes the time until the tokens are there that
// the request asks for, if everyone who was denied before comes back at the promised time and takes theirs. It is never
// shortened.
func (t *Table) Delay(c *algorithm.Call) {
	if c.Op.IsSpread() && !c.Result.Allowed {
		t.delay(c)
	}
}

func (t *Table) delay(c *algorithm.Call) {
	res, asked := c.Result, c.Op.Tokens
	if c.Op.Options&engine.UpTo != 0 {
		asked = min(asked, 1)
	}
	if res.Status != engine.OK || res.Wait <= 0 || res.Wait > latestTime-c.Now || asked == 0 || c.Op.Options&engine.Peek != 0 || !c.Limit.Algorithm.Spreads() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p, earliest := t.find(c.Op.Key), c.Now+res.Wait
	if c.Limit.Algorithm == limits.FixedWindow {
		p.inWindow(earliest, asked, &c.Limit)
	} else {
		p.inTurn(c.Now, earliest, asked, &c.Limit)
	}
	res.Wait = p.until - c.Now
}

// find returns the promise of a key, an empty one if there is none.
func (t *Table) find(key []byte) *promise {
	if t.promises == nil {
		t.seed, t.promises = maphash.MakeSeed(), make([]promise, promiseCount)
	}
	tag := maphash.Bytes(t.seed, key)
	p := &t.promises[tag%promiseCount]
	if p.tag != tag {
		*p = promise{tag: tag}
	}
	return p
}

// inTurn promises the first time at which a bucket has the tokens asked for, after the last promise: until then the
// bucket has no tokens that are not promised, so those asked for must come back after it. A promise that is over is
// forgotten.
func (p *promise) inTurn(now, earliest, asked int64, l *limits.Limit) {
	comeBack, latest := l.Rate.Refill(asked), earliest+bound(l.Rate.Refill(l.Capacity))
	switch {
	case p.until <= now:
		p.until = earliest
	case p.until > latest-comeBack:
		p.until = latest
	default:
		p.until = max(earliest, p.until+comeBack)
	}
}

// inWindow promises the first window that has room for the tokens asked for, beside those that were promised before.
func (p *promise) inWindow(earliest, asked int64, l *limits.Limit) {
	if p.until < earliest {
		p.until, p.tokens = earliest, 0
	}
	if _, next := algorithm.WindowAt(p.until, l); p.tokens+asked > l.Capacity && next <= earliest+bound(l.Longest()) {
		p.until, p.tokens = next, 0
	}
	p.tokens = min(p.tokens+asked, l.Capacity)
}

// bound is how much later than without it a promise may be: by the time in which a limit is full again, but at least by
// [shortest]. Callers beyond it are told the latest time. If promises began again with the earliest time instead, twice
// as many would be denied again: with 1,000 callers and a bound of 300 tokens, each 2.4 times instead of 1.2.
func bound(full int64) int64 { return min(max(full, shortest), limits.MaxDuration) }
