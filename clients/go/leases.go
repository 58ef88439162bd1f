package stint

import (
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults and bounds of leases.
const (
	defaultAhead   = 100 * time.Millisecond
	defaultMaxKeys = 10_000
	tidyEvery      = 250 * time.Millisecond // tokens that nobody used in this time go back
	forgetAfter    = 40                     // rounds without a request after which a key is forgotten: 10 s
)

// Leases answers requests from memory, with tokens that it takes from Stint in chunks. Make one with
// [Limiter.Lease].
//
// It has the same limits as the limiter itself: over any span of time, all processes together let through at most
// capacity + rate × span for a token bucket, and the limit in each window of a fixed one, whichever of them crash, pause
// or lose their connection. Tokens in memory shrink as their bucket fills up again, so that they never come on top of a
// full one. There is one exception. Tokens given back count as free when the server gets them; if that takes more than a
// second, as many more tokens as were given back then may be spent, once.
//
// What leases cost is that tokens which one process holds are not there for another. A chunk is what is likely to be
// used in the next 100 ms, and at most an eighth of what is left, so it shrinks to single tokens (or, at rates above
// 1000 a second, to what comes in during a millisecond) as the limit comes near. Tokens that are not used for a quarter
// of a second go back. Those of a process that crashes come back as time passes, as if they had been used.
//
// Token buckets that take at least Ahead to fill and fixed windows that last as long can be leased. Requests with other
// limits go to the server each, as do those for more keys than MaxKeys.
type Leases struct {
	limiter *Limiter
	ahead   time.Duration
	maxKeys int
	epoch   time.Time

	seed   maphash.Seed
	shards [64]atomic.Pointer[map[string]*lease] // replaced, never changed, so that looking up takes no lock
	mu     sync.Mutex                            // around replacing
	count  int                                   // of keys
	closed atomic.Bool
	tidier *time.Timer
}

// LeaseOptions are the settings of [Limiter.Lease]. The zero value is ready for use.
type LeaseOptions struct {
	// Ahead is for how long a chunk is to last, 100 ms if it is 0.
	Ahead time.Duration
	// MaxKeys is how many keys can have tokens in memory, 10,000 if it is 0. Requests for others go to the server.
	MaxKeys int
}

// Lease makes leases that take their tokens through this limiter, with its timeout and its policy. Close them before
// the limiter.
func (l *Limiter) Lease(o LeaseOptions) *Leases {
	s := &Leases{limiter: l, ahead: o.Ahead, maxKeys: o.MaxKeys, epoch: time.Now(), seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].Store(&map[string]*lease{})
	}
	if s.ahead <= 0 {
		s.ahead = defaultAhead
	}
	if s.maxKeys <= 0 {
		s.maxKeys = defaultMaxKeys
	}
	s.mu.Lock() // tidy waits until there is a tidier to set again
	defer s.mu.Unlock()
	s.tidier = time.AfterFunc(tidyEvery, s.tidy)
	return s
}

// now is the time in nanoseconds since the leases were made, on the monotonic clock.
func (s *Leases) now() int64 { return int64(time.Since(s.epoch)) }

// Allow asks whether one more may happen under the key, as [Limiter.Allow] does. [Result].Source is Leased when the
// answer came from memory, and Server when the server was asked for it; Remaining is what is in memory and what was
// left when the server was last asked.
func (s *Leases) Allow(ctx context.Context, key string, limit Limit) (Result, error) {
	return s.AllowN(ctx, key, limit, 1)
}

// AllowN asks for n tokens at once and takes all of them or none.
func (s *Leases) AllowN(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	e := s.find(key, limit)
	if e == nil || n < 1 || n > limit.tokens {
		return s.limiter.AllowN(ctx, key, limit, n)
	}
	if len(s.limiter.hooks) > 0 {
		return e.observed(ctx, n)
	}
	return e.take(ctx, n)
}

// find returns the lease of a key and a limit, and makes it if there is room; nil if not.
func (s *Leases) find(key string, limit Limit) *lease {
	if e := s.lookUp(key); e != nil && e.limit == limit {
		return e
	}
	if !s.leasable(limit) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.lookUp(key)
	switch {
	case old != nil && old.limit == limit:
		return old
	case s.closed.Load():
		return nil
	case old != nil: // another limit than before: what is held under that goes back
		go old.end(context.Background())
	case s.count >= s.maxKeys:
		return nil
	default:
		s.count++
	}
	e := &lease{leases: s, key: key, limit: limit}
	s.replace(key, func(keys map[string]*lease) { keys[key] = e })
	return e
}

// leasable reports whether tokens can be taken ahead: from buckets that take longer to fill, and windows that last
// longer, than a chunk is to last. Those of others would have expired before they are used.
func (s *Leases) leasable(limit Limit) bool {
	known := limit.algorithm == tokenBucket || limit.algorithm == fixedWindow
	return known && limit.check() == nil && limit.FillTime() >= s.ahead
}

func (s *Leases) shard(key string) *atomic.Pointer[map[string]*lease] {
	return &s.shards[maphash.String(s.seed, key)%uint64(len(s.shards))]
}

func (s *Leases) lookUp(key string) *lease { return (*s.shard(key).Load())[key] }

// replace changes a copy of a key's shard and puts it in its place. s.mu is held.
func (s *Leases) replace(key string, change func(map[string]*lease)) {
	shard := s.shard(key)
	keys := maps.Clone(*shard.Load())
	change(keys)
	shard.Store(&keys)
}

// all are the leases there are.
func (s *Leases) all() (found []*lease) {
	for i := range s.shards {
		for _, e := range *s.shards[i].Load() {
			found = append(found, e)
		}
	}
	return found
}

// Held is how many tokens of a key are in memory.
func (s *Leases) Held(key string) int64 {
	if e := s.lookUp(key); e != nil {
		return e.held()
	}
	return 0
}

// Close gives all tokens back, as far as the server would not regain them within a second anyway, and waits until that
// is done or ctx is over. Requests after it go to the server each. The error, if any, is that of a refund; its tokens
// come back as time passes.
func (s *Leases) Close(ctx context.Context) error {
	if s.closed.Swap(true) {
		return nil
	}
	s.tidier.Stop()
	s.mu.Lock() // from here on no key is added
	found := s.all()
	s.mu.Unlock()
	errs := make([]error, len(found))
	var all sync.WaitGroup
	for i, e := range found {
		all.Go(func() { errs[i] = e.end(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// tidy gives back what nobody has used lately, and forgets keys that nobody asks for.
func (s *Leases) tidy() {
	for _, e := range s.all() {
		if e.idle() {
			go e.giveBack(context.Background())
		}
		if e.forgotten() {
			s.forget(e)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.Load() {
		s.tidier.Reset(tidyEvery)
	}
}

func (s *Leases) forget(e *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lookUp(e.key) == e {
		s.count--
		s.replace(e.key, func(keys map[string]*lease) { delete(keys, e.key) })
	}
	go e.end(context.Background())
}
