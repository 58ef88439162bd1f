//go:build e2e

package realtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testwait"
)

// Requests with an id are sent again until their outcome is known, and again after that. So when all is over, there is an
// exact ledger of what each limit must have granted, whatever happened to nodes and answers in between.

const (
	reservers      = 8  // each with two callers
	reservedKeys   = 4  // in use at a time
	reservedIDs    = 60 // ask for more than all of them have; then others are used
	reservedLimit  = 16
	reservedRate   = "1/500d" // no token comes back while a test runs
	reservedWindow = "3650d"
	reservedFor    = "10m"
	reservePolicy  = "reserved"
)

// reservedKey is one of the keys in use: half of them are buckets and half windows, and half of each may go into debt.
type reservedKey struct {
	generation int64
	at         int
}

func (k reservedKey) String() string  { return "reserved-" + k.kind() + "-" + k.field() }
func (k reservedKey) field() string   { return fmt.Sprintf("%d-%d", k.generation, k.at) }
func (k reservedKey) isBucket() bool  { return k.at%2 == 0 }
func (k reservedKey) mayBeOver() bool { return k.at >= reservedKeys/2 }

func (k reservedKey) kind() string {
	if k.isBucket() {
		return "bucket"
	}
	return "window"
}

// words are those of the key's limit.
func (k reservedKey) words() []string {
	if k.isBucket() {
		return []string{"TB", k.String(), fmt.Sprint(reservedLimit), reservedRate}
	}
	return []string{"FW", k.String(), fmt.Sprint(reservedLimit), reservedWindow}
}

// ledger is the charge of each key, as far as the outcomes of requests are known.
type ledger struct {
	t       testing.TB
	c       *processes
	stopped atomic.Bool
	running sync.WaitGroup

	ids atomic.Int64

	mu      sync.Mutex
	charged map[reservedKey]int64
	count   map[string]int
}

func startReservers(c *processes, seed uint64) *ledger {
	l := &ledger{t: c.t, c: c, charged: map[reservedKey]int64{}, count: map[string]int{}}
	policy := []string{"RL.POLICY", "SET", reservePolicy, "TB", "reserved-bucket-{one}", fmt.Sprint(reservedLimit), reservedRate, "FW", "reserved-window-{two}", fmt.Sprint(reservedLimit), reservedWindow}
	asks := l.newCaller(rand.New(rand.NewPCG(seed, 999)))
	defer asks.hangUp()
	if _, err, _ := asks.untilDecided(policy...); err != nil {
		c.t.Fatal(err)
	}
	for i := range reservers {
		l.running.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(1000+i)))
			work := &reserver{ledger: l, r: r}
			for j := range work.callers {
				work.callers[j] = l.newCaller(rand.New(rand.NewPCG(seed, r.Uint64())))
				defer work.callers[j].hangUp()
			}
			for n := 0; !l.stopped.Load() && !l.t.Failed(); n++ {
				work.reserve(fmt.Sprintf("id-%d-%d", i, n))
				time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
			}
		})
	}
	return l
}

func (l *ledger) stop() {
	l.stopped.Store(true)
	l.running.Wait()
}

// Outcomes that are counted.
const (
	wasGranted        = "granted"
	wasDenied         = "denied"
	wasAskedTwice     = "asked twice at once"
	wasSettled        = "settled"
	wasCanceled       = "canceled"
	wasSettledTwoWays = "settled in two ways at once"
)

func (l *ledger) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[what]++
}

// sawAll reports whether there was every outcome; without one, the test shows too little.
func (l *ledger) sawAll() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc([]string{wasGranted, wasDenied, wasAskedTwice, wasSettled, wasCanceled, wasSettledTwoWays}, func(what string) bool { return l.count[what] == 0 })
}

// check compares the rest of every key with the ledger, as the leader has it; and on each node for the last keys.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	last := int64(0)
	for key := range l.charged {
		last = max(last, key.generation)
	}
	asks := l.newCaller(rand.New(rand.NewPCG(1, 1)))
	defer asks.hangUp()
	total, used := int64(0), 0
	for key, charged := range l.charged {
		total += charged
		if charged >= reservedLimit {
			used++
		}
		if charged > reservedLimit && !key.mayBeOver() {
			t.Errorf("%v is charged %d tokens of %d", key, charged, reservedLimit)
		}
		r, err, _ := asks.untilDecided("RL.INFO", key.String())
		if got := taken(r); err != nil || got != fmt.Sprint(charged) {
			t.Errorf("%v has taken %s, and was charged %d (%v)", key, got, charged, err)
		}
		for _, name := range l.c.names {
			if key.generation >= last-1 {
				await(t, fmt.Sprintf("%s to have %d taken of %v", name, charged, key), func() bool { return l.c.takenLocally(name, key.String()) == fmt.Sprint(charged) })
			}
		}
	}
	t.Logf("%d tokens charged to %d keys, as the ledger has it, %d keys used up; ids and answers: %v", total, len(l.charged), used, l.count)
}

// taken is the taken tokens in a reply to RL.INFO, 0 without a limiter.
func taken(r reply) string {
	if r.kind == '_' {
		return "0"
	}
	return r.field("taken")
}

// takenLocally is the taken tokens in a node's own state.
func (c *processes) takenLocally(name, key string) string {
	conn, err := dial(c.nodes[name].Address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if err := conn.send([]string{"READONLY"}, []string{"RL.INFO", key}); err != nil {
		return err.Error()
	}
	if _, err = readReply(conn.in); err != nil {
		return err.Error()
	}
	r, err := readReply(conn.in)
	if err != nil {
		return err.Error()
	}
	return taken(r)
}

// caller asks one request after the other, at any node.
type caller struct {
	*ledger
	r     *rand.Rand
	conns map[string]*conn
}

func (l *ledger) newCaller(r *rand.Rand) *caller {
	return &caller{ledger: l, r: r, conns: map[string]*conn{}}
}

func (c *caller) hangUp() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

var errUndecided = errors.New("not decided yet")

// untilDecided sends a command to one node after the other until one knows the outcome. It reports whether an earlier one
// may have been carried out.
func (c *caller) untilDecided(command ...string) (r reply, err error, unsure bool) {
	isDecided := func() (is bool) {
		n := c.c.nodes[c.c.names[c.r.IntN(len(c.c.names))]]
		conn := c.conns[n.name]
		if conn == nil || conn.isOver() {
			if conn, err = dial(n.Address); err != nil {
				return false
			}
			c.conns[n.name] = conn
		}
		if err = conn.send(command); err == nil {
			r, err = readReply(conn.in)
		}
		var told serverError
		switch {
		case err == nil, errors.As(err, &told) && !isRefused(err) && !isUncertain(err):
			return true
		case isRefused(err):
			return false
		case !isUncertain(err):
			_ = conn.Close()
			delete(c.conns, n.name)
		}
		unsure = true
		c.note("answers lost")
		return false
	}
	if testwait.Poll(func() error {
		if !isDecided() {
			return errUndecided
		}
		return nil
	}) != nil {
		c.t.Errorf("%q is not decided within %v: %v", command, testwait.Limit, err)
	}
	return r, err, unsure
}

// says reports whether an error begins so.
func says(err error, beginning string) bool {
	return err != nil && strings.HasPrefix(err.Error(), beginning)
}
