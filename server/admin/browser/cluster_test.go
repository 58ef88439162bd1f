package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// The page of a cluster's node shows who leads, and keeps working when the leader is lost.
func TestFailover(t *testing.T) {
	nodes := startCluster(t)
	for id, p := range nodes {
		until(t, "a leader is known to "+id, func() bool { return sums(t, p.admin)["stint_raft_has_leader"] == 1 })
	}
	leader := leaderOf(t, nodes)
	watched := nodes["a"]
	if leader == "a" {
		watched = nodes["b"]
	}
	do(t, watched.listen, "RL.POLICY SET api TB user:{} 3 1/h", "RL.CHECK api 1", "RL.CHECK api 1", "RL.CHECK api 1", "RL.CHECK api 1")

	b := open(t, watched.admin)
	part := func(id string) string {
		return fmt.Sprintf(`document.querySelector('[data-member="%s"] .part')?.textContent`, id)
	}
	b.until(part(leader) + ` === "leader"`)
	if members := b.value(`document.querySelectorAll("[data-member]").length`); members != "3" {
		t.Errorf("%s members are shown", members)
	}
	b.until(`document.querySelector('[data-policy="api"]')`)
	// The other follower's clients count here too, and its page is one click away.
	elsewhere := ""
	for id := range nodes {
		if id != leader && nodes[id] != watched {
			elsewhere = id
		}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.Tick(20 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick:
				do(t, nodes[elsewhere].listen, "RL.CHECK api 1")
			}
		}
	}()
	denied := func(row string) string {
		return fmt.Sprintf(`Number(document.querySelector('%s [data-of="denied"]')?.textContent) > 0`, row)
	}
	b.until(denied(`[data-member="`+elsewhere+`"]`) + ` && ` + denied("#members-total"))
	if top := b.value(`document.getElementById("top").innerText`); strings.Contains(top, "(empty)") {
		t.Errorf("a key that nobody asked for is listed: %s", top)
	}
	policy := func(says string) string {
		return fmt.Sprintf(`document.querySelector('[data-policy="api"] .soft')?.textContent.match(/%s/)`, says)
	}
	b.until(policy(`^All 3 nodes: 3 granted, [1-9][0-9]* denied, `) + ` && document.getElementById("bites-nodes").textContent === "All 3 nodes."`)
	b.screenshot("cluster")
	close(stop)
	<-ended
	b.until(`document.querySelector("#members-total th").textContent === "all nodes"`)
	if link := b.value(fmt.Sprintf(`document.querySelector('[data-member="%s"] a').href`, elsewhere)); link != "http://"+nodes[elsewhere].admin+"/" {
		t.Errorf("the page of %s is at %s, and the link leads to %s", elsewhere, nodes[elsewhere].admin, link)
	}
	for _, name := range []string{"light", "dark"} {
		b.scheme(name)
		b.accessible("cluster, " + name)
	}

	nodes[leader].Stop(t)
	delete(nodes, leader)
	b.until(fmt.Sprintf(`[...document.querySelectorAll("[data-member]")].some((row) => row.dataset.member !== %q && row.querySelector(".part").textContent === "leader")`, leader))
	next := leaderOf(t, nodes)
	b.until(part(next) + ` === "leader"`)
	b.until(fmt.Sprintf(`document.querySelector('[data-member="%s"]').className === "over"`, leader))
	b.until(`document.querySelector("#members-total th").textContent === "2 of 3 nodes"`)
	b.until(policy(`^2 of 3 nodes, without ` + leader + `: `))
	b.until(`document.getElementById("ready").textContent === "degraded"`)
	b.until(fmt.Sprintf(`document.getElementById("problems").innerText.includes("Node %s cannot be reached: one more failure stops decisions since ")`, leader))
	b.until(fmt.Sprintf(`document.getElementById("events").innerText.includes("Node %s cannot be reached")`, leader))
	b.until(fmt.Sprintf(`[...document.querySelectorAll("#events li")].some((e) => e.innerText.includes("%s leads") && document.querySelector("#rates .mark"))`, next))
	b.screenshot("node-lost")
	b.accessible("a node is lost")
	if got := do(t, watched.listen, "RL.CHECK api 2"); got != "*4" {
		t.Errorf("after the failover a check is answered %s", got)
	}
	b.answers()
	want := sums(t, watched.admin)
	for name, of := range map[string]string{"stint_decisions_total granted": "granted", "stint_decisions_total denied": "denied"} {
		shown := b.value(fmt.Sprintf(`document.querySelector('[data-metric="stint_decisions_total"][data-of="%s"]').textContent`, of))
		if shown != fmt.Sprint(want[name]) {
			t.Errorf("%s on the page and %v at /metrics", shown, want[name])
		}
	}
	b.screenshot("failover")
}

// startCluster starts the nodes a, b and c.
func startCluster(t *testing.T) map[string]*process {
	t.Helper()
	const size = 3
	peers := testserver.ReserveAddresses(t, size)
	nodes := map[string]*process{}
	for i := range size {
		id := string(rune('a' + i))
		nodes[id] = start(t, "--dir", t.TempDir(), "--node-id", id, "--advertise", "stint-"+id+":6379", "--cluster-listen", peers[i], "--cluster-peers", strings.Join(peers, ","), "--cluster-heartbeat", "1s")
	}
	return nodes
}

// leaderOf waits until one of the nodes leads.
func leaderOf(t *testing.T, nodes map[string]*process) (leader string) {
	t.Helper()
	until(t, "there is a leader", func() bool {
		for id, p := range nodes {
			if stateOf(t, p) == "leader" {
				leader = id
				return true
			}
		}
		return false
	})
	return leader
}

// stateOf is a node's role according to its metrics.
func stateOf(t *testing.T, p *process) string {
	t.Helper()
	for state, value := range labelled(t, p.admin, "stint_raft_state", "state") {
		if value == 1 {
			return state
		}
	}
	return ""
}

// until waits for a condition. Every wait of this module goes through it.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(giveUp); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: waiting until %s", what)
		}
	}
}
