package upstream_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/upstream"
)

// A region logs in at home with its user's password. With a wrong one it has no home, and says why.
func TestLogin(t *testing.T) {
	home := start(t, "", nil)
	c := dial(t, home.address)
	c.do("ACL SETUSER east on >secret ~g:* +rl.lend +rl.return +ping +tb.acquire")
	c.do("ACL SETUSER default resetpass >other")
	ask := func(password string) (engine.Result, upstream.Status) {
		store := store.New(store.Config{Shards: 1, Commands: new(data.Executor)})
		defer store.Close()
		now := clock.New(0)
		u := upstream.New(upstream.Options{
			Addresses: []string{home.address}, Keys: []string{"g:*"}, User: "east", Password: password, Timeout: homeTimeout,
			Decider: &decider.Local{Store: store, Clock: now}, Policies: store, Replicas: replicaOf(store, now), Alone: true, Log: slog.New(slog.DiscardHandler),
			Holder: func() string { return "east" },
		})
		defer u.Close(context.Background())
		done := make(chan struct{})
		b := &engine.Batch{Ops: []engine.Op{{Key: []byte("g:1"), Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}}, Tokens: 1}},
			Results: make([]engine.Result, 1), Done: func() { close(done) }}
		if !u.Decide(b) {
			<-done
		}
		return b.Results[0], u.Status()
	}
	if res, status := ask("secret"); !res.Allowed || !status.Connected {
		t.Errorf("%+v, %+v", res, status)
	}
	if res, status := ask("wrong"); res.Status != engine.NoHome || !strings.Contains(status.Failure, "WRONGPASS") {
		t.Errorf("with a wrong password: %+v, %+v", res, status)
	}
}
