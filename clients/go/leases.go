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
	maxAhead       = 2 * tidyEvery          // longer chunks would go back before they are used up
	tidyEvery      = 250 * time.Millisecond // tokens unused for this time go back
	forgetAfter    = 40                     // rounds without a request after which a key is forgotten: 10 s
)

// Leases answers requests from memory, with tokens fetched from Stint in chunks. Make one with [Limiter.Lease].
//
// It keeps the same limits as the limiter itself: over any span of time, all processes together let through at most
// capacity + rate × span of a token bucket, and the limit in each fixed window, even if processes crash, pause or lose
// their connection. Tokens in memory shrink as their bucket fills up again, so that they never add to a full bucket,
// and they expire after a second.
//
// There are two exceptions. When another client refunds tokens, deletes the key or raises its rate, the tokens that are
// then in the memory of processes or in flight may be spent in addition, within a second and once for each such event.
// Refunds and resets by this limiter, and by others made from it with [Limiter.With], first empty the tokens held here;
// if their reply is lost, they count like those of another client. And tokens given back are free when the server gets
// them; if that takes more than a second, the same number may be spent in addition, once.
//
// The price of leases is that tokens held by one process are not available to others. A chunk is sized for the demand
// of the next 100 ms, and is at most an eighth of the remaining tokens. So it shrinks to single tokens (or, at rates
// above 1000 a second, to the refill of a millisecond) near the limit. Tokens unused for a quarter of a second go back.
// Those of a process that crashes come back as time passes, like used ones.
//
// Token buckets that take at least Ahead to fill, and fixed windows at least that long, can be leased. Requests with
// other limits, and those for more than MaxKeys keys, each go to the server.
type Leases struct {
	limiter *Limiter
	ahead   time.Duration
	maxKeys int
	epoch   time.Time

	seed   maphash.Seed
	shards [64]atomic.Pointer[map[serverKey]*lease] // replaced, never changed, so that a look-up takes no lock
	mu     sync.Mutex                               // held while replacing
	count  int                                      // of keys
	closed atomic.Bool
	tidier *time.Timer
}

// LeaseOptions are the settings of [Limiter.Lease]. The zero value is ready for use.
type LeaseOptions struct {
	// Ahead is the time that a chunk should last: 100 ms if it is 0, and at most 500 ms.
	Ahead time.Duration
	// MaxKeys is the most keys with tokens in memory: 10,000 if it is 0. Requests for others go to the server.
	MaxKeys int
}

// Lease makes leases that fetch their tokens through this limiter, with its timeout and its policy. Close them before
// the limiter.
func (l *Limiter) Lease(o LeaseOptions) *Leases {
	s := &Leases{limiter: l, ahead: o.Ahead, maxKeys: o.MaxKeys, epoch: time.Now(), seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].Store(&map[serverKey]*lease{})
	}
	if s.ahead <= 0 {
		s.ahead = defaultAhead
	}
	s.ahead = min(s.ahead, maxAhead)
	if s.maxKeys <= 0 {
		s.maxKeys = defaultMaxKeys
	}
	s.mu.Lock() // tidy resets the timer, so it waits until the field is set
	defer s.mu.Unlock()
	s.tidier = time.AfterFunc(tidyEvery, s.tidy)
	l.leaseRegistry.add(s)
	return s
}

// now is the time in nanoseconds since the leases were made, on the monotonic clock.
func (s *Leases) now() int64 { return int64(time.Since(s.epoch)) }

// Allow asks whether one more may happen under the key, as [Limiter.Allow] does. [Result].Source is Leased when the
// answer came from memory, and Server when the server gave it; Remaining is the tokens in memory plus those remaining
// in the server's last reply.
func (s *Leases) Allow(ctx context.Context, key string, limit Limit) (Result, error) {
	return s.AllowN(ctx, key, limit, 1)
}

// AllowN asks for n tokens at once and takes all of them or none.
func (s *Leases) AllowN(ctx context.Context, key string, limit Limit, n int64) (Result, error) {
	e := s.find(shortKey(key), limit)
	if e == nil || n < 1 || n > limit.tokens {
		return s.limiter.AllowN(ctx, key, limit, n)
	}
	if len(s.limiter.hooks) > 0 {
		return e.observed(ctx, n)
	}
	return e.take(ctx, n)
}

// find returns the lease of a key and a limit. It makes one if there is room, and returns nil if not.
func (s *Leases) find(key serverKey, limit Limit) *lease {
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
	case old != nil: // another limit than before: the tokens of the old one go back
		go old.end(context.Background())
	case s.count >= s.maxKeys:
		return nil
	default:
		s.count++
	}
	e := &lease{leases: s, key: key, limit: limit}
	s.replace(key, func(keys map[serverKey]*lease) { keys[key] = e })
	return e
}

// leasable reports whether a limit can be leased: a bucket must take at least as long to fill as a chunk lasts, and a
// window must last at least that long. Tokens of others would expire before they are used.
func (s *Leases) leasable(limit Limit) bool {
	known := limit.algorithm == tokenBucket || limit.algorithm == fixedWindow
	return known && limit.check() == nil && limit.FillTime() >= s.ahead
}

func (s *Leases) shard(key serverKey) *atomic.Pointer[map[serverKey]*lease] {
	return &s.shards[maphash.String(s.seed, string(key))%uint64(len(s.shards))]
}

func (s *Leases) lookUp(key serverKey) *lease { return (*s.shard(key).Load())[key] }

// replace changes a copy of a key's shard and puts it in its place. s.mu is held.
func (s *Leases) replace(key serverKey, change func(map[serverKey]*lease)) {
	shard := s.shard(key)
	keys := maps.Clone(*shard.Load())
	change(keys)
	shard.Store(&keys)
}

// all returns every lease.
func (s *Leases) all() (found []*lease) {
	for i := range s.shards {
		for _, e := range *s.shards[i].Load() {
			found = append(found, e)
		}
	}
	return found
}

// Held is the number of tokens of a key in memory.
func (s *Leases) Held(key string) int64 {
	if e := s.lookUp(shortKey(key)); e != nil {
		return e.held()
	}
	return 0
}

// Close gives tokens back, except those that the server regains within two seconds anyway, and waits until that is done
// or ctx is over. Later requests each go to the server. The error, if any, is that of a refund; its tokens come back as
// time passes.
func (s *Leases) Close(ctx context.Context) error {
	if s.closed.Swap(true) {
		return nil
	}
	s.tidier.Stop()
	s.limiter.leaseRegistry.remove(s)
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

// tidy gives back tokens that were not used lately or are about to expire, and forgets keys without requests.
func (s *Leases) tidy() {
	for _, e := range s.all() {
		if e.idle() || e.aging() {
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
		s.replace(e.key, func(keys map[serverKey]*lease) { delete(keys, e.key) })
	}
	go e.end(context.Background())
}
