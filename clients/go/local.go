package stint

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of LocalShare in a process.
const (
	maxLocalKeys = 100_000
	sweepEvery   = time.Second
)

// local holds the buckets of LocalShare.
type local struct {
	share float64

	mu      sync.Mutex
	buckets map[localKey]*rate.Limiter
	swept   time.Time
}

type localKey struct {
	key   string
	limit Limit
}

func newLocal(share float64) *local {
	return &local{share: share, buckets: map[localKey]*rate.Limiter{}}
}

// take decides on n tokens, or its cost, of each limit, all or nothing. binding is the denying limit with the longest
// wait.
func (l *local) take(now time.Time, n int64, limits []Keyed, keep bool) (states []LimitState, binding int, retry time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	binding = -1
	buckets := make([]*rate.Limiter, len(limits))
	for i, k := range limits {
		buckets[i] = l.bucket(now, k)
		if wait := waitFor(buckets[i], now, k.tokens(n)); wait != 0 && (binding < 0 || longer(wait, retry)) {
			binding, retry = i, wait
		}
	}
	for i, b := range buckets {
		if b == nil {
			states = append(states, LimitState{Limit: limits[i].Limit.Tokens()})
			continue
		}
		if binding < 0 && keep {
			b.AllowN(now, int(limits[i].tokens(n)))
		}
		left := b.TokensAt(now)
		states = append(states, LimitState{
			Limit: int64(b.Burst()), Remaining: int64(math.Floor(left)),
			ResetAfter: seconds((float64(b.Burst()) - left) / float64(b.Limit())),
		})
	}
	return states, binding, retry
}

// bucket returns the bucket of a key and makes it if there is room, or returns nil.
func (l *local) bucket(now time.Time, k Keyed) *rate.Limiter {
	k.Limit = k.Limit.shared()
	key := localKey{k.Key, k.Limit}
	if b := l.buckets[key]; b != nil {
		return b
	}
	if len(l.buckets) >= maxLocalKeys && !l.sweep(now) {
		return nil
	}
	b := rate.NewLimiter(1, 0) // of a balance, nobody knows the credits
	if k.Limit.algorithm != balance {
		tokens := max(1, int(l.share*float64(k.Limit.Tokens())))
		b = rate.NewLimiter(rate.Limit(l.share*float64(k.Limit.count)/k.Limit.period.Seconds()), tokens)
	}
	l.buckets[key] = b
	return b
}

// shared is the limit of which a process has its share: a pool for all of its members, and an adaptive limit at its
// lowest rate.
func (l Limit) shared() Limit {
	l.member, l.weight = "", 0
	if l.algorithm == adaptive {
		l.count = l.least
	}
	return l
}

// sweep deletes full buckets, which equal new ones, and reports whether there is room now.
func (l *local) sweep(now time.Time) bool {
	if now.Sub(l.swept) < sweepEvery {
		return false
	}
	l.swept = now
	for key, b := range l.buckets {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(l.buckets, key)
		}
	}
	return len(l.buckets) < maxLocalKeys
}

// waitFor is the time until the bucket has n tokens: 0 if it has them, Never if it cannot hold that many.
func waitFor(b *rate.Limiter, now time.Time, n int64) time.Duration {
	if b == nil {
		return sweepEvery
	}
	if n > int64(b.Burst()) {
		return Never
	}
	missing := float64(n) - b.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(1, seconds(missing/float64(b.Limit())))
}

func longer(a, b time.Duration) bool { return b != Never && (a == Never || a > b) }

func seconds(s float64) time.Duration {
	return time.Duration(math.Ceil(min(max(s, 0), 1e9) * float64(time.Second)))
}
