package server

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/conn/wait"
)

// Clients of three nodes wait for places, while leases are released through any node, the leader changes, and some
// clients hang up. At no time are there more leases than places, each client of a node is served in its order, and in
// the end nobody waits while there is a place.
func TestPlacesAcrossNodes(t *testing.T) {
	for seed := range uint64(testsize.Pick(3, 30)) {
		synctest.Test(t, func(t *testing.T) {
			l := &placesTest{waitCluster: newWaitCluster(t), r: rand.New(rand.NewPCG(testsize.Seed(), seed)), limit: 2}
			defer l.close()
			l.send(0, "setter", "RL.POLICY SET jobs TB rate:{} 100 100/s SPREAD CC k 2 1h {}", 2*time.Second)
			for step := range 50 {
				l.step(step)
			}
			l.pass(3 * time.Second)
			for len(l.waiting)+len(l.holders) > 0 {
				if before := len(l.waiting); len(l.holders) == 0 {
					t.Fatalf("seed %d: %d clients wait, and nobody has a place:\n%s", seed, before, strings.Join(l.log, "\n"))
				}
				l.release(0)
			}
		})
	}
}

type placesTest struct {
	*waitCluster
	r       *rand.Rand
	limit   int
	waiting []placeOf // in the order of arrival
	holders []string
	log     []string
}

type placeOf struct {
	name string
	node int
}

func (l *placesTest) step(step int) {
	switch choice := l.r.IntN(10); {
	case choice < 5:
		c := placeOf{fmt.Sprint("c", step), l.r.IntN(3)}
		l.waiting = append(l.waiting, c)
		l.log = append(l.log, fmt.Sprintf("%s of node %d", c.name, c.node))
		command := fmt.Sprintf("CC.ACQUIRE k %d 1h %s BLOCK 10m", l.limit, c.name)
		if l.r.IntN(2) == 0 {
			command = fmt.Sprintf("RL.CHECK jobs %s BLOCK 10m", c.name)
		}
		if got := l.send(c.node, c.name, command, time.Second); got != "" {
			l.granted(c, got)
		}
	case choice < 8 && len(l.holders) > 0:
		l.release(l.r.IntN(len(l.holders)))
	case choice == 8 && len(l.waiting) > 0:
		i := l.r.IntN(len(l.waiting))
		c := l.waiting[i]
		l.log = append(l.log, c.name+" hangs up")
		l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
		if err := l.servers[c.node].HangUp(c.name); err != nil {
			l.t.Error(err)
		}
	case choice == 9:
		to := (l.leader() + 1 + l.r.IntN(2)) % 3
		l.log = append(l.log, fmt.Sprintf("node %d leads", to))
		l.transfer(to)
	}
	l.collect()
}

// release ends a lease through any node.
func (l *placesTest) release(i int) {
	holder := l.holders[i]
	l.holders = append(l.holders[:i:i], l.holders[i+1:]...)
	l.log = append(l.log, holder+" is released")
	if got := l.send(l.r.IntN(3), "releaser", "CC.RELEASE k "+holder, 2*time.Second); got != "1" {
		l.t.Fatalf("the release of %s is answered %q:\n%s", holder, got, strings.Join(l.log, "\n"))
	}
	l.collect()
}

// collect takes the replies of clients that waited.
func (l *placesTest) collect() {
	for _, c := range append([]placeOf(nil), l.waiting...) {
		if got := l.reply(c.node, c.name); got != "" {
			l.granted(c, got)
		}
	}
	if len(l.waiting) > 0 && len(l.holders) < l.limit {
		l.t.Fatalf("%d clients wait, and %d of %d places are taken:\n%s", len(l.waiting), len(l.holders), l.limit, strings.Join(l.log, "\n"))
	}
	for _, c := range l.waiting {
		if !l.servers[c.node].conns[c.name].Public().Awaits(wait.ForKey | wait.ForDecision) {
			l.t.Fatalf("%s does not wait any more", c.name)
		}
	}
}

func (l *placesTest) granted(c placeOf, reply string) {
	l.log = append(l.log, fmt.Sprintf("%s got %s", c.name, reply))
	if !strings.HasPrefix(reply, "[1 ") {
		l.t.Fatalf("%s is answered %s:\n%s", c.name, reply, strings.Join(l.log, "\n"))
	}
	for i, other := range l.waiting {
		if other == c {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			break
		}
		if other.node == c.node {
			l.t.Fatalf("%s is served before %s:\n%s", c.name, other.name, strings.Join(l.log, "\n"))
		}
	}
	if l.holders = append(l.holders, c.name); len(l.holders) > l.limit {
		l.t.Fatalf("%q have places:\n%s", l.holders, strings.Join(l.log, "\n"))
	}
}

// A client goes on waiting while its cluster has no leader, and is served by the next leader.
func TestPlaceThroughALostLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWaitCluster(t)
		defer c.close()
		lost := c.leader()
		at, other := (lost+1)%3, (lost+2)%3
		c.send(other, "holder", "CC.ACQUIRE k 1 3s holder", time.Second)
		c.send(at, "waiter", "CC.ACQUIRE k 1 1h waiter BLOCK 1m", 100*time.Millisecond)
		c.cut(lost) // the lease expires while there may be no leader
		c.pass(10 * time.Second)
		if got := c.reply(at, "waiter"); !strings.HasPrefix(got, "[1 1 0 0 ") {
			t.Errorf("after the loss of the leader: %q", got)
		}
		if got := c.send(other, "last", "CC.HOLDERS k", time.Second); !strings.HasPrefix(got, `["waiter" `) {
			t.Errorf("the holders are %s", got)
		}
	})
}

// Whichever node is lost, and whenever, each client of another node gets a place in the end, whatever its command and
// priority. No reply is an error, but a request for several limits may be uncertain.
// There are never more leases than places.
func TestPlacesLoseNobody(t *testing.T) {
	for seed := range uint64(testsize.Pick(3, 30)) {
		synctest.Test(t, func(t *testing.T) {
			c, r := newWaitCluster(t), rand.New(rand.NewPCG(testsize.Seed(), seed))
			defer c.close()
			node := func() int {
				for {
					if n := r.IntN(3); n != c.dead {
						return n
					}
				}
			}
			c.send(node(), "setter", "RL.POLICY SET jobs TB rate:{} 100 100/s SPREAD CC k 2 1h {}", 2*time.Second)
			waiting, isOfSeveral, served := map[string]int{}, map[string]bool{}, 0
			collect := func() {
				for name, at := range waiting {
					if at == c.dead {
						delete(waiting, name)
					} else if got := c.reply(at, name); strings.HasPrefix(got, "[1 ") {
						delete(waiting, name)
						served++
					} else if strings.HasPrefix(got, "-UNCERTAIN") && isOfSeveral[name] { // several limits are not asked twice
						delete(waiting, name)
					} else if got != "" {
						t.Fatalf("seed %d: %s is answered %s", seed, name, got)
					}
				}
			}
			releaseAll := func(pause time.Duration) {
				holders := regexp.MustCompile(`c\d+`).FindAllString(c.send(node(), "reader", "CC.HOLDERS k", pause), -1)
				if len(holders) > 2 {
					t.Fatalf("seed %d: %q have 2 places", seed, holders)
				}
				for i, holder := range holders {
					c.send(node(), fmt.Sprint("releaser", i), "CC.RELEASE k "+holder, 0)
				}
				c.pass(pause)
			}
			for step := range 60 {
				pause := time.Duration(r.IntN(20)) * 5 * time.Millisecond
				switch choice := r.IntN(12); {
				case choice < 8:
					name, at := fmt.Sprint("c", step), node()
					waiting[name] = at
					commands := []string{"CC.ACQUIRE k 2 1h %s BLOCK 1h PRIORITY %d", "RL.ALL TB rate:%[1]s 100 100/s SPREAD CC k 2 1h %[1]s BLOCK 1h PRIORITY %[2]d", "RL.CHECK jobs %s BLOCK 1h PRIORITY %d"}
					which := r.IntN(len(commands))
					isOfSeveral[name] = which > 0
					c.servers[at].open(name).traffic(frames(fmt.Sprintf(commands[which], name, r.IntN(10))))
					c.pass(pause)
				case choice < 11:
					name := fmt.Sprint("c", r.IntN(step+1))
					c.send(node(), fmt.Sprint("r", step), "CC.RELEASE k "+name, pause)
				case c.dead < 0 && step > 20:
					c.cut(c.leader())
				}
				collect()
			}
			c.pass(70 * time.Second) // longer than any call takes
			for range 100 {
				if collect(); len(waiting) == 0 {
					break
				}
				releaseAll(3 * time.Second)
			}
			if len(waiting) > 0 {
				t.Errorf("seed %d: %v wait for ever", seed, waiting)
			}
			for at, server := range c.servers { // what nobody has read
				for name := range server.conns {
					for c.reply(at, name) != "" {
					}
				}
			}
			t.Logf("seed %d: %d served, node %d is lost", seed, served, c.dead)
		})
	}
}
