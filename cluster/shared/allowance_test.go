package shared

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// A balance gives what a shared limit of another group cannot, and not what its purse lacks at the moment.
func TestAllowanceOfAnotherGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(t)
		defer g.close()
		ctx, cancel := context.WithCancel(t.Context())
		l := g.node(ctx)
		defer l.Close()
		defer cancel()
		credits := limits.Limit{Algorithm: limits.Balance}
		payment := []engine.Op{{Verb: engine.AddCredits, Key: []byte("balance"), Limit: credits, Tokens: 10}}
		l.do(away, engine.Op{Verb: engine.Reserve, Key: []byte("payment"), MaxWait: int64(time.Hour), Parts: payment})
		for _, want := range []struct{ tokens, shared, credits int64 }{{15, 15, 0}, {7, 5, 2}, {9, 0, 0}, {8, 0, 8}} {
			parts := []engine.Op{
				{Key: []byte("shared"), Limit: limit, Tokens: want.tokens},
				{Key: []byte("balance"), Limit: credits, Tokens: want.tokens, Options: engine.Else},
			}
			b := &engine.Batch{Ops: []engine.Op{{Verb: engine.AcquireAll, Tokens: want.tokens, Parts: parts}}, Results: make([]engine.Result, 1)}
			done := make(chan struct{})
			b.Done = func() { close(done) }
			if !l.Decide(b) {
				<-done
			}
			res := &b.Results[0]
			if len(res.Parts) != 2 || res.Parts[0].Granted != want.shared || res.Parts[1].Granted != want.credits || res.Allowed != (want.shared+want.credits > 0) {
				t.Errorf("%d tokens: %+v", want.tokens, res)
			}
		}
	})
}
