package shared

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/internal/loans"
)

// behind shows no purses, as a replica does that has not heard of them.
type behind struct{ loans.Store }

func (behind) Purses(func(key []byte, limit limits.Limit, p purse.Purse)) {}

// A node whose replica does not show a purse does not void the loan, because the group's leader knows the purse.
func TestReplicaThatIsBehindVoidsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l, end := nodeBehind(t)
		defer end()
		g.lend(l, 5)
		time.Sleep(3 * voidEvery)
		if lent := g.lentNow(l); lent != 5 {
			t.Errorf("%d tokens are lent, and the purse has 5", lent)
		}
	})
}

// A loan that is found without a purse is not voided if it gets a purse before.
func TestLoanThatGetsAPurseIsNotVoided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l, end := nodeBehind(t)
		defer end()
		l.do(0, engine.Op{Verb: engine.Lend, Key: []byte("shared"), Limit: limit, Tokens: 1, Who: []byte(holderOf(away)),
			Options: engine.Whole, Loan: &engine.Loan{Number: 7}})
		voiding := g.holdUp(engine.Return, false)
		voiding.await(t)
		g.lend(l, 5) // hears of the loan
		g.lend(l, 5)
		close(voiding.release)
		synctest.Wait()
		if lent := g.lentNow(l); lent != 5 {
			t.Errorf("%d tokens are lent, and the purse has 5", lent)
		}
	})
}

// nodeBehind returns groups, and a node of them whose replicas are behind.
func nodeBehind(t *testing.T) (g *groups, l *Limits, end func()) {
	g = newGroups(t)
	g.purses = func(s loans.Store) loans.Store { return behind{s} }
	ctx, cancel := context.WithCancel(t.Context())
	l = g.node(ctx)
	return g, l, func() {
		cancel()
		l.Close()
		g.close()
	}
}

func (g *groups) lentNow(l *Limits) int64 {
	return l.do(home, engine.Op{Verb: engine.Look, Key: []byte("shared")})[0].Lent
}
