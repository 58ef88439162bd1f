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
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/upstream"
)

// running is a server in this process.
type running struct {
	address  string
	store    *engine.Store
	upstream *upstream.Upstream
	end      func()
}

// start starts a server, which has a home unless that is "", and perhaps a decider with a fault.
func start(t *testing.T, home string, fault func(decider.Decider) decider.Decider) *running {
	t.Helper()
	r := &running{store: engine.New(engine.Config{Shards: 4, Commands: server.NewCommands()})}
	now := clock.New(0)
	log := slog.New(slog.DiscardHandler)
	cfg := config.Default()
	cfg.Listen, cfg.Admin, cfg.ShutdownTimeout = []string{"127.0.0.1:0"}, "", time.Second
	var d decider.Decider = &decider.Local{Store: r.store, Clock: now}
	if fault != nil {
		d = fault(d)
	}
	if home != "" {
		id := fmt.Sprintf("region-%d", rand.Uint32())
		r.upstream = upstream.New(upstream.Options{
			Addresses: []string{home}, Keys: []string{"g:*"}, Timeout: time.Second, Decider: d, Store: r.store, Now: now.Now,
			Holder: func() string { return id }, Leads: func() bool { return true }, Alone: true, Log: log,
		})
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
			ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			r.upstream.Close(ending)
			cancel()
		}
		r.store.Close()
	})
	t.Cleanup(r.end)
	return r
}

// Two regions far from home grant nearly all requests from lent tokens, and with home no more than the limit: of a bucket that
// hardly refills, every token is granted at most once, while links are cut and connections end.
func TestRegionsShareALimit(t *testing.T) {
	l, regions := shareALimit(t, 6*time.Second, nil)
	var local, others int64
	for _, x := range regions {
		s := x.upstream.Status()
		local, others = local+s.Local, others+s.Asked+s.Uncertain
		x.end() // which returns its tokens
	}
	l.report(t)
	if local < 4*others {
		t.Errorf("only %d requests were granted from lent tokens, and %d not", local, others)
	}
	if sum := l.granted.Load() + l.rest(); sum > l.capacity || sum < l.capacity-3*l.uncertain.Load()-l.capacity/8 {
		t.Errorf("%d tokens were granted or are left, of %d", sum, l.capacity)
	}
}

// The same with a store that forgets some of the spent tokens: more than the limit is granted, and the test above would show it.
func TestForgottenTokensShow(t *testing.T) {
	l, regions := shareALimit(t, 2*time.Second, func(d decider.Decider) decider.Decider { return &forgetful{Decider: d} })
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

func shareALimit(t *testing.T, length time.Duration, fault func(decider.Decider) decider.Decider) (*load, []*running) {
	home := start(t, "", nil)
	ways := []*proxy{startProxy(t, home.address), startProxy(t, home.address)}
	regions := []*running{start(t, ways[0].address(), fault), start(t, ways[1].address(), fault)}
	l := &load{t: t, capacity: 30_000, home: home.address}
	for _, w := range ways {
		w.delay.Store(int64(75 * time.Millisecond)) // 150 ms there and back
	}
	for range 4 {
		l.begin(regions[0].address, 2*time.Millisecond)
		l.begin(regions[1].address, 2*time.Millisecond)
	}
	l.begin(home.address, 10*time.Millisecond)
	for until := time.Now().Add(length); time.Now().Before(until); {
		time.Sleep(rand.N(time.Second))
		if fault == nil {
			cutFor(ways[rand.IntN(2)], rand.N(time.Second))
		}
	}
	l.end()
	return l, regions
}
