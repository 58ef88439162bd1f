package stint_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// charged are the amounts of each limit, and the number that it has left.
func charged(charges []stint.Charge) string {
	var all []string
	for _, c := range charges {
		all = append(all, fmt.Sprint(c.Charged, " of ", c.Limit, " leaves ", c.Remaining))
	}
	return strings.Join(all, ", ")
}

// TestSettle: a request with an ID takes once, and is charged the true cost once.
func TestSettle(t *testing.T) {
	l := connect(t)
	limits := []stint.Keyed{
		stint.On(t.Name()+":requests", stint.Window(20, stint.Starting(time.Hour))).Cost(1),
		stint.On(t.Name()+":tokens", stint.Window(1000, stint.Starting(time.Hour))),
	}
	long := t.Name() + strings.Repeat("x", 300)
	ask := func(id string) {
		t.Helper()
		r := stint.Request{Tokens: 300, ID: id, Remember: time.Minute}
		if m, err := l.AllWith(t.Context(), r, limits...); err != nil || !m.Allowed || m.Granted != 300 || m.Source != stint.Server {
			t.Errorf("%s: %+v, %v", id, m, err)
		}
	}
	settled := func(want string) func([]stint.Charge, error) {
		return func(charges []stint.Charge, err error) {
			t.Helper()
			if err != nil || charged(charges) != want {
				t.Errorf("%s, %v, want %s", charged(charges), err, want)
			}
		}
	}
	for range 2 {
		ask("less")
		settled("1 of 20 leaves 19, 100 of 1000 leaves 900")(l.Settle(t.Context(), "less", 100))
	}
	for range 2 {
		ask(long)
		settled("2 of 20 leaves 17, 1200 of 1000 leaves -300")(l.SettleCosts(t.Context(), long, 2, 1200))
	}
	settled("2 of 20 leaves 17, 1200 of 1000 leaves -300")(l.SettleCosts(t.Context(), long, stint.KeepCharge, stint.KeepCharge))
	for name, settle := range map[string]func() ([]stint.Charge, error){
		"another amount":   func() ([]stint.Charge, error) { return l.Settle(t.Context(), "less", 101) },
		"canceled instead": func() ([]stint.Charge, error) { return l.Cancel(t.Context(), "less") },
		"too few amounts":  func() ([]stint.Charge, error) { return l.SettleCosts(t.Context(), "less", 1) },
	} {
		if charges, err := settle(); err == nil || charges != nil {
			t.Errorf("%s: %v, %v", name, charges, err)
		}
	}
	if charges, err := l.Settle(t.Context(), "nobody", 1); charges != nil || err != nil {
		t.Errorf("an ID that is not known: %v, %v", charges, err)
	}
	limits = limits[:1]
	ask("canceled")
	settled("0 of 20 leaves 17")(l.Cancel(t.Context(), "canceled"))
	r := stint.Request{Tokens: 301, ID: "canceled", Remember: time.Minute}
	if m, err := l.AllWith(t.Context(), r, limits...); err == nil || m.Allowed {
		t.Errorf("the ID of another request: %+v, %v", m, err)
	}
}

// TestRepeatedWithID: a request with an ID, and a settlement, are asked again after failures that may pass, and after
// no others.
func TestRepeatedWithID(t *testing.T) {
	request := stint.Request{Tokens: 1, ID: "id", Remember: time.Minute}
	for _, c := range []struct {
		reply    string
		repeated bool
	}{
		{"-UNCERTAIN leader lost", true}, {"-CLUSTERDOWN no leader", true}, {"-LOADING state", true}, {"", true},
		{"-OOM no room", false}, {"-LIMITED slow down", false}, {"-ERR no", false}, {"-NOAUTH no", false},
	} {
		var words []string
		var asked atomic.Int64
		server, err := servertest.NewScripted(func(w []string) string {
			if asked.Add(1) < 4 {
				return c.reply
			}
			words = w
			if w[0] == "RL.SETTLE" {
				return "*1\r\n*4\r\n:1\r\n:5\r\n:4\r\n:0"
			}
			return "*4\r\n:1\r\n:-1\r\n:0\r\n*1\r\n*3\r\n:5\r\n:4\r\n:0"
		})
		if err != nil {
			t.Fatal(err)
		}
		l := stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(generous))
		m, err := l.CheckWith(t.Context(), "p", "7", request)
		if n := asked.Load(); m.Allowed != c.repeated || (n == 4) != c.repeated || (n == 1) == c.repeated {
			t.Errorf("%q: asked %d times; %+v, %v", c.reply, n, m, err)
		}
		if want := strings.Fields("RL.CHECK p 7 1 AS id FOR 60000ms"); c.repeated && !slices.Equal(words, want) {
			t.Errorf("sent %q", words)
		}
		asked.Store(0)
		charges, err := l.Settle(t.Context(), "id", 1)
		if n := asked.Load(); (err == nil) != c.repeated || (charges != nil) != c.repeated || (n == 4) != c.repeated {
			t.Errorf("%q: settled %d times; %v, %v", c.reply, n, charges, err)
		}
		l.Close()
		server.Close()
	}
}

// TestLostReplyWithID: the reply is lost after the server has taken the tokens. They are taken once, and granted.
func TestLostReplyWithID(t *testing.T) {
	proxy := startProxy(t, address)
	direct := connect(t)
	l := stint.Connect([]string{proxy.Address}, stint.FailClosed(), stint.Timeout(generous))
	defer l.Close()
	limit := stint.Window(100, stint.Starting(time.Hour))
	waitFor(t, "there is a connection", func() bool { return allow(t, l).Source == stint.Server })
	left := func(want int64) bool {
		r, err := direct.Peek(t.Context(), t.Name()+":k", limit, 1)
		return err == nil && r.Remaining == want-1
	}
	lose := func(decided int64, call func() error) {
		t.Helper()
		proxy.HoldReplies()
		answer := make(chan error)
		go func() { answer <- call() }()
		waitFor(t, "the server has decided", func() bool { return left(decided) })
		proxy.Cut()
		proxy.Heal()
		if err := <-answer; err != nil {
			t.Error(err)
		}
		if !left(decided) {
			t.Error("the repeated command changed something")
		}
	}
	lose(90, func() error {
		m, err := l.AllWith(context.Background(), stint.Request{Tokens: 10, ID: t.Name(), Remember: time.Minute}, stint.On(t.Name()+":k", limit))
		if m.Granted != 10 || m.Source != stint.Server {
			return fmt.Errorf("%+v, %w", m, err)
		}
		return err
	})
	lose(96, func() error {
		charges, err := l.Settle(context.Background(), t.Name(), 4)
		if charged(charges) != "4 of 100 leaves 96" {
			return fmt.Errorf("%v, %w", charges, err)
		}
		return err
	})
}

// TestRepeatingEnds: at the timeout, when ctx is over, and when the breaker opens.
func TestRepeatingEnds(t *testing.T) {
	server, err := servertest.NewScripted(func([]string) string { return "-CLUSTERDOWN no leader" })
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	l := stint.Connect([]string{server.Address}, stint.FailOpen(), stint.Timeout(50*time.Millisecond))
	defer l.Close()
	request := stint.Request{Tokens: 1, ID: "id", Remember: time.Nanosecond}
	if m, err := l.CheckWith(t.Context(), "p", "7", request); err != nil || !m.Allowed || !errors.Is(m.Cause, stint.ErrUnavailable) {
		t.Errorf("at the timeout: %+v, %v", m, err)
	}
	patient := l.With(stint.Timeout(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if m, err := patient.CheckWith(ctx, "p", "7", request); !errors.Is(err, context.DeadlineExceeded) || m.Allowed {
		t.Errorf("when ctx is over: %+v, %v", m, err)
	}
	gone := stint.Connect([]string{"127.0.0.1:1"}, stint.FailClosed(), stint.Timeout(time.Hour))
	defer gone.Close()
	if charges, err := gone.Settle(t.Context(), "id", 1); !errors.Is(err, stint.ErrCircuitOpen) || charges != nil {
		t.Errorf("when the breaker opens: %v, %v", charges, err)
	}
}

// TestSettleInCluster: each request that is granted while the leader dies takes once and is settled once, however often
// its caller and the limiter ask.
func TestSettleInCluster(t *testing.T) {
	cluster, err := servertest.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Kill)
	at := cluster.Addresses()
	clusterClient := redis.NewClusterClient(&redis.ClusterOptions{Addrs: at})
	defer clusterClient.Close()
	limit := stint.On("k", stint.Window(1_000_000_000, stint.Starting(24*time.Hour)))
	var total, requests, repeated atomic.Int64
	var over atomic.Bool
	var all sync.WaitGroup
	defer all.Wait()
	defer over.Store(true)
	limiters := []*stint.Limiter{
		stint.Connect(at, stint.FailClosed(), stint.Timeout(generous)),
		stint.Connect([]string{at[2], at[0], at[1]}, stint.FailClosed(), stint.Timeout(300*time.Millisecond)),
		stint.New(clusterClient, stint.FailClosed(), stint.Timeout(generous)),
	}
	for i, l := range limiters {
		defer l.Close()
		for j := range 3 {
			all.Go(func() {
				for n := 0; !over.Load(); n++ {
					id := fmt.Sprint("call ", i, " ", j, " ", n)
					for {
						m, err := l.AllWith(context.Background(), stint.Request{Tokens: 1000, ID: id, Remember: time.Hour}, limit)
						if err != nil {
							t.Error(err)
							return
						}
						if m.Allowed {
							break
						}
						repeated.Add(1)
						time.Sleep(10 * time.Millisecond)
					}
					cost := int64(990 + n%20)
					for {
						charges, err := l.Settle(context.Background(), id, cost)
						if err == nil && len(charges) == 1 && charges[0].Charged == cost {
							break
						}
						if !errors.Is(err, stint.ErrUnavailable) {
							t.Errorf("%s: %v, %v", id, charges, err)
							return
						}
						repeated.Add(1)
						time.Sleep(10 * time.Millisecond)
					}
					total.Add(cost)
					requests.Add(1)
				}
			})
		}
	}
	waitFor(t, "there is load", func() bool { return requests.Load() > 200 })
	first := ""
	waitFor(t, "there is a leader", func() bool { first = leader(at); return first != "" })
	cluster.Node(first).Kill()
	before := requests.Load()
	waitFor(t, "it goes on", func() bool { return requests.Load() > before+500 })
	over.Store(true)
	all.Wait()
	waitFor(t, "the rest is counted", func() bool {
		r, err := limiters[0].Peek(t.Context(), "k", limit.Limit, 1)
		if err != nil || r.Source != stint.Server {
			return false
		}
		if used := r.Limit - r.Remaining - 1; used != total.Load() {
			t.Errorf("%d were charged, and %d taken", total.Load(), used)
		}
		return true
	})
	t.Logf("%d requests, %d repeated by their callers", requests.Load(), repeated.Load())
}
