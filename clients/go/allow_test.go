package stint_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
)

// generous is a timeout for tests that are not about it: a machine that is busy may pause for seconds.
const generous = 30 * time.Second

// connect makes a limiter on the shared server, and deletes all keys there.
func connect(t testing.TB, options ...stint.Option) *stint.Limiter {
	flush(t)
	options = append([]stint.Option{stint.Timeout(generous)}, options...)
	l := stint.Connect([]string{address}, stint.FailClosed(), options...)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func flush(t testing.TB) {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// limits are one of each algorithm, of 5 tokens that come back too slowly to matter.
var limits = map[string]stint.Limit{
	"token bucket":   stint.PerDay(5),
	"gcra":           stint.GCRA(4, 5, 24*time.Hour),
	"fixed window":   stint.Window(5, stint.Starting(24*time.Hour)),
	"sliding window": stint.SlidingWindow(5, 24*time.Hour),
	"sliding log":    stint.SlidingLog(5, 24*time.Hour),
}

func TestAllowOfEveryAlgorithm(t *testing.T) {
	l := connect(t)
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			key := t.Name()
			for _, step := range []struct {
				n         int64
				allowed   bool
				remaining int64
				never     bool
			}{{n: 2, allowed: true, remaining: 3}, {n: 3, allowed: true}, {n: 1}, {n: 6, never: true}} {
				r, err := l.AllowN(t.Context(), key, limit, step.n)
				if err != nil {
					t.Fatal(err)
				}
				if r.Allowed != step.allowed || r.Remaining != step.remaining || r.Limit != 5 || r.Source != stint.Server || r.Cause != nil {
					t.Errorf("AllowN(%d) = %+v", step.n, r)
				}
				if (r.Granted == step.n) != step.allowed || r.ResetAfter <= 0 {
					t.Errorf("AllowN(%d) = %+v", step.n, r)
				}
				if (r.RetryAfter > 0) != (!step.allowed && !step.never) || (r.RetryAfter == stint.Never) != step.never {
					t.Errorf("AllowN(%d).RetryAfter = %v", step.n, r.RetryAfter)
				}
			}
			if err := l.Reset(t.Context(), key); err != nil {
				t.Error(err)
			}
			if r, err := l.Peek(t.Context(), key+"2", stint.PerDay(5), 5); err != nil || !r.Allowed {
				t.Errorf("Peek = %+v, %v", r, err)
			}
		})
	}
}

func TestAtMostForceRefund(t *testing.T) {
	l, key, limit := connect(t), t.Name(), stint.PerDay(5)
	if r, err := l.AllowAtMost(t.Context(), key, limit, 8); err != nil || !r.Allowed || r.Granted != 5 {
		t.Errorf("AllowAtMost(8) = %+v, %v", r, err)
	}
	if r, err := l.AllowAtMost(t.Context(), key, limit, 8); err != nil || r.Allowed || r.Granted != 0 {
		t.Errorf("AllowAtMost(8) of none = %+v, %v", r, err)
	}
	if r, err := l.Force(t.Context(), key, limit, 2); err != nil || r.Remaining != -2 {
		t.Errorf("Force(2) = %+v, %v", r, err)
	}
	if remaining, known, err := l.Refund(t.Context(), key, 4); err != nil || !known || remaining != 2 {
		t.Errorf("Refund(4) = %v, %v, %v", remaining, known, err)
	}
	if err := l.Reset(t.Context(), key); err != nil {
		t.Error(err)
	}
	if _, known, err := l.Refund(t.Context(), key, 4); err != nil || known {
		t.Errorf("Refund of nothing taken: known %v, %v", known, err)
	}
}

func TestQueue(t *testing.T) {
	l := connect(t)
	limit := stint.PerHour(1).Queue(2)
	for i := range 3 {
		r, err := l.Allow(t.Context(), t.Name(), limit)
		if err != nil || !r.Allowed || r.Limit != 3 || r.Wait.Round(time.Hour) != time.Duration(i)*time.Hour {
			t.Errorf("place %d: %+v, %v", i, r, err)
		}
	}
	if r, err := l.Allow(t.Context(), t.Name(), limit); err != nil || r.Allowed || r.RetryAfter <= 0 {
		t.Errorf("a place too many: %+v, %v", r, err)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	l := connect(t, stint.WhenDown(stint.FailOpen()))
	for name, c := range map[string]struct {
		limit stint.Limit
		n     int64
		want  string
	}{
		"zero limit":      {stint.Limit{}, 1, "the zero Limit"},
		"odd period":      {stint.Per(1, time.Microsecond), 1, "a whole number of 1ms"},
		"odd GCRA period": {stint.GCRA(1, 1, time.Millisecond), 1, "a whole number of 1s"},
		"no tokens":       {stint.PerDay(1), 0, "above 0, got 0"},
		"capacity":        {stint.PerDay(0), 1, "capacity: must be an integer between 1"},
		"log too long":    {stint.SlidingLog(1e9, time.Hour), 1, "SW.ACQUIRE needs no log"},
	} {
		r, err := l.AllowN(t.Context(), t.Name(), c.limit, c.n)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, stint.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if r.Source != stint.Fallback || r.Cause == nil {
			t.Errorf("%s: %+v does not say that it is a fallback", name, r)
		}
	}
	if _, err := l.AllowAtMost(t.Context(), t.Name(), stint.GCRA(1, 1, time.Second), 1); !errors.Is(err, stint.ErrInvalid) {
		t.Errorf("AllowAtMost of GCRA: %v", err)
	}
	if _, err := l.Allow(t.Context(), t.Name(), stint.PerDay(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Allow(t.Context(), t.Name(), stint.Window(1, stint.Day)); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("a key of another algorithm: %v", err)
	}
}

func TestAllAndCheck(t *testing.T) {
	l := connect(t)
	user, tenant := stint.On(t.Name()+":user", stint.PerDay(10)), stint.On(t.Name()+":tenant", stint.Window(3, stint.Starting(24*time.Hour)))
	m, err := l.AllN(t.Context(), 2, user, tenant)
	if err != nil || !m.Allowed || m.Granted != 2 || m.Binding != -1 || len(m.Limits) != 2 || m.Limits[0].Remaining != 8 || m.Limits[1].Remaining != 1 {
		t.Errorf("AllN(2) = %+v, %v", m, err)
	}
	if r := m.Result(); !r.Allowed || r.Limit != 3 || r.Remaining != 1 {
		t.Errorf("Result() = %+v", r)
	}
	m, err = l.AllN(t.Context(), 2, user, tenant)
	if err != nil || m.Allowed || m.Binding != 1 || m.RetryAfter <= 0 || m.Limits[0].Remaining != 8 {
		t.Errorf("AllN(2) again = %+v, %v", m, err)
	}
	if _, err := l.All(t.Context()); !errors.Is(err, stint.ErrInvalid) {
		t.Errorf("All() = %v", err)
	}

	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	rdb.Do(t.Context(), "RL.POLICY", "DEL", t.Name())
	if _, err := l.Check(t.Context(), t.Name(), "7"); err == nil || !strings.Contains(err.Error(), "no such policy") {
		t.Errorf("Check of no policy: %v", err)
	}
	if err := rdb.Do(t.Context(), "RL.POLICY", "SET", t.Name(), "TB", t.Name()+":{}", 2, "2/d").Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, true, false} {
		if m, err := l.Check(t.Context(), t.Name(), "7"); err != nil || m.Allowed != want || len(m.Limits) != 1 {
			t.Errorf("Check = %+v, %v", m, err)
		}
	}
}

func TestClientsOfTheApplication(t *testing.T) {
	flush(t)
	for name, client := range map[string]redis.UniversalClient{
		"RESP3":     redis.NewClient(&redis.Options{Addr: address}),
		"RESP2":     redis.NewClient(&redis.Options{Addr: address, Protocol: 2}),
		"universal": redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{address}}),
		"ring":      redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": address}}),
	} {
		t.Run(name, func(t *testing.T) {
			l := stint.New(client, stint.FailClosed(), stint.Timeout(generous))
			if r, err := l.Allow(t.Context(), t.Name(), stint.PerDay(1)); err != nil || !r.Allowed || r.Source != stint.Server {
				t.Errorf("Allow = %+v, %v", r, err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if _, err := l.Allow(t.Context(), t.Name(), stint.PerDay(1)); !errors.Is(err, stint.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			if err := client.Ping(t.Context()).Err(); err != nil {
				t.Errorf("the application's client after the limiter's Close: %v", err)
			}
			client.Close()
		})
	}
}

// TestConcurrentCalls: the replies of shared pipelines reach the right callers.
func TestConcurrentCalls(t *testing.T) {
	l := connect(t)
	const callers, calls, tokens = 50, 40, 1500
	var granted, wrong atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			own := t.Name() + string(rune('A'+caller))
			for i := range calls {
				if r, err := l.Allow(t.Context(), t.Name(), stint.Window(tokens, stint.Starting(24*time.Hour))); err == nil && r.Allowed {
					granted.Add(1)
				}
				if r, err := l.Allow(t.Context(), own, stint.PerDay(calls)); err != nil || r.Remaining != int64(calls-1-i) {
					wrong.Add(1)
				}
			}
		})
	}
	all.Wait()
	if granted.Load() != tokens || wrong.Load() != 0 {
		t.Errorf("%d of %d tokens granted, %d replies of others", granted.Load(), tokens, wrong.Load())
	}
}

// TestAtMost: a limit is lowered, and never raised.
func TestAtMost(t *testing.T) {
	l := connect(t)
	for name, limit := range map[string]stint.Limit{
		"bucket": stint.PerDay(100), "window": stint.Window(100, stint.Starting(time.Hour)), "sliding": stint.SlidingWindow(100, time.Hour),
		"log": stint.SlidingLog(100, time.Hour), "gcra": stint.GCRA(99, 100, 24*time.Hour), "warns": stint.PerDay(100).Warn(50),
	} {
		key := t.Name() + ":" + name
		for _, c := range []struct{ most, taken, left int64 }{{40, 60, 40}, {70, 0, 40}, {40, 0, 40}, {0, 40, 0}} {
			r, err := l.AtMost(t.Context(), key, limit, c.most)
			if err != nil || !r.Allowed || r.Granted != c.taken || r.Remaining != c.left || r.Limit != 100 || r.RetryAfter != 0 {
				t.Errorf("%s, at most %d: %+v, %v", name, c.most, r, err)
			}
		}
		if r, err := l.Allow(t.Context(), key, limit); err != nil || r.Allowed {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for _, limit := range []stint.Limit{{}, stint.PerDay(5).Queue(5), stint.PerDay(5).Member("a", 1), stint.PerDay(5).Adaptive(1)} {
		if _, err := l.AtMost(t.Context(), t.Name(), limit, 1); !errors.Is(err, stint.ErrInvalid) {
			t.Errorf("%v: %v", limit, err)
		}
	}
}
