//go:build e2e

package upstream_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// A region and its home are clusters with groups of keys, and a node of each is killed: no token of any group's keys is
// granted twice, and in the end all are home.
func TestRegionOfGroups(t *testing.T) {
	program := testserver.Build(t, "../..")
	start := func(options ...string) (nodes []*testserver.Process, addresses []string) {
		nodes = testserver.StartNodes(t, program, 3, options...)
		for _, n := range nodes {
			addresses = append(addresses, n.Address)
			awaitGroups(t, n)
		}
		return nodes, addresses
	}
	home, homes := start("--groups", "3")
	nodes, _ := start("--groups", "4", "--upstream", strings.Join(homes, ","), "--upstream-keys", "g:*")

	var loads []*load
	for i := range 5 {
		l := &load{t: t, capacity: 20_000, home: homes[0], key: fmt.Sprint("g:", i)}
		for _, n := range nodes {
			l.begin(n.Address, 5*time.Millisecond)
		}
		l.begin(homes[1], 20*time.Millisecond)
		loads = append(loads, l)
	}
	goOn := func() {
		for _, l := range loads {
			before := l.granted.Load()
			testwait.Until(t, "tokens of each key are granted", func() bool { return l.granted.Load() >= before+200 })
		}
	}
	testwait.Until(t, "a key with tokens of home is one of the region's keys", func() bool {
		sum := int64(0)
		for _, n := range nodes {
			c := dial(t, n.Address)
			keys, _ := c.do("DBSIZE")
			sum += keys[0]
		}
		return sum == int64(len(loads))
	})
	local := int64(0)
	for _, n := range []*testserver.Process{nodes[1], home[2], nodes[2]} {
		goOn()
		if n != home[2] {
			local += infoOf(t, n.Address, "upstream_granted_locally")
		}
		_ = n.End(syscall.SIGKILL)
		goOn()
		n.Start(t)
		n.AwaitFormed(t)
		awaitGroups(t, n)
	}
	goOn()
	for _, l := range loads {
		l.end()
		l.report(t)
	}
	for _, n := range nodes {
		local += infoOf(t, n.Address, "upstream_granted_locally")
		testwait.Until(t, "the region has returned its tokens", func() bool { return infoOf(t, n.Address, "upstream_keys") == 0 })
	}
	if local == 0 {
		t.Error("no request was granted from lent tokens: this test shows nothing")
	}
	c := dial(t, homes[0])
	for _, l := range loads {
		testwait.Until(t, "all tokens are home", func() bool { lent, failure := c.do("RL.LENT " + l.key); return failure == "" && len(lent) == 0 })
		if sum := l.granted.Load() + l.rest(); sum > l.capacity {
			t.Errorf("%s: %d tokens were granted or are left, of %d", l.key, sum, l.capacity)
		}
	}
}

func awaitGroups(t *testing.T, node *testserver.Process) {
	t.Helper()
	node.Await(t, "all groups have leaders", func() bool { return node.Says("CLUSTER INFO", "cluster_slots_ok:16384") })
}
