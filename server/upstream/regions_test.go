//go:build e2e

package upstream_test

import (
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
)

// A cluster and a server alone share a limit of a home far away. Links are cut, the cluster's leader and the server
// alone are killed: no token is granted twice, and requests are granted from lent tokens.
func TestRegionsOfProcesses(t *testing.T) {
	program := testserver.Build(t, "../..")
	home := testserver.Start(t, program, "--admin", "")
	ways := []*proxy{startProxy(t, home), startProxy(t, home)}
	for _, w := range ways {
		w.delay.Store(int64(75 * time.Millisecond))
	}
	options := func(way int) []string {
		return []string{"--upstream", ways[way].address(), "--upstream-keys", "g:*"}
	}
	nodes := testserver.StartNodes(t, program, 3, append(options(0), "--cluster-ahead", "500ms")...) // which is about other keys
	alone := testserver.NewServer(t, program, append(options(1), "--admin", "", "--dir", "state")...)
	alone.Start(t)
	t.Cleanup(func() { _ = alone.End(syscall.SIGTERM) })

	l := &load{t: t, capacity: 100_000, home: home}
	for _, n := range nodes {
		l.begin(n.Address, 5*time.Millisecond)
		l.begin(n.Address, 5*time.Millisecond)
	}
	l.begin(alone.Address, 2*time.Millisecond)
	l.begin(alone.Address, 2*time.Millisecond)
	l.begin(home, 10*time.Millisecond)
	random := rand.New(rand.NewPCG(testsize.Seed(), 100))
	var local, others int64
	count := func(address string) {
		local += infoOf(t, address, "upstream_granted_locally")
		others += infoOf(t, address, "upstream_decided_by_home") + infoOf(t, address, "upstream_uncertain")
	}
	const events = 6 // of three kinds
	kills := 0
	for _, event := range random.Perm(events) {
		before := l.asked.Load()
		testwait.Until(t, "requests go on", func() bool { return l.asked.Load() >= before+1000 })
		switch event % 3 {
		case 0:
			cutFor(ways[random.IntN(2)], time.Duration(random.Int64N(int64(2*time.Second))), random.IntN(2) == 0)
		case 1:
			for _, n := range nodes {
				if n.Leads() {
					kills++
					count(n.Address)
					_ = n.End(syscall.SIGKILL)
					n.Start(t)
					n.AwaitFormed(t)
					break
				}
			}
		case 2:
			kills++
			count(alone.Address)
			_ = alone.End(syscall.SIGKILL)
			alone.Start(t)
		}
	}
	l.end()
	for _, n := range nodes {
		count(n.Address)
	}
	count(alone.Address)
	l.report(t)
	t.Logf("%d processes were killed; %d requests were granted from lent tokens, %d not", kills, local, others)
	if kills < events/3 || local == 0 {
		t.Error("too few processes were killed, or no requests granted from lent tokens")
	}
	if sum := l.granted.Load() + l.rest(); sum > l.capacity {
		t.Errorf("%d tokens were granted or are left, of %d", sum, l.capacity)
	}
	testwait.Until(t, "the cluster has returned its tokens", func() bool { return infoOf(t, nodes[0].Address, "upstream_keys") == 0 })
	if err := alone.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if keys := infoOf(t, home, "lent_keys"); keys > 1 { // of loans that have ended, until the key is dropped
		t.Errorf("%d keys are lent", keys)
	}
	if sum := l.granted.Load() + l.rest(); sum > l.capacity {
		t.Errorf("%d tokens were granted or are left, of %d, once all were returned", sum, l.capacity)
	}
	c := dial(t, home)
	if lent, failure := c.do("RL.LENT g:1"); failure != "" || len(lent) != 0 {
		t.Errorf("lent are %v %s", lent, failure)
	}
}

// infoOf returns a number of INFO. It waits for a server that has just been started.
func infoOf(t *testing.T, address, field string) int64 {
	t.Helper()
	testwait.UntilNil(t, address+" serves", func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err
	})
	c := dial(t, address)
	for _, line := range strings.Split(c.text("INFO"), "\r\n") {
		if value, is := strings.CutPrefix(line, field+":"); is {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}
