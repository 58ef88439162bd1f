package stint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// quick is the timeout of the tests in which Stint does not answer.
const quick = 20 * time.Millisecond

func startServer(t *testing.T) *servertest.Server {
	return startServerAt(t, "127.0.0.1:0")
}

func startServerAt(t *testing.T, address string) *servertest.Server {
	s, err := servertest.StartAt(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func startProxy(t *testing.T, target string) *servertest.Proxy {
	p, err := servertest.NewProxy(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// patientClient is a client of an application that waits for ever and retries. A limiter's call that returns while the
// server does not answer has therefore returned at its own deadline.
func patientClient(t *testing.T, address string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: address, ReadTimeout: -1, WriteTimeout: -1, DialTimeout: time.Hour, MaxRetries: 10, PoolSize: 1, PipelinePoolSize: 1, PoolTimeout: time.Hour})
	t.Cleanup(func() { c.Close() })
	return c
}

// bound is the time after which a wait is a failure, also on a machine that is busy.
const bound = time.Minute

// waitFor asks again and again until something is so.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so within %v: %s", bound, what)
		}
	}
}

// An outage is a way in which a server can be gone.
type outage struct {
	address   string
	fail, end func(*testing.T)
}

func outages(t *testing.T) map[string]outage {
	killed := startServerAt(t, servertest.Reserved(t))
	stopped := startServer(t)
	behind := startServer(t)
	proxy := startProxy(t, behind.Address)
	signalled := func(send func() error) func(*testing.T) {
		return func(t *testing.T) {
			if err := send(); err != nil {
				t.Error(err)
			}
		}
	}
	return map[string]outage{
		"killed":      {killed.Address, func(*testing.T) { killed.Kill() }, func(t *testing.T) { startServerAt(t, killed.Address) }},
		"stopped":     {stopped.Address, signalled(stopped.Pause), signalled(stopped.Resume)},
		"partitioned": {proxy.Address, func(*testing.T) { proxy.Partition() }, func(*testing.T) { proxy.Heal() }},
	}
}

// TestOutages: in every kind of outage, with the limiter's connections and the application's, calls return, the policy
// decides, the breaker opens, and the server decides again when it is back.
func TestOutages(t *testing.T) {
	for name, outage := range outages(t) {
		t.Run(name, func(t *testing.T) {
			opened, closed := atomic.Int64{}, atomic.Int64{}
			hooks := stint.WithHooks(stint.Hooks{Breaker: func(open bool, cause error) {
				if open && cause != nil {
					opened.Add(1)
				}
				if !open && cause == nil {
					closed.Add(1)
				}
			}})
			breaker := stint.Breaker(3, 10*time.Millisecond)
			own := stint.Connect([]string{outage.address}, stint.FailClosed(), stint.Timeout(quick), hooks, breaker)
			defer own.Close()
			shared := stint.New(patientClient(t, outage.address), stint.FailClosed(), stint.Timeout(quick), hooks, breaker)
			defer shared.Close()
			limiters := map[string]*stint.Limiter{"Connect": own, "New": shared}
			for name, l := range limiters {
				waitFor(t, name+" is answered", func() bool { return allow(t, l).Source == stint.Server })
			}

			outage.fail(t)
			for name, l := range limiters {
				waitFor(t, name+"'s breaker is open", func() bool { return allow(t, l).Cause != nil && l.Open() })
				for policy, want := range map[stint.Policy]bool{stint.FailOpen(): true, stint.FailClosed(): false, stint.LocalShare(0.5): true} {
					r := allow(t, l.With(stint.WhenDown(policy)))
					source := stint.Fallback
					if policy == stint.LocalShare(0.5) {
						source = stint.Local
					}
					if r.Allowed != want || r.Source != source || !errors.Is(r.Cause, stint.ErrUnavailable) {
						t.Errorf("%s, %v: %+v", name, policy, r)
					}
				}
				limit := stint.On(t.Name(), stint.PerDay(10))
				if m, err := l.AllN(t.Context(), 3, limit); err != nil || m.Allowed || m.Source != stint.Fallback || m.RetryAfter <= 0 {
					t.Errorf("%s: All = %+v, %v", name, m, err)
				}
			}
			outage.end(t)
			for name, l := range limiters {
				waitFor(t, name+" is answered again", func() bool { return allow(t, l).Source == stint.Server })
			}
			// It is called once the breaker has closed, and calls may be answered before.
			waitFor(t, "the hook has seen both breakers open and close", func() bool { return opened.Load() >= 2 && closed.Load() >= 2 })
		})
	}
}

func allow(t *testing.T, l *stint.Limiter) stint.Result {
	t.Helper()
	r, err := l.Allow(t.Context(), t.Name(), stint.PerSecond(1_000_000))
	if err != nil {
		t.Errorf("Allow: %v", err)
	}
	return r
}

// TestLostReplyIsNotRepeated: the reply is lost after the server has taken the token. go-redis is configured to retry
// ten times; one token is taken.
func TestLostReplyIsNotRepeated(t *testing.T) {
	server := startServer(t)
	proxy := startProxy(t, server.Address)
	direct := redis.NewClient(&redis.Options{Addr: server.Address})
	defer direct.Close()
	client := redis.NewClient(&redis.Options{Addr: proxy.Address, MaxRetries: 10, MinRetryBackoff: time.Millisecond})
	defer client.Close()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{
		MaxRedirects: 10, MinRetryBackoff: time.Millisecond,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: proxy.Address}}}}, nil
		},
	})
	defer cluster.Close()
	taken := func(key string) int64 {
		r, err := direct.Do(t.Context(), "TB.ACQUIRE", key, 100, "1/d", 1, "PEEK").Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		return 100 - 1 - r[2]
	}
	for name, c := range map[string]redis.UniversalClient{"client": client, "cluster client": cluster} {
		t.Run(name, func(t *testing.T) {
			l := stint.New(c, stint.FailOpen(), stint.Timeout(generous))
			defer l.Close()
			limit := stint.Per(1, 24*time.Hour).Burst(100)
			if r, err := l.Allow(t.Context(), t.Name(), limit); err != nil || r.Source != stint.Server {
				t.Fatalf("with a connection: %+v, %v", r, err)
			}
			proxy.HoldReplies()
			answer := make(chan stint.Result)
			go func() {
				r, _ := l.Allow(context.Background(), t.Name(), limit)
				answer <- r
			}()
			waitFor(t, "the server has decided", func() bool { return taken(t.Name()) == 2 })
			proxy.Cut()
			proxy.Heal()
			if r := <-answer; !r.Allowed || r.Source != stint.Fallback {
				t.Errorf("after the loss: %+v", r)
			}
			if r, err := l.Allow(t.Context(), t.Name(), limit); err != nil || r.Source != stint.Server || r.Remaining != 97 {
				t.Errorf("afterwards: %+v, %v; a repeated command would have left fewer than 97", r, err)
			}
		})
	}
}

// TestGivenUpBeforeSent: requests whose callers have left while others were stuck are never sent.
func TestGivenUpBeforeSent(t *testing.T) {
	server := startServer(t)
	l := stint.New(patientClient(t, server.Address), stint.FailClosed(), stint.Timeout(quick), stint.Breaker(1_000_000, time.Hour))
	defer l.Close()
	waitFor(t, "it is answered", func() bool { return allow(t, l).Source == stint.Server })
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	const tokens, calls = 1000, 50
	sent := 0
	for range calls {
		r, err := l.Allow(t.Context(), t.Name()+"'", stint.PerDay(tokens))
		if err != nil || !errors.Is(r.Cause, stint.ErrTimeout) {
			t.Fatalf("%+v, %v", r, err)
		}
		if !errors.Is(r.Cause, stint.ErrNotSent) {
			sent++
		}
	}
	if sent == calls {
		t.Error("no request was given up before it was sent")
	}
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	// Those that were sent may be carried out now, unless go-redis itself gave them up; no others.
	patient := stint.New(patientClient(t, server.Address), stint.FailClosed(), stint.Timeout(generous))
	defer patient.Close()
	for range 20 {
		r, err := patient.Peek(t.Context(), t.Name()+"'", stint.PerDay(tokens), 1)
		if taken := tokens - 1 - r.Remaining; err != nil || r.Source != stint.Server || taken > int64(sent) {
			t.Fatalf("%d taken, %d sent; %+v, %v", taken, sent, r, err)
		}
	}
}

// TestReplies: the error and, with FailOpen, the answer for each class of error replies.
func TestReplies(t *testing.T) {
	reply := ""
	server, err := servertest.NewScripted(func([]string) string { return reply })
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	mistake := errors.New("about the request") // is returned as err, with a denial
	for _, c := range []struct {
		reply string
		is    error // the Cause
	}{
		{"-UNCERTAIN the leader was lost while this was decided", stint.ErrUncertain},
		{"-CLUSTERDOWN no leader", stint.ErrUnavailable},
		{"-UPSTREAM the home of this limit did not decide", stint.ErrUnavailable},
		{"-LOADING reading the journal", stint.ErrUnavailable},
		{"-MISCONF the disk does not take what is decided", stint.ErrUnavailable},
		{"-NOTKEPT decided, but the disk did not take it", stint.ErrUnavailable},
		{"-OOM command not allowed when used memory > 'maxmemory'", stint.ErrUnavailable},
		{"-BUSY more operations wait to be decided than may", stint.ErrUnavailable},
		{"-LIMITED user u makes more than 10 requests a second; try again in 5 ms", stint.ErrUnavailable},
		{"-ERR max number of clients reached", stint.ErrUnavailable},
		{"-ERR max number of clients of one address reached (--max-clients-per-address)", stint.ErrUnavailable},
		{"-NOAUTH Authentication required.", stint.ErrUnauthenticated},
		{"-WRONGPASS invalid username-password pair or user is disabled.", stint.ErrUnauthenticated},
		{"-DENIED Stint is running in protected mode", stint.ErrUnauthenticated},
		{"-ERR too many failed logins from this address, try again in 5 s", stint.ErrUnauthenticated},
		{"-NOPERM No permissions to access a key", mistake},
		{"-WRONGTYPE the key belongs to a fixed-window limiter", mistake},
		{"-ERR key: at most 4096 bytes (--max-key-size), got 5000", mistake},
		{"-ERR Protocol error: invalid bulk length", mistake},
		{"-ERR unknown command 'TB.ACQUIRE', with args beginning with: ", mistake},
		{"-NEWCODE that this client does not know", mistake},
		{"+what", mistake},
		{"*1\r\n:1", mistake},
		{"*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n+x", mistake},
	} {
		reply = c.reply
		l := stint.Connect([]string{server.Address}, stint.FailOpen(), stint.Timeout(generous), stint.Breaker(1, time.Hour))
		r, err := l.Allow(t.Context(), "k", stint.PerDay(1))
		if r.Allowed == (errors.Is(c.is, mistake)) || r.Source != stint.Fallback || l.Open() {
			t.Errorf("%s: %+v, breaker open: %v", c.reply, r, l.Open())
		}
		unavailable := !errors.Is(c.is, mistake) && !errors.Is(c.is, stint.ErrUnauthenticated)
		if errors.Is(r.Cause, stint.ErrUnavailable) != unavailable || (err == nil) != unavailable || err != nil && !errors.Is(r.Cause, err) {
			t.Errorf("%s: err %v, Cause %v", c.reply, err, r.Cause)
		}
		if !errors.Is(c.is, mistake) && (!errors.Is(r.Cause, c.is) || !strings.Contains(r.Cause.Error(), c.reply[1:])) {
			t.Errorf("%s: Cause %v", c.reply, r.Cause)
		}
		if m, err := l.All(t.Context(), stint.On("k", stint.PerDay(1))); m.Allowed != r.Allowed || (err == nil) != unavailable {
			t.Errorf("%s: All: %+v, %v", c.reply, m, err)
		}
		l.Close()
	}
}

// TestRefusalsAreNotRepeated: neither an outcome that is not known nor a refusal is asked for again, though go-redis
// would.
func TestRefusalsAreNotRepeated(t *testing.T) {
	for _, reply := range []string{"-UNCERTAIN leader lost", "-CLUSTERDOWN no leader", "-LOADING state", ""} {
		var asked atomic.Int64
		server, err := servertest.NewScripted(func([]string) string { asked.Add(1); return reply })
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: server.Address, MaxRetries: 10, MinRetryBackoff: time.Microsecond})
		l := stint.New(client, stint.FailOpen(), stint.Timeout(generous))
		if r, err := l.Allow(t.Context(), "k", stint.PerDay(1)); err != nil || r.Cause == nil || asked.Load() != 1 {
			t.Errorf("%q: asked %d times; %+v, %v", reply, asked.Load(), r, err)
		}
		l.Close()
		client.Close()
		server.Close()
	}
}

func TestAddressLists(t *testing.T) {
	dead := servertest.Reserved(t)
	moving, err := servertest.NewScripted(func([]string) string { return "-MOVED 0 " + address })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(moving.Close)
	down, err := servertest.NewScripted(func([]string) string { return "-CLUSTERDOWN no leader" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(down.Close)
	stuck := startServer(t)
	if err := stuck.Pause(); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]string{
		"alive first":              {address, dead},
		"dead first":               {dead, dead, address},
		"without leader first":     {down.Address, address},
		"moved, to one of them":    {moving.Address, address},
		"moved, to another":        {moving.Address},
		"stuck first":              {stuck.Address, address},
		"everything at once":       {dead, stuck.Address, down.Address, moving.Address},
		"dead, then another moved": {dead, moving.Address},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()                                                               // some wait for the stuck node
			l := stint.Connect(list, stint.FailClosed(), stint.Timeout(3*time.Second)) // of any node, until another is asked
			defer l.Close()
			waitFor(t, "a node answers", func() bool { return allow(t, l).Source == stint.Server })
			patient := l.With(stint.Timeout(generous))
			for range 20 {
				if r := allow(t, patient); r.Source != stint.Server {
					t.Errorf("it did not stay with the node that answers: %v", r.Cause)
				}
			}
		})
	}
}

// TestCallersContext: it ends a call before the timeout, and is no failure of the server.
func TestCallersContext(t *testing.T) {
	server := startServer(t)
	l := stint.Connect([]string{server.Address}, stint.FailOpen(), stint.Timeout(time.Hour), stint.Breaker(1, time.Hour))
	defer l.Close()
	allow(t, l)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	defer server.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), quick)
	defer cancel()
	for range 2 { // while it is under way, and when it is over already
		r, err := l.Allow(ctx, t.Name(), stint.PerDay(1))
		if !errors.Is(err, context.DeadlineExceeded) || r.Allowed || l.Open() {
			t.Errorf("%+v, %v; breaker open: %v", r, err, l.Open())
		}
	}
	if m, err := l.All(ctx, stint.On(t.Name(), stint.PerDay(1))); !errors.Is(err, context.DeadlineExceeded) || m.Allowed {
		t.Errorf("All: %+v, %v", m, err)
	}
}

// TestHooksSeeEverything: a decision each, with its source.
func TestHooksSeeEverything(t *testing.T) {
	var seen []string
	l := connect(t, stint.WithHooks(stint.Hooks{Decision: func(_ context.Context, d stint.Decision) {
		seen = append(seen, fmt.Sprintf("%s %d %v %v %v", d.Operation, d.Tokens, d.Allowed, d.Source, d.Err != nil))
	}}))
	limit := stint.PerDay(2)
	for _, call := range []func() error{
		func() error { _, err := l.Allow(t.Context(), t.Name(), limit); return err },
		func() error { _, err := l.AllowN(t.Context(), t.Name(), limit, 2); return err },
		func() error { _, err := l.Peek(t.Context(), t.Name(), limit, 1); return err },
		func() error { _, err := l.AllowAtMost(t.Context(), t.Name(), limit, 5); return err },
		func() error { _, err := l.Force(t.Context(), t.Name(), limit, 5); return err },
		func() error { _, err := l.All(t.Context(), stint.On(t.Name()+"2", limit)); return err },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.Allow(t.Context(), t.Name(), stint.Limit{}); err == nil {
		t.Error("no error")
	}
	got, want := strings.Join(seen, "\n"), strings.Join([]string{
		"Allow 1 true server false", "Allow 2 false server false", "Peek 1 true server false", "AllowAtMost 5 true server false",
		"Force 5 true server false", "All 1 true server false", "Allow 1 false fallback true"}, "\n")
	if got != want {
		t.Errorf("the hooks saw\n%s\nwant\n%s", got, want)
	}
}
