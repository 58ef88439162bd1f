package upstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/upstream"
)

// running is a server in this process.
type running struct {
	address  string
	store    *store.Store
	upstream *upstream.Upstream
	end      func()
}

// borrows sends a command until the server has borrowed tokens for its key.
func (r *running) borrows(t *testing.T, c *client, command string) {
	t.Helper()
	testwait.Until(t, "it has borrowed tokens", func() (has bool) {
		if _, failure := c.do(command); failure != "" {
			t.Fatal(failure)
		}
		r.store.Purses(func(_ []byte, _ limits.Limit, p purse.Purse) { has = p.Tokens > 1 })
		return has
	})
}

// replicaOf returns the replica of a server without a cluster.
func replicaOf(s *store.Store, c *clock.Clock) func() []upstream.Replica {
	return func() []upstream.Replica {
		return []upstream.Replica{{Store: s, Now: c.Now, Leads: func() bool { return true }}}
	}
}

// homeTimeout is longer than home takes to answer on a busy machine.
const homeTimeout = 30 * time.Second

// start starts a server, which has a home unless that is "", and perhaps a decider with a fault.
func start(t *testing.T, home string, fault func(decider.Decider) decider.Decider) *running {
	t.Helper()
	return startImpatient(t, home, homeTimeout, fault)
}

var regionCount atomic.Int64

// startImpatient is start with the time that requests wait for home.
func startImpatient(t *testing.T, home string, timeout time.Duration, fault func(decider.Decider) decider.Decider) *running {
	t.Helper()
	return startWith(t, home, timeout, fault, func(*upstream.Options) {})
}

// startWith is startImpatient with other options.
func startWith(t *testing.T, home string, timeout time.Duration, fault func(decider.Decider) decider.Decider, change func(*upstream.Options)) *running {
	t.Helper()
	cfg := config.Default()
	r := &running{store: store.New(store.Config{Shards: 4, Commands: new(server.Commands).On(&cfg, nil)})}
	now := clock.New(0)
	log := slog.New(slog.DiscardHandler)
	cfg.Listen, cfg.Admin, cfg.ShutdownTimeout = []string{"127.0.0.1:0"}, "", time.Second
	var d decider.Decider = &decider.Local{Store: r.store, Clock: now}
	if fault != nil {
		d = fault(d)
	}
	if home != "" {
		id := fmt.Sprintf("region-%d", regionCount.Add(1))
		o := upstream.Options{
			Addresses: []string{home}, Keys: []string{"g:*"}, Timeout: timeout, Decider: d, Policies: r.store,
			Replicas: replicaOf(r.store, now), Holder: func() string { return id }, Alone: true, Log: log,
			Reserved: func(now int64, visit func(id []byte)) { store.ReservedFromPurses(r.store, now, visit) },
		}
		change(&o)
		r.upstream = upstream.New(o)
		d = r.upstream
	}
	s := server.New(server.Options{Config: cfg, Decider: d, Keys: r.store, Clock: now, Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string), make(chan error, 1)
	go func() { done <- s.Serve(ctx, func(addresses []string) { ready <- addresses[0] }) }()
	select {
	case r.address = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	r.end = sync.OnceFunc(func() {
		cancel()
		<-done
		if r.upstream != nil {
			ending, cancel := context.WithTimeout(context.Background(), testwait.Limit)
			r.upstream.Close(ending)
			cancel()
		}
		r.store.Close()
	})
	t.Cleanup(r.end)
	return r
}

// Two regions far from home grant requests from lent tokens, and with home no more than the limit: of a bucket that
// hardly refills, every token is granted at most once, while links are cut and connections end. How many requests home
// decides depends on how fast they come, and is logged.
func TestRegionsShareALimit(t *testing.T) {
	t.Parallel() // it waits
	l, regions := shareALimit(t, 10_000, testsize.Pick(4, 6), nil)
	for i, x := range regions {
		s := x.upstream.Status()
		x.end() // which returns its tokens
		t.Logf("region %d: %d requests were granted from lent tokens, and %d not", i+1, s.Local, s.Asked+s.Uncertain)
	}
	l.report(t)
	if sum := l.granted.Load() + l.rest(); sum > l.capacity || sum < l.capacity-3*l.uncertain.Load()-l.capacity/8 {
		t.Errorf("%d tokens were granted or are left, of %d", sum, l.capacity)
	}
}

// The same with a store that forgets some of the spent tokens: more than the limit is granted, and the test above would
// show it.
func TestForgottenTokensShow(t *testing.T) {
	t.Parallel() // it waits
	l, regions := shareALimit(t, 5000, 0, func(d decider.Decider) decider.Decider { return &forgetful{Decider: d} })
	for _, x := range regions {
		x.end()
	}
	if sum := l.granted.Load() + l.rest(); sum <= l.capacity {
		t.Errorf("only %d tokens were granted or are left, of %d", sum, l.capacity)
	}
}

// forgetful answers some requests without taking their tokens.
type forgetful struct {
	decider.Decider
	asked atomic.Int64
}

func (f *forgetful) Decide(b *engine.Batch) bool {
	for i := range b.Ops {
		if b.Ops[i].Verb == engine.Acquire && f.asked.Add(1)%8 == 0 {
			b.Ops[i].Options |= engine.Peek
		}
	}
	return f.Decider.Decide(b)
}

// shareALimit starts callers of two regions and of home, which ask for the tokens of a limit until some are granted,
// many of them from lent tokens of each region. Links are cut some times.
func shareALimit(t *testing.T, tokens int64, cuts int, fault func(decider.Decider) decider.Decider) (*load, []*running) {
	t.Helper()
	random := rand.New(rand.NewPCG(testsize.Seed(), 0))
	home := start(t, "", nil)
	ways := []*proxy{startProxy(t, home.address), startProxy(t, home.address)}
	regions := []*running{startImpatient(t, ways[0].address(), time.Second, fault), startImpatient(t, ways[1].address(), time.Second, fault)}
	l := &load{t: t, capacity: 30_000, home: home.address}
	for _, w := range ways {
		w.delay.Store(int64(75 * time.Millisecond)) // 150 ms there and back
	}
	for range 4 {
		l.begin(regions[0].address, 2*time.Millisecond)
		l.begin(regions[1].address, 2*time.Millisecond)
	}
	l.begin(home.address, 10*time.Millisecond)
	for range cuts {
		before := l.asked.Load()
		testwait.Until(t, "requests go on between the cuts", func() bool { return l.asked.Load() >= before+500 })
		cutFor(ways[random.IntN(2)], time.Duration(random.Int64N(int64(time.Second))), random.IntN(2) == 0)
	}
	testwait.Until(t, "enough tokens are granted", func() bool { return l.granted.Load() >= tokens })
	for _, x := range regions {
		testwait.Until(t, "a region grants from lent tokens", func() bool { return x.upstream.Status().Local > 500 })
	}
	l.end()
	return l, regions
}
