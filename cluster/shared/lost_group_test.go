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
)

// While one group has no leader, the loans of its keys are asked for in vain. Those of other groups' keys are not held up.
func TestAGroupWithoutALeaderHoldsUpNoOtherLoan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(t)
		defer g.close()
		ctx, cancel := context.WithCancel(t.Context())
		l := g.node(ctx)
		defer l.Close()
		defer cancel()
		g.lose(true)
		for i := range 2 * maxExchanges {
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

// While one group has no leader, its tokens cannot be returned to it, however many purses have some. Those of other groups are returned as ever.
func TestAGroupWithoutALeaderHoldsUpNoReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(t)
		defer g.close()
		ctx, cancel := context.WithCancel(t.Context())
		g.purses = func(s Store) Store { return lostFirst{s} }
		l := g.node(ctx)
		defer l.Close()
		defer cancel()
		for i := range 3 * maxIdle {
			g.lendKey(l, "lost"+strconv.Itoa(i))
		}
		g.lendKey(l, "shared")
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

func (g *groups) lendKey(l *Limits, name string) {
	kept, _ := limit.InPurse()
	prepared := l.do(away, engine.Op{Verb: engine.Prepare, Key: []byte(name), Limit: kept})[0]
	p, k := purse.Of(&prepared), &key{purseID: purseID{away, name}}
	lent := l.do(0, k.ask(&p, limit, 5, 5)...)[0]
	l.do(away, p.Answered([]byte(name), lent.Granted, lent.Number))
}

// lostFirst visits the purses of the lost group first, as a store does whose first shards have them.
type lostFirst struct{ Store }

func (s lostFirst) Purses(visit func(key []byte, limit limits.Limit, p purse.Purse)) {
	for _, wanted := range []bool{true, false} {
		s.Store.Purses(func(key []byte, limit limits.Limit, p purse.Purse) {
			if (homeOf(key) == lost) == wanted {
				visit(key, limit, p)
			}
		})
	}
}
