package server

import (
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

// waitModel is lists, and the clients that wait for them, as Redis has them.
type waitModel struct {
	now    int // seconds
	lists  map[string][]string
	lines  map[string][]*waitingClient
	served map[string][]string // replies that are due, by client
}

type waitingClient struct {
	name    string
	words   []string
	keys    []string
	due     int // 0 for never
	waiting bool
}

// take carries out a command for a client on one key, which has an element. It returns the reply, and a key that got an
// element.
func (m *waitModel) take(c *waitingClient, key string) (reply, pushed string) {
	list := m.lists[key]
	take := func(head bool) (element string) {
		if head {
			element, m.lists[key] = list[0], slices.Clone(list[1:])
		} else {
			element, m.lists[key] = list[len(list)-1], slices.Clone(list[:len(list)-1])
		}
		return element
	}
	switch c.words[0] {
	case "BLPOP", "BRPOP":
		return fmt.Sprintf("[%q %q]", key, take(c.words[0] == "BLPOP")), ""
	case "BRPOPLPUSH":
		element := take(false)
		m.lists[c.words[2]] = slices.Insert(m.lists[c.words[2]], 0, element)
		return strconv.Quote(element), c.words[2]
	}
	element := take(c.words[3] == "LEFT")
	if c.words[4] == "LEFT" {
		m.lists[c.words[2]] = slices.Insert(m.lists[c.words[2]], 0, element)
	} else {
		m.lists[c.words[2]] = append(m.lists[c.words[2]], element)
	}
	return strconv.Quote(element), c.words[2]
}

// begin carries out a client's command at once, or has it wait.
func (m *waitModel) begin(c *waitingClient) (reply string) {
	for _, key := range c.keys {
		if len(m.lists[key]) > 0 {
			reply, pushed := m.take(c, key)
			m.serve(pushed)
			return reply
		}
	}
	c.waiting = true
	for _, key := range c.keys {
		m.lines[key] = append(m.lines[key], c)
	}
	return transcripttest.Held
}

func (m *waitModel) leave(c *waitingClient) {
	c.waiting = false
	for _, key := range c.keys {
		m.lines[key] = slices.DeleteFunc(m.lines[key], func(other *waitingClient) bool { return other == c })
	}
}

// serve gives the elements of a key to those that wait for it.
func (m *waitModel) serve(keys ...string) {
	for len(keys) > 0 {
		key := keys[0]
		if len(m.lists[key]) == 0 || len(m.lines[key]) == 0 {
			keys = keys[1:]
			continue
		}
		c := m.lines[key][0]
		reply, pushed := m.take(c, key)
		m.leave(c)
		m.served[c.name] = append(m.served[c.name], reply)
		keys = append(keys, pushed)
	}
}

// Many clients wait for lists at random, while others push, pop and delete, and some give up, are unblocked or hang up.
// The replies are those of Redis: elements go once, to those that wait longest.
func TestWaitingIsAsInRedis(t *testing.T) {
	for seed := range uint64(testsize.Pick(30, 3000)) {
		p := newSessionPlayer(t, 0)
		switch seed % 3 {
		case 1:
			p = newSessionPlayer(t, 1)
		case 2:
			p = newLaterPlayer(t, 0)
		}
		w := &waitTest{t: t, p: p, r: rand.New(rand.NewPCG(testsize.Seed(), seed)), m: &waitModel{lists: map[string][]string{}, lines: map[string][]*waitingClient{}, served: map[string][]string{}}}
		for range 300 {
			w.step()
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, strings.Join(w.log[max(0, len(w.log)-40):], "\n"))
			}
		}
		w.end()
	}
}

type waitTest struct {
	t       *testing.T
	p       *sessionPlayer
	r       *rand.Rand
	m       *waitModel
	clients []*waitingClient
	opened  int
	values  int
	log     []string
}

func (w *waitTest) key() string { return []string{"a", "b", "c"}[w.r.IntN(3)] }

// destination is a key that elements are moved to. Nobody waits for it and for others: where two of a client's keys get
// elements at once, Redis takes from the one that got it first, and not from the one that the client named first.
const destination = "d"

// anyKey is one of all keys.
func (w *waitTest) anyKey() string { return append([]string{destination}, "a", "b", "c")[w.r.IntN(4)] }

// do sends a command and compares its reply.
func (w *waitTest) do(name, want string, words ...string) {
	got, err := w.p.Do(name, bytesOf(words), "")
	w.log = append(w.log, fmt.Sprintf("%s> %s: %s", name, strings.Join(words, " "), got))
	if got != want || err != nil {
		w.t.Errorf("%s of %s is answered %s (%v), want %s", words, name, got, err, want)
	}
}

func (w *waitTest) step() {
	idle := slices.DeleteFunc(slices.Clone(w.clients), func(c *waitingClient) bool { return c.waiting })
	var blocked *waitingClient
	if at := slices.IndexFunc(w.clients, func(c *waitingClient) bool { return c.waiting }); at >= 0 {
		for blocked = w.clients[at]; ; blocked = w.clients[w.r.IntN(len(w.clients))] {
			if blocked.waiting {
				break
			}
		}
	}
	switch choice := w.r.IntN(20); {
	case choice < 8 && len(idle) > 0:
		w.wait(idle[w.r.IntN(len(idle))])
	case choice < 13:
		w.push()
	case choice == 13:
		w.pop()
	case choice == 14:
		key := w.key()
		w.do("other", strconv.Itoa(min(1, len(w.m.lists[key]))), "DEL", key)
		w.m.lists[key] = nil
	case choice == 15 && blocked != nil:
		w.unblock(blocked)
	case choice == 16 && blocked != nil:
		w.hangUp(blocked)
	case choice == 17:
		w.advance()
	case len(w.clients) < 8:
		w.opened++
		c := &waitingClient{name: fmt.Sprint("client", w.opened)}
		w.clients = append(w.clients, c)
		w.do(c.name, "+PONG", "PING")
	}
	w.replies()
}

func (w *waitTest) wait(c *waitingClient) {
	seconds := w.r.IntN(6)
	timeout := strconv.Itoa(seconds)
	c.words = nil
	switch w.r.IntN(5) {
	case 0:
		c.words = []string{"BLPOP"}
	case 1:
		c.words = []string{"BRPOP"}
	case 2:
		c.keys = []string{w.key()}
		c.words = []string{"BRPOPLPUSH", c.keys[0], destination, timeout}
	case 3:
		c.keys = []string{w.key()}
		ends := []string{"LEFT", "RIGHT"}
		c.words = []string{"BLMOVE", c.keys[0], destination, ends[w.r.IntN(2)], ends[w.r.IntN(2)], timeout}
	}
	if len(c.words) == 0 {
		c.keys = []string{destination}
		c.words = []string{"BLPOP", destination, timeout}
	} else if len(c.words) == 1 {
		c.keys = nil
		for range 1 + w.r.IntN(3) {
			key := w.key()
			c.words = append(c.words, key)
			if !slices.Contains(c.keys, key) {
				c.keys = append(c.keys, key)
			}
		}
		c.words = append(c.words, timeout)
	}
	if c.due = 0; seconds > 0 {
		c.due = w.m.now + seconds
	}
	w.do(c.name, w.m.begin(c), c.words...)
}

func (w *waitTest) push() {
	key, words := w.anyKey(), []string{"LPUSH"}
	head := w.r.IntN(2) == 0
	if !head {
		words[0] = "RPUSH"
	}
	words = append(words, key)
	elements := 1 + w.r.IntN(3)
	if slices.ContainsFunc(w.m.lines[key], func(c *waitingClient) bool { return c.words[2] == destination && !strings.HasSuffix(c.words[0], "POP") }) {
		elements = 1 // a client that waits for the first one moved may come before the second is moved
	}
	for range elements {
		w.values++
		value := fmt.Sprint("v", w.values)
		words = append(words, value)
		if head {
			w.m.lists[key] = slices.Insert(w.m.lists[key], 0, value)
		} else {
			w.m.lists[key] = append(w.m.lists[key], value)
		}
	}
	want := strconv.Itoa(len(w.m.lists[key]))
	w.m.serve(key)
	w.do("other", want, words...)
}

func (w *waitTest) pop() {
	key, want := w.anyKey(), "nil"
	if list := w.m.lists[key]; len(list) > 0 {
		want, w.m.lists[key] = strconv.Quote(list[0]), list[1:]
	}
	w.do("other", want, "LPOP", key)
}

func (w *waitTest) unblock(c *waitingClient) {
	words, reply := []string{"CLIENT", "UNBLOCK", strconv.FormatInt(w.p.conns[c.name].Public().ID(), 10)}, "nil[]"
	if w.r.IntN(2) == 0 {
		words, reply = append(words, "ERROR"), "-UNBLOCKED client unblocked via CLIENT UNBLOCK"
	}
	w.m.leave(c)
	w.m.served[c.name] = append(w.m.served[c.name], reply)
	w.do("other", "1", words...)
}

func (w *waitTest) hangUp(c *waitingClient) {
	w.log = append(w.log, c.name+" hangs up")
	w.m.leave(c)
	w.clients = slices.DeleteFunc(w.clients, func(other *waitingClient) bool { return other == c })
	if err := w.p.HangUp(c.name); err != nil {
		w.t.Error(err)
	}
}

func (w *waitTest) advance() {
	w.log = append(w.log, "a second passes")
	w.m.now++
	for _, c := range w.clients {
		if c.waiting && c.due == w.m.now {
			w.m.leave(c)
			w.m.served[c.name] = append(w.m.served[c.name], "nil[]")
		}
	}
	w.p.Advance(time.Second)
}

// replies compares the replies that came without a command.
func (w *waitTest) replies() {
	for _, c := range w.clients {
		for _, want := range w.m.served[c.name] {
			got, err := w.p.Next(c.name)
			w.log = append(w.log, fmt.Sprintf("%s< %s", c.name, got))
			if got != want || err != nil {
				w.t.Errorf("%s got %s (%v), want %s", c.name, got, err, want)
			}
		}
		want := transcripttest.None
		if c.waiting {
			want = transcripttest.Held
		}
		if got, err := w.p.Next(c.name); got != want || err != nil {
			w.t.Errorf("%s got %s (%v), want %s", c.name, got, err, want)
		}
	}
	clear(w.m.served)
}

// end has all hang up, and compares the rest.
func (w *waitTest) end() {
	if n := w.p.env.Blocked.Len(); n != len(slices.DeleteFunc(slices.Clone(w.clients), func(c *waitingClient) bool { return !c.waiting })) {
		w.t.Errorf("%d clients wait", n)
	}
	for len(w.clients) > 0 {
		w.hangUp(w.clients[0])
	}
	if w.p.env.Blocked.Len() != 0 || w.p.env.WaitQueue.Len() != 0 {
		w.t.Errorf("%d clients and %d timers are left", w.p.env.Blocked.Len(), w.p.env.WaitQueue.Len())
	}
	for key, list := range w.m.lists {
		w.do("other", strconv.Quote(strings.Join(list, " ")), "EVAL", "return table.concat(redis.call('lrange', KEYS[1], 0, -1), ' ')", "1", key)
	}
}
