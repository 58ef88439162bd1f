package server

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/server/metrics"
)

// countsOf are the decisions by a policy: granted, denied, and denied in the shadow.
type countsOf [3]int64

func (c *countsOf) add(more countsOf) {
	for i := range c {
		c[i] += more[i]
	}
}

var repliedCounts = regexp.MustCompile(`"?granted"?[ =](\d+)[ ,]"?denied"?[ =](\d+)[ ,]"?shadow_denied"?[ =](\d+)`)

func countsIn(t *testing.T, text string) (c countsOf) {
	t.Helper()
	found := repliedCounts.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no counts in %q", text)
	}
	for i := range c {
		c[i], _ = strconv.ParseInt(found[i+1], 10, 64)
	}
	return c
}

// counted are the counts of a policy at a node, as each way to ask shows them.
func (p *clusterTimePlayer) counted(t *testing.T, policy string) countsOf {
	t.Helper()
	got := countsIn(t, p.said(t, "RL.POLICY", "GET", policy))
	if info := countsIn(t, p.said(t, "INFO", "policies")); info != got {
		t.Errorf("INFO has %v, RL.POLICY GET %v", info, got)
	}
	policies, _ := policyCounts(p.keys)
	if m := policies[0]; (countsOf{m.Granted, m.Denied, m.ShadowDenied}) != got || m.Name != metrics.Label(policy) {
		t.Errorf("the metrics have %+v, RL.POLICY GET %v", m, got)
	}
	return got
}

func (p *clusterTimePlayer) said(t *testing.T, words ...string) string {
	t.Helper()
	reply, err := p.Do("client", argsOf(words), "")
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func argsOf(words []string) (args [][]byte) {
	for _, w := range words {
		args = append(args, []byte(w))
	}
	return args
}

// Each check is counted once: by the node that answered it, whichever decided it, from its allowance, from tokens held,
// by the log or without an entry. So a node's counts are those of its answers, and all nodes' counts together those of
// all answers.
func TestPolicyCountsOfACluster(t *testing.T) {
	for _, options := range [][]string{nil, {"STRICT"}, {"SHADOW"}} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { countOnThreeNodes(t, options) })
		})
	}
}

func countOnThreeNodes(t *testing.T, options []string) {
	p := newClusterTimePlayer(t, true, soon, time.Second)
	players := make([]*clusterTimePlayer, len(p.nodes))
	for i := range players {
		players[i] = &clusterTimePlayer{nodes: p.nodes, stores: p.stores, channels: p.channels, changes: p.changes, leader: p.leader}
		players[i].serve(i)
	}
	defer func() {
		for _, q := range players {
			q.env.WaitQueue.Stop()
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	set := append([]string{"RL.POLICY", "SET", "api", "TB", "user:{}", "600", "1/h", "TB", "all", "1500", "1/h"}, options...)
	if reply := players[1].said(t, set...); reply != "+OK" {
		t.Fatal(reply)
	}
	answered := make([]countsOf, len(players))
	var all countsOf
	for round := range 150 {
		for i, q := range players {
			id := "u" + strconv.Itoa(round%3)
			answered[i].add(q.check(t, options, "RL.CHECK", "api", id, strconv.Itoa(5+round%2)))
			q.said(t, "RL.CHECK", "api", id, "PEEK")
			q.said(t, "RL.CHECK", "none", id)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for i, q := range players {
		got := q.counted(t, "api")
		if got != answered[i] || got[0]+got[1]+got[2] != 150 {
			t.Errorf("node %d counts %v; it answered %v", i, got, answered[i])
		}
		all.add(got)
	}
	local := int64(0)
	for _, n := range p.nodes {
		local += n.Group().Status().LocalDecisions
	}
	t.Logf("all nodes together: %v, %d decisions from tokens held", all, local)
	if all[0] == 0 || all[1]+all[2] == 0 || len(options) == 0 && local == 0 {
		t.Error("the checks were not decided in all ways")
	}
}

// check asks, and returns the answer: in the shadow, the limit that would have denied is named.
func (p *clusterTimePlayer) check(t *testing.T, options []string, words ...string) (c countsOf) {
	t.Helper()
	reply := p.said(t, words...)
	var granted, binding int64
	if n, err := fmt.Sscanf(reply, "[%d %d", &granted, &binding); n != 2 {
		t.Fatalf("%q: %v", reply, err)
	}
	switch {
	case granted == 0:
		c[1]++
	case binding >= 0:
		c[2]++
	default:
		c[0]++
	}
	return c
}
