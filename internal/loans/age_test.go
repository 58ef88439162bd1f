package loans

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// A loan in use goes back after a third of its time. If home is gone, its tokens are dropped before home counts them as
// spent, also by a process that was stopped meanwhile.
func TestLoansEnd(t *testing.T) {
	const loanTime = time.Minute
	synctest.Test(t, func(t *testing.T) {
		var gone, stopped, failing atomic.Bool
		s := newStores(func(s *store.Store, ops []engine.Op) []engine.Result {
			if ops[0].Verb == engine.Prepare && failing.Load() {
				return []engine.Result{{Status: engine.NotDurable}}
			}
			if ops[0].Verb == engine.Lend && gone.Load() {
				return []engine.Result{{Status: engine.NoHome}, {}, {}}[:len(ops)]
			}
			return apply(s, ops)
		})
		defer s.close()
		o := s.options()
		o.For, o.IdleAfter, o.HomeIsReachable = loanTime, time.Hour, func() bool { return !gone.Load() }
		replicas := o.Replicas
		o.Replicas = func() []Replica {
			for stopped.Load() {
				time.Sleep(time.Second)
			}
			return replicas()
		}
		ctx, cancel := context.WithCancel(t.Context())
		k := New(ctx, o)
		defer k.Close()
		defer cancel()
		now := func() int64 { return time.Now().UnixNano() }

		s.take(k, 5)
		s.borrow(10)
		time.Sleep(loanTime/3 - 2*time.Second)
		if s.lent() != 10 {
			t.Errorf("%d tokens are lent before they go back", s.lent())
		}
		time.Sleep(4 * time.Second)
		if s.lent() != 0 || k.Counts().Dropped != 0 || !k.MaySpend(now()) {
			t.Errorf("after a third of the time %d tokens are lent, and %d were dropped", s.lent(), k.Counts().Dropped)
		}

		s.take(k, 5)
		s.borrow(10)
		gone.Store(true)
		time.Sleep(2*loanTime/3 - 2*time.Second)
		if k.Counts().Dropped != 0 {
			t.Error("tokens are dropped too early")
		}
		stopped.Store(true)
		time.Sleep(loanTime / 4)
		if k.MaySpend(now()) {
			t.Error("a process that was stopped may spend old tokens")
		}
		failing.Store(true)
		stopped.Store(false)
		time.Sleep(2 * time.Second)
		if k.MaySpend(now()) {
			t.Error("old tokens that could not be dropped may be spent")
		}
		failing.Store(false)
		time.Sleep(2 * time.Second)
		if r := s.take(k, 1); k.Counts().Dropped != 10 || !k.MaySpend(now()) || r.res.Allowed {
			t.Errorf("%d tokens were dropped", k.Counts().Dropped)
		}
	})
}
