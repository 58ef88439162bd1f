package stint_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
)

// remaining is the remaining tokens of each limit.
func remaining(m stint.MultiResult) string {
	var all []int64
	for _, limit := range m.Limits {
		all = append(all, limit.Remaining)
	}
	return fmt.Sprint(all)
}

// TestCostAndKeep: limits are asked for different amounts, and some of them is kept.
func TestCostAndKeep(t *testing.T) {
	l := connect(t)
	limits := func(cost int64, keep stint.Keep) []stint.Keyed {
		return []stint.Keyed{
			stint.On(t.Name()+":requests", stint.PerDay(20)).Cost(1),
			stint.On(t.Name()+":tokens", stint.Window(1000, stint.Starting(24*time.Hour))).Cost(cost).Keep(keep),
			stint.On(t.Name()+":places", stint.PerDay(10)),
		}
	}
	for _, c := range []struct {
		r         stint.Request
		cost      int64
		keep      stint.Keep
		binding   int
		never     bool
		remaining string
	}{
		{r: stint.Request{Tokens: 2}, cost: 300, binding: -1, remaining: "[19 700 8]"},
		{r: stint.Request{Tokens: 2}, cost: 0, binding: -1, remaining: "[18 700 6]"},
		{r: stint.Request{Tokens: 2}, cost: 200, keep: stint.KeepTokens(501), binding: 1, remaining: "[18 700 6]"},
		{r: stint.Request{Tokens: 2}, cost: 200, keep: stint.KeepTokens(500), binding: -1, remaining: "[17 500 4]"},
		{r: stint.Request{Tokens: 1}, cost: 1, keep: stint.KeepPercent(49.901), binding: 1, remaining: "[17 500 4]"},
		{r: stint.Request{Tokens: 1}, cost: 1, keep: stint.KeepPercent(49.9), binding: -1, remaining: "[16 499 3]"},
		{r: stint.Request{Tokens: 1, Keep: stint.KeepPercent(30)}, cost: 1, keep: stint.KeepTokens(0), binding: 2, remaining: "[16 499 3]"},
		{r: stint.Request{Tokens: 1, Keep: stint.KeepPercent(0.1 + 0.2)}, cost: 1, keep: stint.KeepTokens(0), binding: -1, remaining: "[15 498 2]"},
		{r: stint.Request{Tokens: 1}, cost: 1, keep: stint.KeepPercent(100), binding: 1, never: true, remaining: "[15 498 2]"},
	} {
		m, err := l.AllWith(t.Context(), c.r, limits(c.cost, c.keep)...)
		if err != nil || m.Binding != c.binding || m.Allowed != (c.binding < 0) || (m.RetryAfter == stint.Never) != c.never || remaining(m) != c.remaining {
			t.Errorf("%+v: %+v, %v", c, m, err)
		}
	}
	m, err := l.AllN(t.Context(), 2, limits(8, "")...)
	if err != nil || !m.Allowed || m.Granted != 2 || remaining(m) != "[14 490 0]" {
		t.Errorf("AllN = %+v, %v", m, err)
	}
	queue := stint.On(t.Name()+":queue", stint.PerDay(1).Queue(1))
	if m, err := l.AllWith(t.Context(), stint.Request{Tokens: 1, Keep: stint.KeepPercent(100)}, queue); err != nil || !m.Allowed {
		t.Errorf("a queue of a request with Keep: %+v, %v", m, err)
	}
	if m, err := l.All(t.Context(), queue.Keep(stint.KeepTokens(1))); err == nil || m.Allowed {
		t.Errorf("a queue with its own Keep: %+v, %v", m, err)
	}
}

// TestMaxWait: buckets and queues are waited for, as far as the request says.
func TestMaxWait(t *testing.T) {
	l := connect(t)
	bucket, queue := stint.On(t.Name()+":b", stint.Per(1, time.Hour)), stint.On(t.Name()+":q", stint.Per(1, time.Hour).Queue(5))
	window := stint.On(t.Name()+":w", stint.Window(1, stint.Starting(time.Hour)))
	const near, far = 30 * time.Minute, 90 * time.Minute
	for i, c := range []struct {
		maxWait  time.Duration
		limits   []stint.Keyed
		allowed  bool
		from, to time.Duration // of Wait, or of RetryAfter after a denial
	}{
		{limits: []stint.Keyed{bucket, queue}, allowed: true},
		{limits: []stint.Keyed{queue}, allowed: true, from: near, to: time.Hour},
		{limits: []stint.Keyed{queue}, maxWait: far, from: 1, to: time.Hour},
		{limits: []stint.Keyed{bucket}, from: near, to: time.Hour},
		{limits: []stint.Keyed{bucket, window}, maxWait: time.Nanosecond, from: near, to: time.Hour},
		{limits: []stint.Keyed{bucket, window}, maxWait: far + time.Nanosecond, allowed: true, from: near, to: time.Hour},
		{limits: []stint.Keyed{bucket, window}, maxWait: 2 * far, from: near, to: time.Hour},
		{limits: []stint.Keyed{bucket.Keep(stint.KeepTokens(1))}, maxWait: far, from: stint.Never, to: stint.Never},
	} {
		m, err := l.AllWith(t.Context(), stint.Request{Tokens: 1, MaxWait: c.maxWait}, c.limits...)
		wait, other := m.RetryAfter, m.Wait
		if c.allowed {
			wait, other = m.Wait, m.RetryAfter
		}
		if err != nil || m.Allowed != c.allowed || wait < c.from || wait > c.to || other != 0 || m.Result().Wait != m.Wait {
			t.Errorf("%d: %+v, %v", i, m, err)
		}
	}
}

// TestInvalidRequests: they are denied, also while Stint is down and its answer would be to allow.
func TestInvalidRequests(t *testing.T) {
	l := stint.Connect([]string{"127.0.0.1:1"}, stint.FailOpen())
	defer l.Close()
	limit := stint.On("k", stint.PerDay(1))
	for name, call := range map[string]func() (stint.MultiResult, error){
		"no limit":              func() (stint.MultiResult, error) { return l.All(t.Context()) },
		"no tokens":             func() (stint.MultiResult, error) { return l.AllWith(t.Context(), stint.Request{}, limit) },
		"no tokens of a policy": func() (stint.MultiResult, error) { return l.CheckWith(t.Context(), "p", "7", stint.Request{}) },
		"a cost below 0":        func() (stint.MultiResult, error) { return l.All(t.Context(), limit.Cost(-1)) },
		"a wait below 0": func() (stint.MultiResult, error) {
			return l.AllWith(t.Context(), stint.Request{Tokens: 1, MaxWait: -1}, limit)
		},
		"a wait and a part to leave": func() (stint.MultiResult, error) {
			return l.AllWith(t.Context(), stint.Request{Tokens: 1, MaxWait: 1, Keep: "1"}, limit)
		},
		"an ID that is not remembered": func() (stint.MultiResult, error) {
			return l.AllWith(t.Context(), stint.Request{Tokens: 1, ID: "id"}, limit)
		},
		"a time to remember no ID": func() (stint.MultiResult, error) {
			return l.AllWith(t.Context(), stint.Request{Tokens: 1, Remember: time.Hour}, limit)
		},
		"fields without a policy": func() (stint.MultiResult, error) {
			return l.AllWith(t.Context(), stint.Request{Tokens: 1, Fields: map[string]string{"tenant": "acme"}}, limit)
		},
	} {
		if m, err := call(); !errors.Is(err, stint.ErrInvalid) || m.Allowed {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// TestCostLocally: while Stint is down, a local share knows the cost of each limit.
func TestCostLocally(t *testing.T) {
	l := stint.Connect([]string{"127.0.0.1:1"}, stint.LocalShare(1))
	defer l.Close()
	limits := []stint.Keyed{stint.On("requests", stint.PerDay(9)).Cost(1), stint.On("tokens", stint.PerDay(100)), stint.On("seen", stint.PerDay(5)).Cost(0)}
	for _, want := range []string{"[8 60 5]", "[7 20 5]", "[7 20 5]"} {
		if m, err := l.AllN(t.Context(), 40, limits...); err != nil || remaining(m) != want || m.Allowed != (m.Binding < 0) {
			t.Errorf("%+v, %v, want %s", m, err, want)
		}
	}
}

func TestCheckWith(t *testing.T) {
	l := connect(t)
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	long := strings.Repeat("l", 300)
	if err := rdb.Do(t.Context(), "RL.POLICY", "SET", t.Name(), "TB", "tpm:{tenant}:{}", 5, "5/d", "TB", "model:{model}", 9, "9/d").Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tenant, model string
		own, shared   int64
	}{{"acme", "large", 3, 7}, {"acme", "large", 1, 5}, {"globex", "large", 3, 3}, {"a:b%", long, 3, 7}, {"acme", long, 0, 0}} {
		m, err := l.CheckWith(t.Context(), t.Name(), "7", stint.Request{Tokens: 2, Fields: map[string]string{"tenant": c.tenant, "model": c.model}})
		switch {
		case err != nil || m.Allowed != (c.own > 0):
			t.Errorf("%+v: %+v, %v", c, m, err)
		case m.Allowed && (m.Limits[0].Remaining != c.own || m.Limits[1].Remaining != c.shared):
			t.Errorf("%+v: %+v", c, m.Limits)
		}
	}
	for want, fields := range map[string]map[string]string{
		"the policy needs the field 'tenant'":                     nil,
		"the policy needs the field 'model'":                      {"tenant": "acme"},
		"no limit of the policy asks for the field 'region'":      {"tenant": "acme", "model": "x", "region": "eu"},
		"a field's name must be 1 to 64 letters, digits, _ and -": {"": "acme"},
	} {
		if m, err := l.CheckWith(t.Context(), t.Name(), "7", stint.Request{Tokens: 1, Fields: fields}); m.Allowed || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %+v, %v, want %s", fields, m, err, want)
		}
	}
	down := stint.Connect([]string{"127.0.0.1:1"}, stint.LocalShare(1), stint.AssumePolicy("p", stint.PerDay(1)))
	defer down.Close()
	for _, c := range []struct {
		tenant string
		want   bool
	}{{"acme", true}, {"acme", false}, {"globex", true}} {
		if m, err := down.CheckWith(t.Context(), "p", "7", stint.Request{Tokens: 1, Fields: map[string]string{"tenant": c.tenant}}); err != nil || m.Allowed != c.want {
			t.Errorf("%s while Stint is down: %+v, %v", c.tenant, m, err)
		}
	}
}

// TestAmountsThatAreNone: other texts and numbers than amounts are errors before anything is sent.
func TestAmountsThatAreNone(t *testing.T) {
	client := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a connection was opened")
		return nil, errors.New("there is none")
	}})
	defer client.Close()
	l := stint.New(client, stint.FailOpen())
	limit, ctx := stint.PerDay(20), t.Context()
	calls := map[string]func() error{}
	for _, n := range []int64{0, -1, math.MinInt64} {
		calls[fmt.Sprint("AllowN ", n)] = func() error { _, err := l.AllowN(ctx, "k", limit, n); return err }
		calls[fmt.Sprint("CheckN ", n)] = func() error { _, err := l.CheckN(ctx, "p", "u", n); return err }
		calls[fmt.Sprint("AllN ", n)] = func() error { _, err := l.AllN(ctx, n, stint.On("k", limit)); return err }
		calls[fmt.Sprint("Refund ", n)] = func() error { _, _, err := l.Refund(ctx, "k", n); return err }
	}
	for _, n := range []int64{-2, math.MinInt64} {
		calls[fmt.Sprint("Settle ", n)] = func() error { _, err := l.Settle(ctx, "id", n); return err }
		calls[fmt.Sprint("SettleCosts ", n)] = func() error { _, err := l.SettleCosts(ctx, "id", 1, n); return err }
		calls[fmt.Sprint("Cost ", n)] = func() error { _, err := l.All(ctx, stint.On("k", limit).Cost(n)); return err }
	}
	for _, keep := range []stint.Keep{"PEEK", " 1", "+1", "-1", "1.5", "1e3", "%", "101%", "1.2345%", "5 PEEK", "half", stint.KeepTokens(-1), stint.KeepPercent(100.001), stint.KeepPercent(math.NaN()), stint.KeepPercent(math.Inf(1)), stint.KeepPercent(-3)} {
		calls["Keep "+string(keep)] = func() error { _, err := l.All(ctx, stint.On("k", limit).Keep(keep)); return err }
		calls["Request.Keep "+string(keep)] = func() error {
			_, err := l.CheckWith(ctx, "p", "u", stint.Request{Tokens: 1, Keep: keep})
			return err
		}
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, stint.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
