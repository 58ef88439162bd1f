package stint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// A model is a server with one key, in exact arithmetic: a token bucket, or a fixed window.
type model struct {
	limit Limit

	mu      sync.Mutex
	fullAt  int64 // of a bucket, in count-ths of a nanosecond
	windows []window
	asked   int
	spent   []spending
}

// A spending is tokens that a process let through.
type spending struct{ at, n int64 }

// A window is one of a fixed window's.
type window struct{ from, to, used int64 }

// virtual is the time in the bubble of synctest, in nanoseconds since its beginning.
func virtual() int64 { return int64(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) }

func (m *model) acquire(n int64) []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	now := virtual()
	if m.limit.algorithm == fixedWindow {
		w := m.window(now)
		if w == nil {
			m.windows = append(m.windows, window{now, now + int64(m.limit.period), 0})
			w = m.window(now)
		}
		granted := min(n, m.limit.tokens-w.used)
		w.used += granted
		wait := int64(0)
		if granted == 0 {
			wait = ceilMS(w.to - now)
		}
		return []any{granted, m.limit.tokens, m.limit.tokens - w.used, wait, ceilMS(w.to - now)}
	}
	count, period := m.limit.count, int64(m.limit.period)
	m.fullAt = max(m.fullAt, now*count)
	have := m.limit.tokens - (m.fullAt-now*count+period-1)/period
	granted := max(0, min(n, have))
	m.fullAt += granted * period
	wait := int64(0)
	if granted == 0 {
		wait = ceilMS((m.fullAt + period - m.limit.tokens*period - now*count + count - 1) / count)
	}
	return []any{granted, m.limit.tokens, have - granted, wait, ceilMS((m.fullAt - now*count + count - 1) / count)}
}

// window is the one that is running, if there is one.
func (m *model) window(now int64) *window {
	if len(m.windows) == 0 || now >= m.windows[len(m.windows)-1].to {
		return nil
	}
	return &m.windows[len(m.windows)-1]
}

func (m *model) refund(n int64) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := virtual()
	if m.limit.algorithm == fixedWindow {
		w := m.window(now)
		if w == nil {
			return nil
		}
		w.used = max(0, w.used-n)
		return m.limit.tokens - w.used
	}
	m.fullAt = max(m.fullAt-n*int64(m.limit.period), now*m.limit.count)
	return m.limit.tokens - (m.fullAt-now*m.limit.count+int64(m.limit.period)-1)/int64(m.limit.period)
}

func (m *model) delete() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fullAt, m.windows = 0, nil
	return 1
}

func ceilMS(ns int64) int64 { return (ns + 999_999) / 1_000_000 }

// record records grants: those from memory now, those of the server at its decision.
func (n *network) record(r Result) {
	n.model.mu.Lock()
	defer n.model.mu.Unlock()
	at := virtual()
	if r.Source == Server {
		at = n.decided
	}
	n.spent = append(n.spent, spending{at, r.Granted})
}

// excess replays the grants on a separate bucket and returns the most tokens by which it was overdrawn. If it never is,
// no span s had more grants than capacity + rate × s.
func (m *model) excess() (most int64) {
	count, period, full := m.limit.count, int64(m.limit.period), int64(0)
	for _, s := range m.spent {
		full = max(full, s.at*count) + s.n*period
		if over := full - s.at*count - m.limit.tokens*period; over > 0 {
			most = max(most, (over+period-1)/period)
		}
	}
	return most
}

// A network is one process's way to the model.
type network struct {
	*model
	decided int64 // when the model last decided about this process's request
	mu      sync.Mutex
	random  *rand.Rand
	slowest time.Duration
	lossy   float64 // share of requests, and of replies, that are lost
	down    bool
}

func (n *network) delay() (d time.Duration, lost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.random.Int64N(int64(n.slowest))), n.down || n.random.Float64() < n.lossy
}

func (n *network) fail(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

var errLost = errors.New("lost")

func (n *network) send(_ context.Context, commands []redis.Cmder) {
	delay, lost := n.delay()
	time.Sleep(delay)
	for _, command := range commands {
		if lost {
			command.SetErr(errLost)
			continue
		}
		var reply any
		switch arguments := command.Args(); arguments[0] {
		case "RL.REFUND":
			reply = n.refund(arguments[2].(int64))
		case "DEL":
			reply = n.delete()
		case "PING":
			reply = "PONG"
		default:
			reply = n.acquire(arguments[4].(int64))
			n.model.mu.Lock()
			n.decided = virtual()
			n.model.mu.Unlock()
		}
		command.(once).SetVal(reply)
	}
	delay, lost = n.delay()
	time.Sleep(delay)
	for _, command := range commands {
		if lost {
			command.SetErr(errLost)
		}
	}
}

// TestLeasesKeepTheLimit: several processes with leases share a limit, with bursts and pauses in which buckets fill up
// while tokens are held, requests and replies that are lost, outages, and processes that crash. The limit holds over
// every span.
func TestLeasesKeepTheLimit(t *testing.T) {
	for _, limit := range []Limit{
		PerSecond(100).Burst(50), PerSecond(2000), PerSecond(20).Burst(1000), PerMinute(60).Burst(5), Per(7, 3*time.Second).Burst(300),
		Per(10_007, 10*time.Second).Burst(200), Window(500, Starting(2*time.Second)), Window(5, Starting(5*time.Second)),
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(limit.String(), "/", " per "), seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { playLeases(t, limit, seed) })
			})
		}
	}
}

func playLeases(t *testing.T, limit Limit, seed uint64) {
	const processes, callers, length = 4, 5, time.Minute
	m := &model{limit: limit}
	end := time.Now().Add(length)
	var all sync.WaitGroup
	var allowed, asked, held int
	for process := range processes {
		way := &network{model: m, random: rand.New(rand.NewPCG(seed, uint64(process))), slowest: 5 * time.Millisecond, lossy: 0.02}
		limiter := start(way, newSettings(FailClosed(), []Option{Timeout(50 * time.Millisecond)}), func() error { return nil })
		leases := limiter.Lease(LeaseOptions{})
		crash := end
		if process == 0 {
			crash = time.Now().Add(length / 3)
		}
		var running sync.WaitGroup
		for caller := range callers {
			random := rand.New(rand.NewPCG(seed, uint64(1000*process+caller)))
			running.Go(func() {
				for time.Now().Before(crash) {
					burst, pause := 1+random.IntN(400), time.Duration(random.Int64N(int64(3*time.Second)))
					for range burst {
						n := int64(1)
						if random.IntN(20) == 0 {
							n = 1 + random.Int64N(limit.tokens)
						}
						r, err := leases.AllowN(t.Context(), "k", limit, n)
						if err != nil {
							t.Error(err)
						}
						m.mu.Lock()
						asked++
						m.mu.Unlock()
						if r.Allowed {
							way.record(r)
							m.mu.Lock()
							allowed++
							m.mu.Unlock()
						}
						time.Sleep(time.Duration(random.Int64N(int64(4 * time.Millisecond))))
					}
					if random.IntN(10) == 0 { // out of reach for a while, with tokens in hand
						way.fail(true)
						time.Sleep(pause)
						way.fail(false)
					}
					time.Sleep(pause)
				}
			})
		}
		all.Go(func() {
			running.Wait()
			if process == 0 {
				way.fail(true) // its tokens are lost
			}
			m.mu.Lock()
			held += int(leases.Held("k"))
			m.mu.Unlock()
			leases.Close(t.Context())
			limiter.Close()
		})
	}
	all.Wait()
	time.Sleep(time.Minute) // background work ends
	synctest.Wait()
	slices.SortStableFunc(m.spent, func(a, b spending) int { return cmp.Compare(a.at, b.at) })
	if limit.algorithm == fixedWindow {
		checkWindows(t, m)
	} else if excess := m.excess(); excess > 0 {
		t.Errorf("%d tokens more were let through than %v allows", excess, limit)
	}
	var tokens int64
	for _, s := range m.spent {
		tokens += s.n
	}
	possible := float64(limit.tokens) + float64(limit.count)*length.Seconds()/limit.period.Seconds()
	t.Logf("%d of %d requests allowed, %d tokens (%.0f possible), the server was asked %d times", allowed, asked, tokens, possible, m.asked)
	if float64(tokens) < 0.4*min(possible, float64(asked)) {
		t.Errorf("only %d tokens were let through in %v, of %.0f possible and %d requests", tokens, length, possible, asked)
	}
}

// checkWindows: in no window of the server is more let through than the limit, and nothing between two.
func checkWindows(t *testing.T, m *model) {
	i, sum := 0, int64(0)
	for _, s := range m.spent {
		for i < len(m.windows) && s.at >= m.windows[i].to {
			i, sum = i+1, 0
		}
		if sum += s.n; i == len(m.windows) || s.at < m.windows[i].from || sum > m.limit.tokens {
			t.Fatalf("%d let through at %d, which makes %d in window %d of %d", s.n, s.at, sum, i, len(m.windows))
		}
	}
}

// TestChunkShrinks: what may be spent of a chunk as its bucket fills up, and until it expires.
func TestChunkShrinks(t *testing.T) {
	ms := int64(time.Millisecond)
	granted := func(limit Limit, n int64, reset time.Duration) *chunk {
		return newChunk(limit, 0, Result{Granted: n, ResetAfter: (reset+time.Millisecond)/(clockTolerance-1)*clockTolerance + 2*clockTolerance})
	}
	for _, c := range []struct {
		name  string
		chunk *chunk
		want  map[int64]int64 // at millisecond: usable
	}{
		{"of a full bucket", granted(PerSecond(1000).Burst(100), 10, 10*time.Millisecond), map[int64]int64{0: 10, 1: 9, 9: 1, 10: 0, 99: 0}},
		{"of one that lacks 20", granted(PerSecond(1000).Burst(100), 10, 30*time.Millisecond), map[int64]int64{0: 10, 20: 10, 21: 9, 30: 0}},
		{"of one that lacks much", granted(PerSecond(1000).Burst(10_000), 10, 5*time.Second), map[int64]int64{0: 10, 1000: 10, 1001: 0}},
		{"of a window", granted(Window(100, Starting(time.Minute)), 10, 300*time.Millisecond), map[int64]int64{0: 10, 300: 10, 301: 0}},
		{"of a long window", granted(Window(100, Starting(time.Minute)), 10, 30*time.Second), map[int64]int64{0: 10, 1000: 10, 1001: 0}},
		{"at the greatest rate", granted(Per(1e12, time.Millisecond).Burst(1e12), 1e12, time.Millisecond), map[int64]int64{0: 1e12, 2: 0}},
		{"at the least rate", granted(Per(1, 10*365*24*time.Hour).Burst(10), 5, 50*365*24*time.Hour), map[int64]int64{0: 5, 1: 4, 1000: 4, 1001: 0}},
	} {
		for at, want := range c.want {
			if got := c.chunk.usable(at * ms); got != want {
				t.Errorf("%s: %d usable after %d ms, want %d", c.name, got, at, want)
			}
		}
	}
	c := granted(PerSecond(1000).Burst(100), 10, 10*time.Millisecond)
	if left, ok := c.spend(4*ms, 6); !ok || left != 0 {
		t.Errorf("6 of the 6 that are usable after 4 ms: %v, %v", left, ok)
	}
	if _, ok := c.spend(4*ms, 1); ok {
		t.Error("what has expired was spent")
	}
	for _, c := range []struct {
		limit Limit
		reset time.Duration
		at    int64
		want  int64
	}{
		{PerSecond(1).Burst(100), 30 * time.Second, 1000, 10},
		{PerSecond(1).Burst(100), 30 * time.Second, 1001, 0},
		{PerSecond(1).Burst(100), 8 * time.Second, 1000, 5}, // 7 are to come, of which 2 come within two seconds
		{PerSecond(1).Burst(100), 2 * time.Second, 0, 0},
		{Window(100, Starting(time.Minute)), 2 * time.Second, 900, 10},
		{Window(100, Starting(time.Minute)), 2 * time.Second, 1001, 0},
		{Window(100, Starting(time.Minute)), 900 * time.Millisecond, 0, 0},
	} {
		chunk := granted(c.limit, 10, c.reset)
		if refund := chunk.empty(c.at * ms); refund != c.want {
			t.Errorf("%v, full again after %v: %d given back after %d ms, want %d", c.limit, c.reset, refund, c.at, c.want)
		}
		if _, ok := chunk.spend(0, 1); ok {
			t.Error("spent what was given back")
		}
	}
}

func TestCeilMulDiv(t *testing.T) {
	for _, c := range [][4]int64{{10, 3, 4, 8}, {8, 3, 4, 6}, {1 << 40, 1 << 40, 1 << 41, 1 << 39}, {1 << 62, 1 << 62, 1, 1<<62 - 1}} {
		if got := ceilMulDiv(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("ceil(%d × %d / %d) = %s, want %d", c[0], c[1], c[2], strconv.FormatInt(got, 10), c[3])
		}
	}
}
