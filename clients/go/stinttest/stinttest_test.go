package stinttest_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
	"github.com/stintdb/stint/clients/go/stinttest"
)

var address string

func TestMain(m *testing.M) { servertest.Main(m, &address) }

const days = 9 * 24 * time.Hour // in which no token comes back during a test

var limits = map[string][]stint.Limit{
	"bucket": {stint.Per(7, days).Burst(20), stint.Per(11, days).Burst(30)}, // tokens taken carry over
	"window": {stint.Window(20, stint.Starting(days))},
	"year":   {stint.Window(20, stint.Year)},
}

// rough is the difference of times that is no mistake: the server's clock does not stand still.
const rough = time.Minute

func near(a, b time.Duration) bool { return a == b || a >= 0 && b >= 0 && (a-b).Abs() < rough }

// fakeOfToday is a fake with the server's time.
func fakeOfToday() *stinttest.Fake {
	fake := stinttest.NewFake()
	fake.Advance(time.Since(fake.Now()))
	return fake
}

// TestDecidesAsTheServer: random calls on a fake and on a server.
func TestDecidesAsTheServer(t *testing.T) {
	real := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second))
	defer real.Close()
	for name, choices := range limits {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			fake := fakeOfToday()
			ours := fake.Connect(stint.FailClosed())
			defer ours.Close()
			for i := range 300 {
				key, limit := fmt.Sprint(name, i/25), choices[random.IntN(len(choices))]
				n, call := 1+random.Int64N(6), random.IntN(5)
				ask := func(l *stint.Limiter) (stint.Result, error) {
					switch call {
					case 1:
						return l.Peek(t.Context(), key, limit, n)
					case 2:
						return l.Force(t.Context(), key, limit, n)
					case 3:
						return l.AllowAtMost(t.Context(), key, limit, n)
					default:
						return l.AllowN(t.Context(), key, limit, n)
					}
				}
				got, gotErr := ask(ours)
				want, wantErr := ask(real)
				if gotErr != nil || wantErr != nil || want.Source != stint.Server {
					t.Fatalf("call %d: %v, the server: %+v, %v", i, gotErr, want, wantErr)
				}
				isSame := got.Allowed == want.Allowed && got.Granted == want.Granted && got.Limit == want.Limit && got.Remaining == want.Remaining
				if !isSame || !near(got.RetryAfter, want.RetryAfter) || !near(got.Wait, want.Wait) || !near(got.ResetAfter, want.ResetAfter) {
					t.Fatalf("call %d, %d of %v for %d:\ngot  %+v\nwant %+v", i, call, limit, n, got, want)
				}
			}
		})
	}
}

// TestSeveralAsTheServer: all or nothing, costs, and the limit that denies.
func TestSeveralAsTheServer(t *testing.T) {
	real := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second))
	defer real.Close()
	fake := fakeOfToday()
	ours := fake.Connect(stint.FailClosed())
	defer ours.Close()
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 200 {
		var keyed []stint.Keyed
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			on := stint.On(fmt.Sprint("several:", name, i/20), limits[name][0])
			if random.IntN(3) == 0 {
				on = on.Cost(random.Int64N(4))
			}
			keyed = append(keyed, on)
		}
		n := 1 + random.Int64N(3)
		got, err := ours.AllN(t.Context(), n, keyed...)
		want, wantErr := real.AllN(t.Context(), n, keyed...)
		if err != nil || wantErr != nil {
			t.Fatal(err, wantErr)
		}
		isSame := got.Allowed == want.Allowed && got.Granted == want.Granted && got.Binding == want.Binding &&
			near(got.RetryAfter, want.RetryAfter) && near(got.Wait, want.Wait) && len(got.Limits) == len(want.Limits)
		for j := range got.Limits {
			g, w := got.Limits[j], want.Limits[j]
			isSame = isSame && g.Limit == w.Limit && g.Remaining == w.Remaining && near(g.ResetAfter, w.ResetAfter)
		}
		if !isSame {
			t.Fatalf("call %d for %d of %v:\ngot  %+v\nwant %+v", i, n, keyed, got, want)
		}
	}
}

// TestTimePasses: the times at which tokens come back, to the millisecond.
func TestTimePasses(t *testing.T) {
	for name, c := range map[string]struct {
		limit stint.Limit
		back  time.Duration // of the first token, when all were taken at 00:00:00.4
	}{
		"bucket":       {stint.PerSecond(3), 334 * time.Millisecond},
		"window":       {stint.Window(3, stint.Starting(5*time.Second)), 5 * time.Second},
		"minute":       {stint.Window(3, stint.Minute), 59_600 * time.Millisecond},
		"day":          {stint.Window(3, stint.Day), 24*time.Hour - 400*time.Millisecond},
		"week":         {stint.Window(3, stint.Week), 48*time.Hour - 400*time.Millisecond}, // it was a Saturday
		"month":        {stint.Window(3, stint.Month), 31*24*time.Hour - 400*time.Millisecond},
		"quarter hour": {stint.Window(3, stint.Aligned(15*time.Minute)), 15*time.Minute - 400*time.Millisecond},
		"quarter":      {stint.Window(3, stint.Quarter), 91*24*time.Hour - 400*time.Millisecond},
		"year":         {stint.Window(3, stint.Year), 366*24*time.Hour - 400*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			fake := stinttest.NewFake()
			l := fake.Connect(stint.FailClosed())
			defer l.Close()
			fake.Advance(400 * time.Millisecond)
			ask := func(n int64) stint.Result {
				r, err := l.AllowN(t.Context(), name, c.limit, n)
				if err != nil || r.Source != stint.Server {
					t.Fatalf("%+v, %v", r, err)
				}
				return r
			}
			if r := ask(3); !r.Allowed {
				t.Fatalf("%+v", r)
			}
			if r := ask(1); r.Allowed || r.RetryAfter != c.back {
				t.Errorf("%+v, want one back after %v", r, c.back)
			}
			fake.Advance(c.back - time.Millisecond)
			if r := ask(1); r.Allowed {
				t.Errorf("a millisecond too early: %+v", r)
			}
			fake.Advance(time.Millisecond)
			if r := ask(1); !r.Allowed {
				t.Errorf("in time: %+v", r)
			}
		})
	}
}

// TestPoliciesRefundsAndDown: the other commands, in a bubble with a synthetic clock.
func TestPoliciesRefundsAndDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := stinttest.NewFake()
		l := fake.Connect(stint.FailOpen(), stint.Breaker(1, 50*time.Millisecond))
		defer l.Close()
		fake.SetPolicy("api", stinttest.Rule{"{}", stint.PerDay(3)}, stinttest.Rule{"team:{team}", stint.PerDay(2)})
		check := func(user string) stint.MultiResult {
			m, err := l.CheckWith(t.Context(), "api", user, stint.Request{Tokens: 1, Fields: map[string]string{"team": "a"}})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		if a, b, c := check("1"), check("2"), check("1"); !a.Allowed || !b.Allowed || c.Allowed || c.Binding != 1 || c.Limits[0].Remaining != 2 {
			t.Errorf("%+v, %+v, %+v", a, b, c)
		}
		if left, known, err := l.Refund(t.Context(), "team:a", 5); left != 2 || !known || err != nil {
			t.Errorf("refund: %d, %v, %v", left, known, err)
		}
		if _, known, err := l.Refund(t.Context(), "none", 5); known || err != nil {
			t.Errorf("refund of nothing: %v, %v", known, err)
		}
		if err := l.Reset(t.Context(), "1"); err != nil || check("1").Limits[0].Remaining != 2 {
			t.Error("after a reset:", err)
		}
		if _, err := l.Allow(t.Context(), "1", stint.Window(1, stint.Day)); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("another limit under the key: %v", err)
		}
		if _, err := l.Allow(t.Context(), "k", stint.PerDay(1).Member("a", 1)); err == nil || !strings.Contains(err.Error(), "the fake server has no FS.ACQUIRE") {
			t.Errorf("a command that it lacks: %v", err)
		}
		fake.SetDown(true)
		if r, err := l.Allow(t.Context(), "k", stint.PerDay(1)); !r.Allowed || r.Source != stint.Fallback || err != nil {
			t.Errorf("down: %+v, %v", r, err)
		}
		fake.SetDown(false)
		for l.Open() {
			time.Sleep(50 * time.Millisecond)
		}
		if r, err := l.Allow(t.Context(), "k", stint.PerDay(1)); !r.Allowed || r.Source != stint.Server || err != nil {
			t.Errorf("back: %+v, %v", r, err)
		}
	})
}

// TestPlanWithCredits: what a plan cannot give comes from credits, and a denial says what would help.
func TestPlanWithCredits(t *testing.T) {
	fake := stinttest.NewFake()
	l := fake.Connect(stint.FailClosed())
	defer l.Close()
	plan := []stint.Keyed{stint.On("hours", stint.Window(100, stint.Starting(5*time.Hour))), stint.On("credits", stint.Balance()).OrElse()}
	for range 2 { // as webhooks do
		if balance, err := l.AddCredits(t.Context(), "credits", stint.Payment{ID: "payment:81", Credits: 50}); balance != 50 || err != nil {
			t.Errorf("%d, %v", balance, err)
		}
	}
	m, err := l.AllWith(t.Context(), stint.Request{Tokens: 130, Split: true}, plan...)
	if err != nil || !m.Allowed || m.Limits[0].Granted != 100 || m.Limits[1].Granted != 30 {
		t.Errorf("%+v, %v", m, err)
	}
	if c, known, err := l.Credits(t.Context(), "credits"); !known || c.Balance != 20 || err != nil {
		t.Errorf("%+v, %v, %v", c, known, err)
	}
	if m, err = l.AllN(t.Context(), 30, plan...); err != nil || m.Allowed || m.NeedsPayment || m.RetryAfter != 5*time.Hour {
		t.Errorf("a wait helps: %+v, %v", m, err)
	}
	if m, err = l.AllN(t.Context(), 130, plan...); err != nil || m.Allowed || !m.NeedsPayment {
		t.Errorf("a payment helps: %+v, %v", m, err)
	}
}

// TestRefusals: a command or an option that the fake lacks is an error that names the remedy.
func TestRefusals(t *testing.T) {
	fake := stinttest.NewFake()
	for command, want := range map[string]string{
		"AD.ACQUIRE k 20 2/1s 50/1s 1":            "no AD.ACQUIRE",
		"RL.POLICY LIST":                          "no RL.POLICY",
		"RL.USAGE k":                              "no RL.USAGE",
		"FW.ACQUIRE k 10 @month 1 TZ UTC":         "no TZ in FW.ACQUIRE",
		"FW.ACQUIRE k 10 @month 1 MAXWAIT 1s":     "no MAXWAIT in FW.ACQUIRE",
		"RL.ALL FW k 10 @week HISTORY 3":          "no HISTORY in RL.ALL",
		"RL.ALL SL k 10 5s TOKENS 1":              "no SL in RL.ALL",
		"RL.ALL PENALTY k 3 60000ms 600000ms":     "no PENALTY in RL.ALL",
		"SW.ACQUIRE k 10 5s 1":                    "no SW without SEGMENTS",
		"BAL.ADD k 10 AS a EXPIRE 2000000000":     "no EXPIRE in BAL.ADD",
		"RL.ALL TB k 10 1/1s TOKENS 1 BLOCK 1s":   "no BLOCK in RL.ALL",
		"RL.ALL TB k 10 1/1s TOKENS 1 AS a FOR 1": "no AS in RL.ALL",
	} {
		got := fake.Execute(strings.Fields(command))
		const remedy = "; run this test on a real server, with stinttest.Start"
		if !strings.HasPrefix(got, "-ERR the fake server has "+want+": it knows ") || !strings.HasSuffix(got, remedy) {
			t.Errorf("%s: %s, want %q in it", command, got, want)
		}
	}
	l := fake.Connect(stint.FailClosed())
	defer l.Close()
	fake.SetPolicy("api", stinttest.Rule{"{}", stint.Window(5, stint.Day).Warn(80)})
	if _, err := l.Check(t.Context(), "api", "1"); err == nil || !strings.Contains(err.Error(), "no limit FW 5 @day WARN 80%") {
		t.Errorf("a limit of a policy that it lacks: %v", err)
	}
}

// TestStart: a server from the path in the environment, and a limiter on it.
func TestStart(t *testing.T) {
	path, err := servertest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(stinttest.BinaryVariable, path)
	l := stinttest.Connect(t, stint.FailClosed())
	if r, err := l.Allow(t.Context(), "k", stint.PerDay(1)); err != nil || !r.Allowed || r.Source != stint.Server {
		t.Errorf("%+v, %v", r, err)
	}
}

// fatal is a test that ends where it fails.
type fatal struct {
	testing.TB
	says string
}

func (f *fatal) Helper() {}

func (f *fatal) Fatalf(format string, arguments ...any) {
	f.says = fmt.Sprintf(format, arguments...)
	panic(f.says)
}

// TestNothingToStart: the messages of a test without a server, and of one whose server does not accept a flag.
func TestNothingToStart(t *testing.T) {
	built, err := servertest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		"/nowhere/stint": "/nowhere/stint.*; set STINTTEST_BINARY to its path",
		built:            "(?s) ended:\n.*nonsense",
	} {
		t.Setenv(stinttest.BinaryVariable, path)
		f := &fatal{TB: t}
		func() {
			defer func() { recover() }()
			stinttest.Start(f, "--nonsense")
		}()
		if is := regexp.MustCompile(says).MatchString(f.says); !is {
			t.Errorf("%s: it says %q", path, f.says)
		}
	}
}

func ExampleFake() {
	fake := stinttest.NewFake()
	limiter := fake.Connect(stint.FailClosed())
	defer limiter.Close()
	for range 3 {
		result, err := limiter.Allow(context.Background(), "user:7", stint.PerMinute(1))
		fmt.Println(result.Allowed, result.RetryAfter, err)
		fake.Advance(30 * time.Second)
	}
	// Output:
	// true 0s <nil>
	// false 30s <nil>
	// true 0s <nil>
}
