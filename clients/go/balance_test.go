package stint_test

import (
	"errors"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// TestPlanWithCredits is docs/recipes/credits.md.
func TestPlanWithCredits(t *testing.T) {
	l, key := connect(t), t.Name()
	later := time.Now().Add(time.Hour).Truncate(time.Second)
	for _, p := range []struct {
		stint.Payment
		balance int64
	}{{stint.Payment{ID: key + ":81", Credits: 1000}, 1000}, {stint.Payment{ID: key + ":81", Credits: 1000}, 1000}, {stint.Payment{ID: key + ":gift", Credits: 50, Expires: later}, 1050}} {
		if balance, err := l.AddCredits(t.Context(), key, p.Payment); err != nil || balance != p.balance {
			t.Errorf("%+v: %d, %v", p, balance, err)
		}
	}
	plan := []stint.Keyed{stint.On(key+":hours", stint.Window(100, stint.Starting(time.Hour))), stint.On(key, stint.Balance()).OrElse()}
	call := stint.Request{Tokens: 130, ID: key + ":call", Remember: time.Hour, Split: true}
	m, err := l.AllWith(t.Context(), call, plan...)
	if err != nil || !m.Allowed || m.Limits[0].Granted != 100 || m.Limits[1].Granted != 30 {
		t.Fatalf("%+v, %v", m, err)
	}
	m, known, err := l.Extend(t.Context(), call.ID, stint.Extension{Number: 1, Tokens: 10, Split: true})
	if err != nil || !known || m.Limits[1].Granted != 40 {
		t.Errorf("extended: %+v, %v", m, err)
	}
	if charges, err := l.Settle(t.Context(), call.ID, 120); err != nil || charges[0].Charged != 100 || charges[1].Charged != 20 {
		t.Errorf("settled: %+v, %v", charges, err)
	}
	credits, known, err := l.Credits(t.Context(), key)
	if err != nil || !known || credits.Balance != 1030 || len(credits.Grants) != 2 || credits.Grants[0] != (stint.Credit{Left: 30, Expires: later}) ||
		credits.Grants[1] != (stint.Credit{Left: 1000}) {
		t.Errorf("%+v, %v", credits, err)
	}
	if m, err = l.AllN(t.Context(), 1100, plan...); err != nil || m.Allowed || m.NeedsPayment || m.RetryAfter <= 0 {
		t.Errorf("a wait helps: %+v, %v", m, err)
	}
	if m, err = l.AllN(t.Context(), 1200, plan...); err != nil || m.Allowed || !m.NeedsPayment || m.RetryAfter != stint.Never || !m.Result().NeedsPayment {
		t.Errorf("only a payment helps: %+v, %v", m, err)
	}
	if err := l.WaitN(t.Context(), key, stint.Balance(), 1031); !errors.Is(err, stint.ErrDenied) {
		t.Errorf("it waits for nothing: %v", err)
	}
	if _, known, err := l.Credits(t.Context(), key+":nobody"); known || err != nil {
		t.Errorf("no balance: %v, %v", known, err)
	}
}

// TestOptionsOnServer: the server takes them, and the calls that cannot have them.
func TestOptionsOnServer(t *testing.T) {
	l := connect(t)
	leases := l.Lease(stint.LeaseOptions{})
	defer leases.Close(t.Context())
	for name, limit := range map[string]stint.Limit{
		"segments": stint.SlidingWindow(100, time.Hour).Segments(20), "rollover": stint.Window(100, stint.Month).Rollover(50).Warn(80),
		"turns of a bucket": stint.PerHour(100).Spread(), "turns of a queue": stint.PerHour(100).Queue(10).Spread(),
		"turns of a window": stint.Window(100, stint.Day).Spread(), "places": stint.Concurrency(5, time.Hour, "me").Warn(20),
	} {
		key := t.Name() + name
		if r, err := l.Allow(t.Context(), key, limit); err != nil || r.Source != stint.Server || !r.Allowed {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if m, err := l.All(t.Context(), stint.On(key, limit)); err != nil || !m.Allowed {
			t.Errorf("%s of several: %+v, %v", name, m, err)
		}
		if r, err := leases.Allow(t.Context(), key, limit); err != nil || !r.Allowed {
			t.Errorf("%s leased: %+v, %v", name, r, err)
		}
		if _, err := l.AtMost(t.Context(), key, limit, 40); limit.Corrects() != (err == nil) || err != nil && !errors.Is(err, stint.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
