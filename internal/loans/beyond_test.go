package loans

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// Requests for several limits ask for five times as much as refills at a home far away, which carries out one operation
// after the other. What refills is granted, but for the tokens that are on their way at the end. Once home has denied,
// no request waits for it, and its denial counts for all until it was asked again.
func TestBeyondTheLimitNobodyWaits(t *testing.T) {
	const rate, times, seconds = 1000, 5, 5
	for name, latency := range map[string]time.Duration{"near": time.Millisecond, "far": 150 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s stores
				s = newStores(func(at *store.Store, ops []engine.Op) []engine.Result {
					if at != s.home {
						return apply(at, ops)
					}
					time.Sleep(latency / 2)
					defer time.Sleep(latency / 2)
					var results []engine.Result
					for i := range ops {
						if time.Sleep(time.Millisecond); ops[i].Verb == engine.Look {
							results = append(results, engine.Result{Status: Refused})
						} else {
							results = append(results, apply(at, ops[i:i+1])...)
						}
					}
					return results
				})
				defer s.close()
				k, end := s.keep(t, true)
				defer end()
				var granted, late atomic.Int64
				began, exchanges := time.Now(), int64(0)
				var clients sync.WaitGroup
				for i := range rate * times * seconds {
					isDry := i >= rate*times*2 // after two seconds
					if !isDry {
						exchanges = k.Counts().Operations
					}
					time.Sleep(time.Second / rate / times)
					r, done, waits := s.askSeveral(k, perSecond(rate))
					if waits && isDry {
						late.Add(1)
					}
					clients.Go(func() {
						<-done
						if r.Result.Status != engine.OK {
							t.Errorf("status %d", r.Result.Status)
						} else if r.Result.Allowed {
							granted.Add(1)
						}
					})
				}
				clients.Wait()
				most := rate + int64(rate*time.Since(began).Seconds())
				exchanges = k.Counts().Operations - exchanges
				t.Logf("%d of %d are granted, by %d operations on loans, and %d waited", granted.Load(), most, exchanges, late.Load())
				if granted.Load() < most-rate*3/5 || granted.Load() > most || late.Load() > 0 || exchanges > 12*(seconds-2) {
					t.Error("too few or too many are granted, or by too many operations, or some waited")
				}
			})
		})
	}
}

// askSeveral asks for a token of a limit of home and a token of a limit that this process decides. done is closed once the
// request has its result, for which it may have to wait.
func (s stores) askSeveral(k *Keeper, limit limits.Limit) (r *Several, done chan struct{}, waits bool) {
	kept, _ := limit.InPurse()
	home, own := engine.Op{Key: []byte("k"), Limit: limit, Tokens: 1}, engine.Op{Key: []byte("mine"), Limit: perSecond(1e6), Tokens: 1}
	asked := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: home.Key, Limit: kept, Tokens: 1}, own}}
	r, done = &Several{Keeper: k, Asked: asked, Limits: []engine.Op{home, own}, End: time.Now().Add(timeout), Failed: engine.NoHome}, make(chan struct{})
	r.Away.Add(0)
	r.Result, r.Done = &s.do(s.away, []engine.Op{asked})[0], func() { close(done) }
	if waits = !r.Settle(); !waits {
		close(done)
	}
	return r, done, waits
}

// After a burst that was denied, an operator resets the limit. A holder that asks for few tokens now does not borrow all.
func TestAnOldBurstBorrowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStores(nil)
		defer s.close()
		k, end := s.keep(t, true)
		defer end()
		limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1000, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}}
		ask := func() {
			_, done, _ := s.askSeveral(k, limit)
			<-done
		}
		for range 5000 { // at one instant
			ask()
		}
		time.Sleep(5 * time.Second)
		apply(s.home, []engine.Op{{Verb: engine.Delete, Key: []byte("k")}})
		for range 10 {
			time.Sleep(time.Second)
			if ask(); s.lent() > limit.Capacity/2 {
				t.Fatalf("%d of %d tokens are lent for one request a second", s.lent(), limit.Capacity)
			}
		}
	})
}

// Three holders ask for less than refills, under a limit whose tokens last for a tenth of a second. No holder borrows all
// of them ahead, so hardly any request is denied.
func TestHoldersShareALimitThatRefillsSoon(t *testing.T) {
	const each, seconds = 60, 3
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 20, Rate: limits.Rate{Tokens: 200, Period: int64(time.Second)}}
	synctest.Test(t, func(t *testing.T) {
		shared := newStores(nil)
		defer shared.close()
		var holders [3]stores
		var keepers [len(holders)]*Keeper
		for i := range holders {
			holders[i] = newStores(nil)
			defer holders[i].close()
			holders[i].home = shared.home
			o := holders[i].options()
			o.HomeDecides, o.Holder = true, func(int) string { return "holder" + strconv.Itoa(i) }
			ctx, cancel := context.WithCancel(t.Context())
			keepers[i] = New(ctx, o)
			defer keepers[i].Close()
			defer cancel()
		}
		denied, asked := 0, 0
		for range each * seconds {
			time.Sleep(time.Second / each)
			for i, s := range holders {
				r, done, _ := s.askSeveral(keepers[i], limit)
				if <-done; !r.Result.Allowed {
					denied++
				}
				asked++
			}
		}
		if denied > asked/50 {
			t.Errorf("%d of %d requests are denied", denied, asked)
		}
	})
}

// A request whose tokens others have taken each time gets an error. Home has not denied it, so it is not told that it can
// never be granted.
func TestTokensThatOthersTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, tries := perSecond(1000), 0
		kept, _ := limit.InPurse()
		s := newStores(func(at *store.Store, ops []engine.Op) []engine.Result {
			if ops[0].Verb == engine.AcquireAll {
				tries++
				apply(at, []engine.Op{{Verb: engine.Acquire, Key: []byte("k"), Limit: kept, Tokens: capacity, Options: engine.UpTo}})
			}
			return apply(at, ops)
		})
		defer s.close()
		k, end := s.keep(t, true)
		defer end()
		r, done, _ := s.askSeveral(k, limit)
		if <-done; r.Result.Status != engine.NoHome || tries != maxTries+1 {
			t.Errorf("%+v after %d tries", r.Result, tries)
		}
	})
}

// Tokens that a purse had when home denied, and that were spent since, shorten no wait.
func TestSpentTokensShortenNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStores(nil)
		defer s.close()
		k, end := s.keep(t, true)
		defer end()
		limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 300, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}}
		for i := range 600 {
			time.Sleep(2 * time.Millisecond)
			r, done, _ := s.askSeveral(k, limit)
			if <-done; !r.Result.Allowed && r.Result.Wait < int64(59*time.Minute) {
				t.Fatalf("request %d is to wait for %v", i, time.Duration(r.Result.Wait))
			}
		}
	})
}
