package testwatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"
)

// Outcome is the outcome of a request, as far as it is known.
type Outcome int

// The outcomes.
const (
	Answered Outcome = iota
	Refused          // certainly not carried out
	Unknown          // perhaps
)

// Connection is a client's way to the server. Replies are written as in package transcripttest.
type Connection interface {
	Do(words ...string) (reply string, o Outcome)
	Watch(keys ...string) Outcome
	Exec(commands [][]string) (reply string, o Outcome)
}

// History is requests and their answers, on separate keys.
type History struct {
	Name string // of the keys

	mu       sync.Mutex
	time     int64
	requests []porcupine.Operation
	clients  int
	unknown  int
	executed int
	refused  int // transactions, because of a changed key
}

// Client sends a number of requests by a connection, and by another one after an outcome that it does not know.
func (h *History) Client(r *rand.Rand, requests int, connect func() Connection) {
	c := client{h: h, r: r}
	for i := 0; i < requests; i++ {
		if c.conn == nil {
			if !h.enter(&c) {
				return
			}
			c.conn = connect()
		}
		if r.IntN(2) == 0 {
			c.send(request{commands: []command{c.command()}})
			continue
		}
		c.transaction()
	}
}

// enter numbers a client; it reports false once there are enough.
func (h *History) enter(c *client) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clients == maxClients {
		return false
	}
	c.number = h.clients
	h.clients++
	return true
}

// now is a time later than all before: it counts requests and answers in their order.
func (h *History) now() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.time++
	return h.time
}

// client is one connection of a client.
type client struct {
	h      *History
	r      *rand.Rand
	number int
	conn   Connection // nil after an unknown outcome
}

// command is a random one. Few values and few times, so that a key is often as it was before.
func (c *client) command() command {
	k := command{key: c.r.IntN(Keys)}
	switch c.r.IntN(12) {
	case 0, 1, 2:
		k.name, k.value = "SET", int16(c.r.IntN(3))
	case 3, 4:
		k.name = "INCR"
	case 5:
		k.name = "DEL"
	case 6, 7:
		k.name, k.expiry = "PEXPIREAT", int8(1+c.r.IntN(2))
	case 8:
		k.name = "PERSIST"
	default:
		k.name = "GET"
	}
	return k
}

// transaction watches keys, lets some time pass, and executes commands.
func (c *client) transaction() {
	watch := c.r.Perm(Keys)[:1+c.r.IntN(Keys)]
	if !c.send(request{watch: watch}) {
		return
	}
	for range c.r.IntN(3) {
		if c.conn != nil {
			c.send(request{commands: []command{{name: "GET", key: c.r.IntN(Keys)}}})
		}
	}
	if c.conn == nil {
		return
	}
	exec := request{isExec: true}
	for range 1 + c.r.IntN(3) {
		exec.commands = append(exec.commands, c.command())
	}
	if !c.send(exec) {
		c.conn = nil // it may watch keys still
	}
}

// send sends a request and notes the answer; it reports whether there was one.
func (c *client) send(in request) bool {
	in.client = c.number
	called := c.h.now()
	reply, o := c.ask(&in)
	replied := c.h.now()
	if o == Unknown {
		c.conn, replied = nil, math.MaxInt64
	}
	switch {
	case o == Answered && in.watch != nil: // each key may have been looked at at another instant
		for _, k := range in.watch {
			c.h.note(porcupine.Operation{ClientId: in.client, Input: request{client: in.client, watch: []int{k}}, Call: called, Output: answer{}, Return: replied})
		}
	case o == Answered, o == Unknown && in.watch == nil:
		c.h.note(porcupine.Operation{ClientId: in.client, Input: in, Call: called, Output: answer{o == Unknown, reply}, Return: replied})
	}
	return o == Answered
}

func (c *client) ask(in *request) (reply string, o Outcome) {
	if in.watch != nil {
		names := make([]string, len(in.watch))
		for i, k := range in.watch {
			names[i] = c.h.key(k)
		}
		if o = c.conn.Watch(names...); o == Refused {
			c.conn = nil
		}
		return "", o
	}
	lines := make([][]string, len(in.commands))
	for i := range in.commands {
		lines[i] = in.commands[i].words(c.h.key(in.commands[i].key))
	}
	if in.isExec {
		return c.conn.Exec(lines)
	}
	return c.conn.Do(lines[0]...)
}

func (h *History) key(k int) string { return fmt.Sprint(h.Name, k) }

func (h *History) note(op porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, op)
	out := op.Output.(answer)
	switch {
	case out.unknown:
		h.unknown++
	case op.Input.(request).isExec && out.reply == "nil[]":
		h.refused++
	case op.Input.(request).isExec:
		h.executed++
	}
}

// Counts are sums over histories.
type Counts struct{ Requests, Executed, Refused, Unknown, Skipped int }

// maxUnknown is how many requests of unknown outcome may be in a history: with each, twice as many states are possible.
const maxUnknown = 4

// Check fails the test if no order explains the history, and adds to the counts. It skips a history that would take too
// long.
func (h *History) Check(t *testing.T, sum *Counts) {
	t.Helper()
	if h.unknown > maxUnknown {
		sum.Skipped++
		return
	}
	is, known := isLinearizable(h.requests)
	if !known {
		sum.Skipped++
		return
	}
	sum.Requests, sum.Executed, sum.Refused, sum.Unknown = sum.Requests+len(h.requests), sum.Executed+h.executed, sum.Refused+h.refused, sum.Unknown+h.unknown
	if is {
		return
	}
	t.Errorf("no order of these requests explains their answers:")
	for _, op := range h.requests {
		t.Logf("%d to %d: %+v: %+v", op.Call, op.Return, op.Input, op.Output)
	}
}
