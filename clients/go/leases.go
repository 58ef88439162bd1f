package stint

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults and bounds of leases.
const (
	defaultAhead   = 100 * time.Millisecond
	defaultMaxKeys = 10_000
	maxAhead       = 2 * tidyEvery
	tidyEvery      = 250 * time.Millisecond // tokens unused for this time go back
	forgetAfter    = 40                     // rounds without a request after which a key is forgotten: 10 s
)

// Leases answers requests from memory, with tokens that Stint has set aside for this process. Make one with
// [Limiter.Lease].
//
// It keeps the same limits as the limiter itself, by construction: the server counts tokens as taken from the moment
// that it sets them aside until this process states that they are not spent. So refunds, resets and other rates, by
// anybody, make no token count twice, and neither do lost messages. Processes stop spending five seconds after the last
// operation that the server is known to have carried out, also when they were stopped or the machine slept meanwhile;
// after ten seconds the server counts the tokens as spent. Only a process whose clocks both lose half of the time could
// spend tokens that count no longer.
//
// The price of leases is that tokens held by one process are not available to others. A chunk is sized for the demand
// of the next 100 ms, and is at most an eighth of the tokens that are left. So near the limit, and with limits of less
// than eight tokens, nothing is lent, and requests go to the server one by one. So do requests for keys that are in
// little demand. Tokens unused for a quarter of a second, or half, go back. A process that crashes, or is cut off,
// costs the tokens that it held: they are set aside for ten seconds, and then count as spent.
//
// Token buckets and fixed windows can be leased, each key by at most 64 processes at a time. Requests with other
// limits, those for more than MaxKeys keys, and all to a server that does not have RL.LEND, go to the server one by
// one.
type Leases struct {
	limiter *Limiter
	ahead   time.Duration
	maxKeys int
	epoch   time.Time
	holder  string // the beginning of the names of its loans' holders
	serial  int    // of the lease that was made last

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
	s.holder = fmt.Sprintf("%016x", rand.Uint64())
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
	return s
}

// now returns the time since the leases were made, and the time of day. If the process is stopped between the two
// readings that [time.Now] makes, the time since an earlier moment can only seem longer. Tokens then end too early, and
// never too late.
func (s *Leases) now() moment {
	now := time.Now()
	return moment{int64(now.Sub(s.epoch)), now.UnixNano()}
}

// Allow asks whether one more may happen under the key, as [Limiter.Allow] does. [Result].Source is Leased when the
// answer came from memory, and Server when the server gave it. From memory, Remaining is the tokens there plus those
// remaining in the server's last reply, and ResetAfter is a bucket's time to fill up from there; it is 0 for windows.
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

// find returns the lease of a key and a limit. It makes one if there is room, and returns nil if not, or after Close.
func (s *Leases) find(key serverKey, limit Limit) *lease {
	if s.closed.Load() {
		return nil
	}
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
	case s.closed.Load():
		return nil
	case old != nil && old.limit == limit:
		return old
	case old != nil: // another limit than before: the tokens of the old one go back
		go old.end(context.Background())
	case s.count >= s.maxKeys:
		return nil
	default:
		s.count++
	}
	s.serial++ // each lease is a separate holder, so that none hears of operations of an earlier one
	e := &lease{leases: s, key: key, limit: limit, turn: make(chan struct{}, 1)}
	e.purse.holder, e.purse.spendFor = fmt.Sprintf("%s-%d", s.holder, s.serial), spendFor
	s.replace(key, func(keys map[serverKey]*lease) { keys[key] = e })
	return e
}

// leasable reports whether a limit can be leased. The server lends an eighth of the tokens that are left, so none of
// fewer than eight.
func (s *Leases) leasable(limit Limit) bool {
	known := limit.algorithm == tokenBucket || limit.algorithm == fixedWindow && limit.rollover == 0
	return known && limit.check() == nil && limit.tokens >= 8
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

// Held is the number of tokens of a key that may be spent from memory.
func (s *Leases) Held(key string) int64 {
	if e := s.lookUp(shortKey(key)); e != nil {
		return e.held()
	}
	return 0
}

// Close gives tokens back and waits until that is done or ctx is over. Later requests each go to the server. The error,
// if any, is that of a return; its tokens count as spent after ten seconds.
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

// tidy gives back tokens that were not used lately, renews loans in use, and forgets keys without requests.
func (s *Leases) tidy() {
	for _, e := range s.all() {
		switch {
		case e.idle():
			go e.giveBack(context.Background())
		case e.aging():
			e.refill()
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
