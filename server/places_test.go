package server

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/transcripttest"
)

// Each place that becomes free goes to one client, the one that has waited longest, and the server decides one request
// for it.
func TestOnePlaceWakesOneClient(t *testing.T) {
	const clients = 100
	p := newSessionPlayer(t, 0)
	do := func(name, text, want string) {
		t.Helper()
		if got, err := p.Do(name, bytesOf(strings.Fields(text)), ""); got != want || err != nil {
			t.Fatalf("%s of %s: %s (%v), want %s", text, name, got, err, want)
		}
	}
	do("first", "CC.ACQUIRE gpu 1 1h first", "[1 1 0 0 3600000]")
	for i := range clients {
		do(fmt.Sprint("c", i), fmt.Sprintf("CC.ACQUIRE gpu 1 1h h%d BLOCK 10m", i), transcripttest.Held)
	}
	holder := "first"
	for i := range clients {
		do("other", "CC.RELEASE gpu "+holder, "1")
		holder = fmt.Sprint("h", i)
		for j := i; j < clients; j++ {
			want := transcripttest.Held
			if j == i {
				want = "[1 1 0 0 3600000]"
			}
			if got, err := p.Next(fmt.Sprint("c", j)); got != want || err != nil {
				t.Fatalf("after release %d, client %d: %s (%v), want %s", i, j, got, err, want)
			}
		}
	}
	if n := p.env.WaitQueue.Len(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

// Clients that wait for a place by a policy get the places that a change of the policy makes, or learn that there is no
// such policy any longer.
func TestPolicyChangesWhileClientsWait(t *testing.T) {
	for change, want := range map[string][]string{
		"RL.POLICY SET jobs CC k:{} 3 1h {job}":             {"[1 -1 0 [[3 1 3600000]]]", "[1 -1 0 [[3 0 3600000]]]"},
		"RL.POLICY OVERRIDE jobs ann CC k:{} 2 1h {job}":    {"[1 -1 0 [[2 0 3600000]]]", transcripttest.Held},
		"RL.POLICY SET jobs CC k:{} 1 1h {job} TB t:{} 2 1": {transcripttest.Held, transcripttest.Held},
		"RL.POLICY SET jobs CC k:{} 1 1h {job} SHADOW":      {"[1 0 0 [[1 0 3600000]]]", "[1 0 0 [[1 0 3600000]]]"},
		"RL.POLICY DEL jobs":                                {"-ERR no such policy 'jobs'; RL.POLICY LIST lists the policies", "-ERR no such policy 'jobs'; RL.POLICY LIST lists the policies"},
	} {
		p := newSessionPlayer(t, 0)
		do := func(name, text string) string {
			got, err := p.Do(name, bytesOf(strings.Fields(text)), "")
			if err != nil {
				t.Fatal(text, err)
			}
			return got
		}
		do("a", "RL.POLICY SET jobs CC k:{} 1 1h {job}")
		do("a", "RL.CHECK jobs ann WITH job a")
		for _, name := range []string{"b", "c"} {
			if got := do(name, "RL.CHECK jobs ann BLOCK 10m WITH job "+name); got != transcripttest.Held {
				t.Fatal(got)
			}
		}
		var policies [32]byte
		followPolicies(&p.env, &policies)
		do("a", change)
		followPolicies(&p.env, &policies)
		for i, name := range []string{"b", "c"} {
			if got, err := p.Next(name); got != want[i] || err != nil {
				t.Errorf("%s: %s gets %s (%v), want %s", change, name, got, err, want[i])
			}
		}
	}
}

// A client that leaves while the request is decided that grants it a place gives the place back, whichever comes first.
// A holder that leaves while it renews its lease keeps the lease.
func TestPlaceOfAClientThatLeft(t *testing.T) {
	for _, command := range []string{"CC.ACQUIRE k 1 1h b BLOCK 10s", "RL.ALL TB t 10 1/h CC k 1 1h b BLOCK 10s", "RL.CHECK jobs b BLOCK 10s"} {
		for _, held := range []string{"by nobody", "by another", "by itself"} {
			for _, order := range []string{"leaves, then decided", "decided, then leaves"} {
				p := newLaterPlayer(t, 0)
				a, b := p.open("a"), p.open("b")
				a.deliver(frames("RL.POLICY SET jobs TB t 10 1/h CC k 1 1h {}"))
				switch held {
				case "by nobody":
					b.traffic(frames(command))
				case "by another":
					a.deliver(frames("CC.ACQUIRE k 1 1h a"))
					b.deliver(frames(command))
					a.traffic(frames("CC.RELEASE k a"))
					p.later.finish()
					b.traffic(nil)
				case "by itself":
					a.deliver(frames("CC.ACQUIRE k 1 1h b"))
					b.traffic(frames(command))
				}
				if order == "decided, then leaves" {
					p.later.finish()
				}
				b.hangUp()
				p.settle()
				if b.sent.Len() > 0 || p.env.WaitQueue.Len() > 0 || p.env.Blocked.Len() > 0 {
					t.Errorf("%s, held %s, %s: sent %q, %d and %d wait", command, held, order, b.sent.String(), p.env.WaitQueue.Len(), p.env.Blocked.Len())
				}
				want := "[]"
				if held == "by itself" {
					want = `["b" 3600000]`
				}
				eventually(t, fmt.Sprintf("%s, held %s, %s: the leases are %s", command, held, order, want), func() bool {
					got, err := p.Do("c", bytesOf([]string{"CC.HOLDERS", "k"}), "")
					return got == want && err == nil
				})
			}
		}
	}
}

// placeModel is the leases of a key, and the clients that wait for a place.
type placeModel struct {
	limit   int
	now     int // in half seconds
	leases  map[string]int
	waiting []*placeClient
}

type placeClient struct {
	name     string
	ttl      int // in half seconds
	due      int
	priority int
	rank     int // when it came, with the time of its priority taken into account
	number   int // among those that came
	isQueued bool
}

// expire forgets leases that have ended.
func (m *placeModel) expire() {
	for holder, end := range m.leases {
		if end <= m.now {
			delete(m.leases, holder)
		}
	}
}

func (m *placeModel) ends() (all []int) {
	for _, end := range m.leases {
		all = append(all, end-m.now)
	}
	slices.Sort(all)
	return all
}

// ask returns the reply to a request that does not wait.
func (m *placeModel) ask(holder string, ttl int) (reply string, granted bool) {
	m.expire()
	if _, held := m.leases[holder]; !held && len(m.leases) >= m.limit {
		ends := m.ends()
		return fmt.Sprintf("[0 %d 0 %d %d]", m.limit, 500*ends[0], 500*ends[len(ends)-1]), false
	}
	m.leases[holder] = m.now + ttl
	ends := m.ends()
	return fmt.Sprintf("[1 %d %d 0 %d]", m.limit, m.limit-len(m.leases), 500*ends[len(ends)-1]), true
}

// serve gives free places to those that wait, and returns the replies.
func (m *placeModel) serve() (replies map[string]string) {
	replies = map[string]string{}
	for m.expire(); len(m.waiting) > 0 && len(m.leases) < m.limit; {
		c := slices.MinFunc(m.waiting, func(a, b *placeClient) int {
			return cmp.Or(a.rank-b.rank, b.priority-a.priority, a.number-b.number)
		})
		m.leave(c)
		replies[c.name], _ = m.ask(c.name, c.ttl)
	}
	return replies
}

func (m *placeModel) leave(c *placeClient) {
	c.isQueued = false
	m.waiting = slices.DeleteFunc(m.waiting, func(other *placeClient) bool { return other == c })
}

// Clients wait for places with all priorities at random, while others release leases, leases expire, and some clients
// give up, are unblocked or hang up. Every place that becomes free goes at once to the client whose turn it is, and
// every reply is the one of the model.
func TestPlacesAgainstModel(t *testing.T) {
	for seed := range uint64(testsize.Pick(30, 1000)) {
		p := newSessionPlayer(t, int(seed%2)) // all bytes at once, or one by one
		if seed%3 == 2 {
			p = newLaterPlayer(t, 0)
		}
		r := rand.New(rand.NewPCG(testsize.Seed(), seed))
		w := &placeTest{t: t, p: p, r: r, m: &placeModel{limit: 1 + r.IntN(3), leases: map[string]int{}}}
		for range 350 {
			w.step()
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, strings.Join(w.log[max(0, len(w.log)-40):], "\n"))
			}
		}
		w.do("other", "0", "SLOWLOG LEN") // waiting is not slowness
	}
}

type placeTest struct {
	t       *testing.T
	p       *sessionPlayer
	r       *rand.Rand
	m       *placeModel
	clients []*placeClient
	opened  int
	log     []string
}

func (w *placeTest) do(name, want, text string) {
	got, err := w.p.Do(name, bytesOf(strings.Fields(text)), "")
	w.log = append(w.log, fmt.Sprintf("%s> %s: %s", name, text, got))
	if got != want || err != nil {
		w.t.Errorf("%s of %s is answered %s (%v), want %s", text, name, got, err, want)
	}
}

func (w *placeTest) step() {
	c := &placeClient{name: fmt.Sprint("client", w.opened)}
	if len(w.clients) < 8 {
		w.opened++
		w.clients = append(w.clients, c)
		w.do(c.name, "+PONG", "PING")
	}
	c = w.clients[w.r.IntN(len(w.clients))]
	switch choice := w.r.IntN(20); {
	case choice < 9 && !c.isQueued:
		w.acquire(c)
	case choice < 12:
		holder, want := c.name, "0"
		if w.m.expire(); w.m.leases[holder] != 0 {
			delete(w.m.leases, holder)
			want = "1"
		}
		replies := w.m.serve()
		w.do("other", want, "CC.RELEASE k "+holder)
		w.replies(replies)
	case choice == 12:
		want := strconv.Itoa(min(1, len(w.m.leases)))
		clear(w.m.leases)
		replies := w.m.serve()
		w.do("other", want, "DEL k")
		w.replies(replies)
	case choice == 13:
		want, _ := w.m.ask("passing", 6)
		w.do("other", want, fmt.Sprintf("CC.ACQUIRE k %d 3s passing", w.m.limit))
	case choice == 14 && c.isQueued:
		w.unblock(c)
	case choice == 15:
		w.log = append(w.log, c.name+" hangs up")
		w.m.leave(c)
		w.clients = slices.DeleteFunc(w.clients, func(other *placeClient) bool { return other == c })
		if err := w.p.HangUp(c.name); err != nil {
			w.t.Error(err)
		}
	case choice > 15:
		w.advance()
	}
	w.replies(nil)
	if n := w.p.env.WaitQueue.Len(); n != len(w.m.waiting) {
		w.t.Errorf("%d clients wait, want %d", n, len(w.m.waiting))
	}
}

func (w *placeTest) acquire(c *placeClient) {
	c.ttl = 2 * (1 + w.r.IntN(5))
	priority, timeout := w.r.IntN(10), 2*w.r.IntN(20)+1
	text := fmt.Sprintf("CC.ACQUIRE k %d %dms %s BLOCK %dms", w.m.limit, 500*c.ttl, c.name, 500*timeout)
	if priority != 5 { // which is that of a request without PRIORITY
		text += fmt.Sprint(" PRIORITY ", priority)
	}
	want, granted := w.m.ask(c.name, c.ttl)
	if !granted {
		c.isQueued, c.due, c.priority, want = true, w.m.now+timeout, priority, transcripttest.Held
		c.rank, c.number = w.m.now-20*priority, len(w.log)
		w.m.waiting = append(w.m.waiting, c)
	}
	w.do(c.name, want, text)
}

func (w *placeTest) unblock(c *placeClient) {
	text := fmt.Sprint("CLIENT UNBLOCK ", w.p.conns[c.name].Public().ID())
	w.m.leave(c)
	reply, _ := w.m.ask(c.name, c.ttl)
	if w.r.IntN(2) == 0 {
		text, reply = text+" ERROR", "-UNBLOCKED client unblocked via CLIENT UNBLOCK"
	}
	w.do("other", "1", text)
	w.replies(map[string]string{c.name: reply})
}

// advance lets half a second pass. Waits end between whole seconds, and leases expire on them.
func (w *placeTest) advance() {
	for range 2 * (1 + w.r.IntN(3)) {
		w.log = append(w.log, "half a second passes")
		w.m.now++
		replies := w.m.serve()
		for _, c := range slices.Clone(w.m.waiting) {
			if c.due == w.m.now {
				w.m.leave(c)
				replies[c.name], _ = w.m.ask(c.name, c.ttl)
			}
		}
		w.p.Advance(500 * time.Millisecond)
		w.replies(replies)
	}
}

// replies compares the replies that came without a command.
func (w *placeTest) replies(due map[string]string) {
	for _, c := range w.clients {
		want := due[c.name]
		if want == "" && c.isQueued {
			want = transcripttest.Held
		} else if want == "" {
			want = transcripttest.None
		}
		if got, err := w.p.Next(c.name); got != want || err != nil {
			w.t.Errorf("%s got %s (%v), want %s", c.name, got, err, want)
		}
	}
}
