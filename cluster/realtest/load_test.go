//go:build e2e

package realtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	clients = 66 // on three nodes
	// keysAtOnce keys are in use at a time, for a number of requests: so all are contended for, while a fault leaves only a few
	// requests of unknown outcome on each.
	keysAtOnce         = 240
	generationRequests = 16_000
	deepest            = 6 // commands in a pipeline
)

// load is a set of clients on all nodes that take tokens until they are stopped, with their histories.
type load struct {
	t       testing.TB
	c       *processes
	began   time.Time
	stopped atomic.Bool
	running sync.WaitGroup

	asked    atomic.Int64 // requests sent
	answered atomic.Int64 // requests decided
	refused  atomic.Int64 // with CLUSTERDOWN
	unknown  atomic.Int64 // of unknown outcome
	broken   atomic.Int64 // of these, because the connection broke

	mu      sync.Mutex
	history []porcupine.Operation
	steady  []grant // of the keys that fill up again
}

// grant is tokens that were granted sometime between two times, nanoseconds since the load began.
type grant struct{ called, replied, tokens int64 }

// The key that fills up again while the test runs, for which no model is needed: any span of time has a maximum.
const (
	steadyKey      = "steady"
	steadyCapacity = 50
	steadyRate     = 50 // a second
)

func startLoad(c *processes, seed uint64) *load {
	l := &load{t: c.t, c: c, began: time.Now()}
	for i := range clients {
		l.running.Go(func() { l.client(c.nodes[c.names[i%len(c.names)]], rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	return l
}

func (l *load) stop() {
	l.stopped.Store(true)
	l.running.Wait()
}

func (l *load) now() int64 { return int64(time.Since(l.began)) }

// generation is the number of the keys in use.
func (l *load) generation() int64 { return l.asked.Load() / generationRequests }

// client sends pipelines to one node, over a new connection when one breaks.
func (l *load) client(n *node, r *rand.Rand) {
	var c *conn
	for !l.stopped.Load() {
		if c != nil && c.isOver() {
			_ = c.Close()
			c = nil
		}
		if c == nil {
			var err error
			if c, err = dial(n.Address); err != nil {
				time.Sleep(20 * time.Millisecond)
				continue
			}
		}
		if !l.exchange(c, n, r) {
			_ = c.Close()
			c = nil
			time.Sleep(50 * time.Millisecond)
		}
	}
	if c != nil {
		_ = c.Close()
	}
}

// exchange sends a pipeline and reads the answers. It reports false when the connection is of no more use.
func (l *load) exchange(c *conn, n *node, r *rand.Rand) (ok bool) {
	inputs := make([]input, 1+r.IntN(deepest))
	commands := make([][]string, len(inputs))
	for i := range inputs {
		inputs[i], commands[i] = l.request(r)
	}
	pauses := n.pauses.Load()
	for i := range inputs {
		inputs[i].called = l.now()
	}
	err := c.send(commands...)
	for i := range inputs {
		in := inputs[i]
		if err == nil {
			var rep reply
			rep, err = readReply(c.in)
			in.replied = l.now()
			var answer serverError
			switch {
			case err == nil:
				l.keep(in, rep)
				continue
			case isRefused(err):
				l.refused.Add(1)
				err = nil
				continue
			case isUncertain(err):
				l.lose(in)
				err = nil
				continue
			case errors.As(err, &answer):
				l.t.Errorf("%s answered %q to %q", n.name, string(answer), commands[i])
			}
			if errors.Is(err, os.ErrDeadlineExceeded) && n.pauses.Load() == pauses && pauses%2 == 0 {
				l.t.Errorf("%s has not answered %q within %v", n.name, commands[i], answerTimeout)
			}
		}
		l.broken.Add(1)
		l.lose(in) // the connection broke, and the request may have gone through
	}
	return err == nil
}

// request makes up a request: on a key for which there is a model, mostly.
func (l *load) request(r *rand.Rand) (in input, command []string) {
	l.asked.Add(1)
	if r.IntN(16) == 0 {
		return input{key: steadyKey, verb: acquire, n: 1}, []string{"TB.ACQUIRE", steadyKey, strconv.Itoa(steadyCapacity), fmt.Sprintf("%d/s", steadyRate)}
	}
	at := r.IntN(keysAtOnce)
	if r.IntN(2) == 0 {
		at &^= 1 // those below that are hard to check are asked for less
	}
	in = input{key: fmt.Sprintf("%d:%d", l.generation(), at), capacity: 30 + 10*int64(at%7), n: 1 + r.Int64N(3)}
	command = []string{"TB.ACQUIRE", in.key, strconv.FormatInt(in.capacity, 10), "1/1d", strconv.FormatInt(in.n, 10)}
	verbs := []verb{acquire, acquire, acquire, acquire, acquire, acquire, upTo, peek, peek, acquire}
	if at%2 == 1 { // on the others only grants count, so that they can simply be summed up
		verbs = []verb{acquire, acquire, acquire, acquire, acquire, upTo, force, peek, refund, refund}
	}
	in.verb = verbs[r.IntN(len(verbs))]
	switch in.verb {
	case upTo:
		command = append(command, "UPTO")
	case force:
		command = append(command, "FORCE")
	case peek:
		command = append(command, "PEEK")
	case refund:
		if r.IntN(20) == 0 {
			in.verb = reset
			return in, []string{"DEL", in.key}
		}
		command = []string{"RL.REFUND", in.key, strconv.FormatInt(in.n, 10)}
	}
	return in, command
}

// isPlain reports whether nothing is ever given back to a key.
func (in input) isPlain() bool {
	var generation, at int
	_, err := fmt.Sscanf(in.key, "%d:%d", &generation, &at)
	return err == nil && at%2 == 0
}

// keep notes an answer.
func (l *load) keep(in input, r reply) {
	l.answered.Add(1)
	var out output
	switch {
	case in.verb == refund && r.kind == '_':
		out.remaining = -1
	case in.verb == refund:
		out.remaining = r.integer
	case in.verb == reset:
		out.granted = r.integer
	case len(r.items) != 5:
		l.t.Errorf("an answer with %d integers to an acquire", len(r.items))
		return
	default:
		out = output{granted: r.items[0].integer, remaining: r.items[2].integer, wait: r.items[3].integer, reset: r.items[4].integer}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.key == steadyKey {
		if out.granted > 0 {
			l.steady = append(l.steady, grant{in.called, in.replied, out.granted})
		}
		return
	}
	l.history = append(l.history, operation(in, out))
}

// lose notes a request of which nobody knows whether it was carried out. One that only looks needs no note.
func (l *load) lose(in input) {
	l.unknown.Add(1)
	if in.key == steadyKey || in.verb == peek {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, operation(in, output{unknown: true}))
}

// checkSums holds the plainest of all promises, without any model: no key to which nothing was given back granted more
// than its limit.
func (l *load) checkSums(t *testing.T) {
	t.Helper()
	sums, limits := map[string]int64{}, map[string]int64{}
	for _, op := range l.history {
		if in := op.Input.(input); in.isPlain() && in.verb != peek && in.verb != refund {
			sums[in.key] += op.Output.(output).granted
			limits[in.key] = in.capacity
		}
	}
	exhausted := 0
	for key, sum := range sums {
		if sum > limits[key] {
			t.Errorf("%s granted %d tokens of %d", key, sum, limits[key])
		}
		if sum == limits[key] {
			exhausted++
		}
	}
	t.Logf("%d keys granted at most their limit, %d of them all of it", len(sums), exhausted)
	if exhausted < len(sums)/10 {
		t.Error("too few keys were exhausted to show anything")
	}
}

// checkRate holds a key that fills up again to its rate: in no span of time was more granted than capacity and rate allow,
// with clockSlack. A grant counts for a span if it was certainly decided in it. Spans begin every half second and end every twentieth of one.
func (l *load) checkRate(t *testing.T) {
	t.Helper()
	perSecond := float64(steadyRate) * 1.0005
	total := int64(0)
	for _, g := range l.steady {
		total += g.tokens
	}
	worst := 0.0
	for from := int64(0); from < l.now(); from += int64(time.Second) / 2 {
		bySpan := map[int64]int64{}
		last := int64(0)
		for _, g := range l.steady {
			if g.called >= from {
				slot := (g.replied - from) / int64(time.Second/20)
				bySpan[slot] += g.tokens
				last = max(last, slot)
			}
		}
		sum := int64(0)
		for slot := range last + 1 {
			sum += bySpan[slot]
			most := steadyCapacity + perSecond*(float64(slot+1)/20+clockSlack.Seconds()) + 1
			worst = max(worst, float64(sum)/most)
			if float64(sum) > most {
				t.Errorf("%d tokens granted in the %d ms from %v on, %.0f at most", sum, (slot+1)*50, time.Duration(from), most)
				return
			}
		}
	}
	t.Logf("of a key that fills up again %d tokens were granted, in no span of time more than its rate allows (%.0f%% of that at most)", total, 100*worst)
}

// canReach reports whether something listens at an address.
func canReach(address string) bool {
	c, err := net.DialTimeout("tcp", address, answerTimeout)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}
