package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/transcripttest"
)

// waitCluster is a server on each of three nodes, whose network is in memory.
type waitCluster struct {
	t       *testing.T
	p       *clusterTimePlayer
	servers [3]*sessionPlayer
	dead    int // a node that nothing is heard of, or -1
}

// statusOf is the cluster as far as the servers of this test ask for it.
type statusOf struct {
	command.Membership
	status  func() clusterstatus.Status
	leaders func() uint64
}

func (s statusOf) Status() clusterstatus.Status { return s.status() }
func (s statusOf) Leads() bool                  { return s.Status().State == clusterstatus.Leader }
func (s statusOf) Leaders() uint64              { return s.leaders() }
func (s statusOf) AwaitsImport() bool           { return s.Status().AwaitsImport }

func (s statusOf) Redirects(*engine.Op) (string, bool) { return "", false }

func newWaitCluster(t *testing.T) *waitCluster {
	c := &waitCluster{t: t, p: newClusterTimePlayer(t, true, soon, 0), dead: -1}
	for i := range c.servers {
		c.p.serve(i)
		c.servers[i] = c.p.sessionPlayer
		c.servers[i].rest = synctest.Wait
		c.servers[i].env.Cluster = statusOf{status: c.p.nodes[i].Status, leaders: c.p.leaders(i)}
		c.servers[i].env.FollowLeader()
	}
	c.pass(2 * time.Second)
	return c
}

func (c *waitCluster) close() {
	for _, s := range c.servers {
		s.env.WaitQueue.Stop()
	}
	if err := c.p.Close(); err != nil {
		c.t.Error(err)
	}
}

// pass lets time pass, in which the servers work.
func (c *waitCluster) pass(d time.Duration) {
	const step = 5 * time.Millisecond
	for at := time.Duration(0); at < d; at += step {
		time.Sleep(step)
		for i, s := range c.servers {
			if i != c.dead {
				if at%(20*step) == 0 {
					s.env.FollowLeader() // as housekeeping does
				}
				s.settle()
			}
		}
	}
}

// send has a client of a node send a command, and returns its reply, if there is one after a while.
func (c *waitCluster) send(node int, name, text string, after time.Duration) string {
	c.t.Helper()
	p := c.servers[node]
	client := p.conns[name]
	if client == nil {
		client = p.open(name)
	}
	client.traffic(frames(text))
	c.pass(after)
	return c.reply(node, name)
}

// reply is the next reply to a client, "" if there is none.
func (c *waitCluster) reply(node int, name string) string {
	reply, err := transcripttest.ReadReply(c.servers[node].conns[name].unread)
	if err != nil {
		return ""
	}
	return reply
}

func (c *waitCluster) leader() int {
	for i, n := range c.p.nodes {
		if leads, _ := n.Group().Leads(); leads && i != c.dead {
			return i
		}
	}
	return -1
}

// transfer has another node lead.
func (c *waitCluster) transfer(to int) {
	done := make(chan error, 1)
	go func() { done <- c.p.nodes[c.leader()].Group().Transfer(context.Background(), fmt.Sprint("n", to)) }()
	for range 1000 {
		c.pass(10 * time.Millisecond)
		select {
		case err := <-done:
			if err != nil {
				c.t.Fatal(err)
			}
			return
		default:
		}
	}
	c.t.Fatal("leadership is not transferred")
}

// cut separates a node from the others.
func (c *waitCluster) cut(node int) {
	c.dead = node
	for i := range c.p.nodes {
		if from, to := fmt.Sprintf("node-%d:1", i), fmt.Sprintf("node-%d:1", node); i != node {
			c.p.network.SetCut(from, to, true)
			c.p.network.SetCut(to, from, true)
		}
	}
}

// Clients of three nodes are served in the order in which they came, through whichever node elements come, also after
// another node has begun to lead.
func TestWaitingAcrossNodes(t *testing.T) {
	for seed := range uint64(testsize.Pick(3, 30)) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(testsize.Seed(), seed))
			c := newWaitCluster(t)
			defer c.close()
			var line []int // the nodes of those that wait, by their number
			first := 0
			var log []string
			for step := range 40 {
				switch choice := r.IntN(10); {
				case choice < 5:
					node := r.IntN(3)
					if got := c.send(node, fmt.Sprint("c", len(line)), "BLPOP k other 0", 100*time.Millisecond); got != "" {
						t.Fatalf("seed %d: client %d is answered %s at once", seed, len(line), got)
					}
					line = append(line, node)
					log = append(log, fmt.Sprintf("client %d of node %d", len(line)-1, node))
				case choice < 9 && first < len(line):
					n := min(1+r.IntN(3), len(line)-first)
					text := "RPUSH k"
					for i := range n {
						text += fmt.Sprint(" v", first+i)
					}
					log = append(log, text)
					c.send(r.IntN(3), "pusher", text, 3*time.Second)
					for range n {
						if got, want := c.reply(line[first], fmt.Sprint("c", first)), fmt.Sprintf("[\"k\" \"v%d\"]", first); got != want {
							t.Fatalf("seed %d, step %d: client %d of node %d got %q, want %s; node %d leads:\n%s", seed, step, first, line[first], got, want, c.leader(), strings.Join(log, "\n"))
						}
						first++
					}
				case choice == 9:
					to := (c.leader() + 1 + r.IntN(2)) % 3
					log = append(log, fmt.Sprintf("node %d leads", to))
					c.transfer(to)
					c.pass(time.Duration(r.IntN(2)) * time.Second)
				}
			}
		})
	}
}

// A node that is gone holds up those that came after its clients no longer than a heartbeat or so, and so does one
// whose client has left.
func TestWaitersOfALostNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWaitCluster(t)
		defer c.close()
		leader := c.leader()
		lost, other := (leader+1)%3, (leader+2)%3
		c.send(lost, "lost", "BLPOP k 0", 100*time.Millisecond)
		c.send(other, "left", "BLPOP j 0", 100*time.Millisecond)
		c.send(leader, "a", "BLPOP k 0", 100*time.Millisecond)
		c.send(leader, "b", "BLPOP j 0", 100*time.Millisecond)
		if err := c.servers[other].HangUp("left"); err != nil {
			t.Fatal(err)
		}
		c.cut(lost)
		c.send(leader, "pusher", "RPUSH k 1", 2*time.Second)
		if got := c.reply(leader, "a"); got != `["k" "1"]` {
			t.Errorf("behind a client of a node that is gone: %q", got)
		}
		c.send(leader, "pusher", "RPUSH j 2", 2*time.Second)
		if got := c.reply(leader, "b"); got != `["j" "2"]` {
			t.Errorf("behind a client that has left: %q", got)
		}
	})
}

// Whichever node is lost, each element goes to one client. None is lost, but with an error in its place, or with the
// node of its client. And nobody waits for an element that is there.
func TestWaitingLosesNothing(t *testing.T) {
	for seed := range uint64(testsize.Pick(3, 30)) {
		synctest.Test(t, func(t *testing.T) {
			l := &lossTest{waitCluster: newWaitCluster(t), r: rand.New(rand.NewPCG(testsize.Seed(), seed)), taken: map[string]int{}, optional: map[string]bool{}, waits: map[string]string{}}
			defer l.close()
			for step := range 80 {
				l.step(step)
			}
			l.pass(70 * time.Second) // longer than any call takes
			l.collect()
			l.check(seed)
		})
	}
}

type lossTest struct {
	*waitCluster
	r        *rand.Rand
	pushed   int
	taken    map[string]int    // how often
	optional map[string]bool   // elements that perhaps were never there
	waits    map[string]string // the command of each client
	mayLack  int               // elements that went to clients which do not know of it
}

var elements = regexp.MustCompile(`v\d+`)

// node is one that is not lost.
func (l *lossTest) node() int {
	for {
		if n := l.r.IntN(3); n != l.dead {
			return n
		}
	}
}

func (l *lossTest) step(step int) {
	pause := time.Duration(l.r.IntN(20)) * 5 * time.Millisecond
	switch choice := l.r.IntN(12); {
	case choice < 6:
		name := fmt.Sprint("c", step)
		l.waits[name] = []string{"BLPOP k 0", "BRPOP k j 1", "BRPOP j 2", "BLPOP j k 0"}[l.r.IntN(4)]
		l.note(l.send(l.node(), name, l.waits[name], pause))
	case choice < 11:
		l.pushed++
		v := fmt.Sprint("v", l.pushed)
		reply := l.send(l.node(), fmt.Sprint("p", step), "RPUSH "+[]string{"k", "j"}[l.r.IntN(2)]+" "+v, pause+time.Second)
		l.optional[v] = reply == "" || reply[0] == '-'
	case l.dead < 0 && step > 20:
		node := l.leader()
		l.cut(node)
		for name, client := range l.servers[node].conns {
			if l.waits[name] != "" && client.Public().Awaits(wait.ForKey|wait.ForDecision) {
				l.mayLack++
			}
		}
	}
	l.collect()
}

func (l *lossTest) note(reply string) {
	if strings.HasPrefix(reply, "-") {
		l.mayLack++
	}
	for _, v := range elements.FindAllString(reply, -1) {
		l.taken[v]++
	}
}

// collect takes the replies of clients that waited.
func (l *lossTest) collect() {
	for i, s := range l.servers {
		for name := range s.conns {
			if i != l.dead && l.waits[name] != "" {
				l.note(l.reply(i, name))
			}
		}
	}
}

func (l *lossTest) check(seed uint64) {
	at := l.node()
	lists := map[string]string{}
	inLists := map[string]bool{}
	for _, key := range []string{"k", "j"} {
		lists[key] = l.send(at, "last", "LRANGE "+key+" 0 -1", 2*time.Second)
		for _, v := range elements.FindAllString(lists[key], -1) {
			inLists[v] = true
		}
	}
	lacking := 0
	for i := range l.pushed {
		v := fmt.Sprint("v", i+1)
		switch {
		case l.taken[v] > 1, l.taken[v] == 1 && inLists[v]:
			l.t.Errorf("seed %d: %s was taken %d times, and is in a list: %v", seed, v, l.taken[v], inLists[v])
		case l.taken[v] == 0 && !inLists[v] && !l.optional[v]:
			lacking++
		}
	}
	if lacking > l.mayLack {
		l.t.Errorf("seed %d: %d elements are lost, of which %d may be", seed, lacking, l.mayLack)
	}
	for i, s := range l.servers {
		for name, client := range s.conns {
			for _, key := range []string{"k", "j"} {
				if i != l.dead && client.Public().Awaits(wait.ForKey) && strings.Contains(l.waits[name], key) && lists[key] != "[]" {
					l.t.Errorf("seed %d: client %s waits with %s, and there is %s", seed, name, l.waits[name], lists[key])
				}
			}
		}
	}
	l.t.Logf("seed %d: %d pushed, %d taken, %d in the lists, %d lacking of at most %d; node %d is lost", seed, l.pushed, len(l.taken), len(inLists), lacking, l.mayLack, l.dead)
}
