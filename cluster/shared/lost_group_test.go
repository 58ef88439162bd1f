package shared

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/internal/loans"
)

// A group without a leader does not answer operations on loans of its keys. They hold up no loans of other groups'
// keys.
func TestAGroupWithoutALeaderHoldsUpNoOtherLoan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(t)
		defer g.close()
		ctx, cancel := context.WithCancel(t.Context())
		l := g.node(ctx)
		defer l.Close()
		defer cancel()
		g.lose(true)
		for i := range 2 * cap(loans.NewTurns()) {
			go ask(l, "lost"+strconv.Itoa(i), limit, 1)
		}
		synctest.Wait()
		began := time.Now()
		if res := ask(l, "shared", limit, 1); !res.Allowed || time.Since(began) > 0 {
			t.Errorf("status %d after %v: %+v", res.Status, time.Since(began), res)
		}
	})
}

func (g *groups) lose(isLost bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isLost = isLost
}

// A group without a leader does not take its tokens back. However many purses have some, the tokens of other groups go
// back as ever.
func TestAGroupWithoutALeaderHoldsUpNoReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(t)
		defer g.close()
		ctx, cancel := context.WithCancel(t.Context())
		g.purses = func(s loans.Store) loans.Store { return lostFirst{s} }
		l := g.node(ctx)
		defer l.Close()
		defer cancel()
		for i := range 3 * maxIdle {
			g.lendOf(l, "lost"+strconv.Itoa(i), limit, 5)
		}
		g.lend(l, 5)
		g.lose(true)
		time.Sleep(idleAfter + 10*tidyEvery)
		if res := l.do(home, engine.Op{Verb: engine.Look, Key: []byte("shared")})[0]; res.Lent > 0 {
			t.Errorf("%d tokens are lent still: %+v", res.Lent, res)
		}
		g.lose(false)
		time.Sleep(timeout + idleAfter + 10*tidyEvery)
		if n := g.stores[away].AwayPurseCount(); n > 1 {
			t.Errorf("%d purses have tokens of the group, which has a leader again", n)
		}
	})
}

// lostFirst visits the purses of the lost group first, as a store does whose first shards have them.
type lostFirst struct{ loans.Store }

func (s lostFirst) Purses(visit func(key []byte, limit limits.Limit, p purse.Purse)) {
	for _, wanted := range []bool{true, false} {
		s.Store.Purses(func(key []byte, limit limits.Limit, p purse.Purse) {
			if (homeOf(key) == lost) == wanted {
				visit(key, limit, p)
			}
		})
	}
}
