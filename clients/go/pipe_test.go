package stint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// stuck is a sender that blocks until it is released, and counts its commands.
type stuck struct {
	release chan struct{}
	batches atomic.Int64
	sent    atomic.Int64
}

func (s *stuck) send(_ context.Context, commands []redis.Cmder) {
	s.batches.Add(1)
	s.sent.Add(int64(len(commands)))
	<-s.release
}

// TestPipeSharesPipelines: commands that come while all pipelines are in flight are sent together.
func TestPipeSharesPipelines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{release: make(chan struct{})}
		p := newPipe(s)
		results := make(chan error, 1000)
		start := func(n int) {
			for range n {
				go func() { results <- p.do(t.Context(), time.Hour, newCall(redis.NewCmd(t.Context(), "X"))) }()
				synctest.Wait()
			}
		}
		start(maxPipelines)
		if s.batches.Load() != maxPipelines || s.sent.Load() != maxPipelines {
			t.Fatalf("%d commands in %d pipelines", s.sent.Load(), s.batches.Load())
		}
		start(100)
		if s.sent.Load() != maxPipelines {
			t.Fatalf("%d sent while all pipelines are on their way", s.sent.Load())
		}
		s.release <- struct{}{}
		synctest.Wait()
		if s.batches.Load() != maxPipelines+1 || s.sent.Load() != maxPipelines+100 {
			t.Errorf("%d commands in %d pipelines", s.sent.Load(), s.batches.Load())
		}
		close(s.release)
		for range maxPipelines + 100 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2 * workerLinger)
		synctest.Wait()
		if p.workers != 0 || p.idle != 0 {
			t.Errorf("%d workers, %d idle after a while without work", p.workers, p.idle)
		}
		start(1)
		if err := <-results; err != nil || p.workers != 1 {
			t.Errorf("afterwards: %v, %d workers", err, p.workers)
		}
		p.close()
		synctest.Wait()
		if p.workers != 0 {
			t.Errorf("%d workers after close", p.workers)
		}
	})
}

// TestPipeIsBounded: beyond maxQueued commands are refused at once, and those given up make room.
func TestPipeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{release: make(chan struct{})}
		p := newPipe(s)
		const each = time.Second
		results := make(chan error, maxQueued+maxPipelines)
		for i := range maxQueued + maxPipelines {
			go func() { results <- p.do(t.Context(), each, newCall(redis.NewCmd(t.Context(), "X"))) }()
			if i < maxPipelines {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if err := p.do(t.Context(), each, newCall(redis.NewCmd(t.Context(), "X"))); !errors.Is(err, ErrOverloaded) {
			t.Errorf("with the queue full: %v", err)
		}
		begun := time.Now()
		var unsent int
		for range maxQueued + maxPipelines {
			if err := <-results; !errors.Is(err, ErrTimeout) {
				t.Fatal(err)
			} else if errors.Is(err, ErrNotSent) {
				unsent++
			}
		}
		if waited := time.Since(begun); unsent != maxQueued || waited != each {
			t.Errorf("%d were not sent, after %v", unsent, waited)
		}
		close(s.release)
		synctest.Wait()
		if s.sent.Load() != maxPipelines {
			t.Errorf("%d sent; their callers had left", s.sent.Load())
		}
		p.close()
	})
}

// TestBreaker: when it opens, what counts as one failure, and when it asks again.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		var mu sync.Mutex // around probes, changes and begun
		var probes []time.Duration
		begun := time.Now()
		var works atomic.Bool
		var changes []string
		b := &breaker{failures: 3, coolDown: time.Second,
			probe: func(context.Context) error {
				mu.Lock()
				probes = append(probes, time.Since(begun))
				mu.Unlock()
				if works.Load() {
					return nil
				}
				return cause
			},
			changed: func(open bool, err error) {
				mu.Lock()
				changes = append(changes, fmt.Sprint(open, " ", err))
				mu.Unlock()
			},
		}
		for range 2 { // each overlaps with the one before it and counts as one with it
			old := time.Now()
			time.Sleep(time.Millisecond)
			for range 10 {
				b.failed(old, cause)
			}
		}
		b.succeeded()
		for range 3 {
			if b.open.Load() {
				t.Error("open too early")
			}
			time.Sleep(time.Millisecond)
			b.failed(time.Now(), cause)
		}
		if !b.open.Load() {
			t.Error("not open after three failures in a row")
		}
		mu.Lock()
		begun = time.Now()
		mu.Unlock()
		pass := func() int {
			time.Sleep(time.Minute)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return len(probes)
		}
		pass()
		mu.Lock()
		if len(probes) < 39 { // a minute of gaps of at most 1.5 s
			t.Errorf("probes at %v", probes)
		}
		before := time.Duration(0)
		for i, at := range probes {
			if gap := at - before; gap < b.coolDown/2 || gap > b.coolDown*3/2 {
				t.Errorf("probe %d came %v after the one before, want about %v", i, gap, b.coolDown)
			}
			before = at
		}
		mu.Unlock()
		works.Store(true)
		count := pass()
		if b.open.Load() || fmt.Sprint(changes) != "[true cause false <nil>]" {
			t.Errorf("open: %v, changes: %v", b.open.Load(), changes)
		}
		if pass() != count {
			t.Error("probes go on though it is closed")
		}
		for range 3 {
			time.Sleep(time.Millisecond)
			b.failed(time.Now(), cause)
		}
		b.close()
		if pass() != count {
			t.Error("probes after close")
		}
	})
}

// TestPipelineIsNotRepeated: as TestLostReplyIsNotRepeated, for several commands at once.
func TestPipelineIsNotRepeated(t *testing.T) {
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	proxy, err := servertest.NewProxy(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	client := redis.NewClient(&redis.Options{Addr: proxy.Address, MaxRetries: 10, MinRetryBackoff: time.Millisecond})
	defer client.Close()
	direct := redis.NewClient(&redis.Options{Addr: server.Address})
	defer direct.Close()
	remaining := func() int64 {
		reply, err := direct.Do(t.Context(), "TB.ACQUIRE", "k", 100, "1/d", 1, "PEEK").Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		return reply[2] + 1
	}
	batch := func() (commands []redis.Cmder) {
		for range 3 {
			commands = append(commands, once{redis.NewCmd(t.Context(), "TB.ACQUIRE", "k", 100, "1/d")})
		}
		return commands
	}
	sendThrough(t.Context(), client, batch())
	proxy.HoldReplies()
	done, lost := make(chan struct{}), batch()
	go func() { sendThrough(context.Background(), client, lost); close(done) }()
	for deadline := time.Now().Add(time.Minute); remaining() != 94; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d remaining", remaining())
		}
	}
	proxy.Cut()
	proxy.Heal()
	<-done
	if lost[0].Err() == nil || remaining() != 94 {
		t.Errorf("%v; %d remaining of 100 after 6 were taken", lost[0].Err(), remaining())
	}
}

// TestLocalShare: the decisions of a process in place of the server.
func TestLocalShare(t *testing.T) {
	l := newLocal(0.25)
	at := time.Unix(1000, 0)
	bucket, small := On("a", PerSecond(40).Burst(20)), On("b", PerSecond(2))
	count := func(k Keyed, span time.Duration) (granted int) {
		for end := at.Add(span); !at.After(end); at = at.Add(time.Millisecond) {
			if _, binding, _ := l.take(at, 1, []Keyed{k}, true); binding < 0 {
				granted++
			}
		}
		return granted
	}
	if got := count(bucket, 10*time.Second); got < 5+100-1 || got > 5+100 {
		t.Errorf("a quarter of 20 tokens and 40/s let %d through in 10 s, want 5 + 100", got)
	}
	if got := count(small, 10*time.Second); got < 1+5-1 || got > 1+5 {
		t.Errorf("a quarter of 2 tokens and 2/s let %d through in 10 s, want 1 + 5", got)
	}
	at = at.Add(time.Hour)
	if states, binding, retry := l.take(at, 5, []Keyed{bucket}, false); binding != -1 || retry != 0 || states[0] != (LimitState{Limit: 5, Remaining: 5}) {
		t.Errorf("looking: %v, %v, %v", states, binding, retry)
	}
	states, binding, _ := l.take(at, 1, []Keyed{bucket, small}, true)
	if binding != -1 || states[0].Remaining != 4 || states[1].Remaining != 0 {
		t.Errorf("both: %v, %v", states, binding)
	}
	states, binding, retry := l.take(at, 1, []Keyed{bucket, small}, true)
	if binding != 1 || states[0].Remaining != 4 || retry != 2*time.Second {
		t.Errorf("all or nothing: %v, %v, %v", states, binding, retry)
	}
	if _, _, retry := l.take(at, 6, []Keyed{bucket, small}, true); retry != Never {
		t.Errorf("more than there can be: %v", retry)
	}
	if _, _, retry := l.take(at, 1, []Keyed{On("w", Window(100, Day))}, true); retry != 0 {
		t.Errorf("a window: %v", retry)
	}
	for i := range maxLocalKeys {
		l.take(at, 1, []Keyed{On(fmt.Sprint(i), PerSecond(40))}, true)
	}
	if _, binding, retry := l.take(at, 1, []Keyed{On("new", PerSecond(40))}, true); binding != 0 || retry <= 0 || len(l.buckets) > maxLocalKeys {
		t.Errorf("with %d keys: %v, %v", len(l.buckets), binding, retry)
	}
	if _, binding, _ := l.take(at.Add(time.Hour), 1, []Keyed{On("new", PerSecond(40))}, true); binding != -1 {
		t.Error("no room though all buckets are full again")
	}
}
