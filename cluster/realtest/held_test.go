//go:build e2e

package realtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// heldLoad is clients whose requests nodes decide from memory, with a ledger of the grants of each key.
type heldLoad struct {
	c       *processes
	began   time.Time
	stopped atomic.Bool
	running sync.WaitGroup

	under, over, changes *limitedKey   // they fill too slowly to have an allowance at the leader
	allowance            []*limitedKey // of the leader: in too little demand to be held by nodes

	answered                 atomic.Int64
	underGrants, otherLocal  atomic.Int64 // otherLocal: answers on other keys that may have been decided from memory
	limitChanges, lentRefund atomic.Int64
	denials                  [2]atomic.Int64 // of the key over its limit, and of keys of the allowance
	lastLimit                atomic.Int64

	local, byAllowance, voided atomic.Int64 // by the counts of the nodes, without the last counts of processes that were killed

	mu     sync.Mutex
	ledger map[*limitedKey][]grant // refunds have tokens below 0
}

const (
	heldClients   = 12 // on three nodes
	allowanceKeys = 4  // of each limit
	// heldRest is the time between faults: a process that has started holds no tokens before the log knows it.
	heldRest = 2 * time.Second
)

func startHeldLoad(c *processes, seed uint64, round int) *heldLoad {
	name := func(s string, i int) string { return fmt.Sprintf("%s-%d-%d", s, round, i) }
	l := &heldLoad{c: c, began: time.Now(), ledger: map[*limitedKey][]grant{},
		under: newLimitedKey("TB.ACQUIRE", name("hot-under", 0), 120_000, 10_000), over: newLimitedKey("TB.ACQUIRE", name("hot-over", 0), 240, 20), changes: newLimitedKey("TB.ACQUIRE", name("hot-changes", 0), 400, 10)}
	for i := range allowanceKeys {
		l.allowance = append(l.allowance, newLimitedKey("TB.ACQUIRE", name("allowance-tb", i), 40, 4), newLimitedKey("LB.ACQUIRE", name("allowance-lb", i), 20, 2), newWindowedKey(name("allowance-fw", i), 60, 5*time.Second))
	}
	for i := range heldClients {
		l.running.Go(func() { l.client(c.nodes[c.names[i%len(c.names)]], rand.New(rand.NewPCG(seed, uint64(2000+i)))) })
	}
	for _, name := range c.names {
		l.running.Go(func() { l.count(c.nodes[name]) })
	}
	return l
}

func (l *heldLoad) stop() {
	l.stopped.Store(true)
	l.running.Wait()
}

func (l *heldLoad) now() int64 { return int64(time.Since(l.began)) }

// onNode calls f on a connection to a node until the load is stopped, on a new one when f reports a broken one.
func (l *heldLoad) onNode(n *node, f func(c *conn) error) {
	for !l.stopped.Load() {
		c, err := dial(n.Address)
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		for err == nil && !l.stopped.Load() {
			err = f(c)
			if isRefused(err) || isUncertain(err) {
				err = nil
			}
		}
		_ = c.Close()
	}
}

func (l *heldLoad) client(n *node, r *rand.Rand) {
	l.onNode(n, func(c *conn) error {
		defer time.Sleep(time.Duration(2+r.IntN(8)) * time.Millisecond) // so that the key under its limit stays there
		switch at := r.IntN(80); {
		case at < 62:
			return l.acquire(c, r, l.under, 1, 5)
		case at < 72:
			return l.acquire(c, r, l.over, 1, 1)
		case at < 77:
			return l.acquire(c, r, l.changes, 1+r.Int64N(2), 1)
		}
		key := l.allowance[r.IntN(len(l.allowance))]
		tokens := 1 + r.Int64N(4)
		if r.IntN(6) == 0 {
			tokens = 1 + r.Int64N(key.capacity) // more than the allowance
		}
		return l.acquire(c, r, key, tokens, 1)
	})
}

// acquire asks for tokens some times in a pipeline, and now and then gives one back.
func (l *heldLoad) acquire(c *conn, r *rand.Rand, key *limitedKey, tokens int64, times int) error {
	words := append(slices.Clone(key.words), strconv.FormatInt(tokens, 10))
	if key == l.changes && l.now()/int64(3*time.Second)%2 == 1 {
		words[2] = strconv.FormatInt(key.capacity/2, 10)
	}
	called := l.now()
	if err := c.send(slices.Repeat([][]string{words}, times)...); err != nil {
		return err
	}
	var failed error
	for range times {
		answer, err := l.read(c, words)
		switch {
		case err == nil:
			l.keep(key, answer, called)
		case isRefused(err) || isUncertain(err):
			failed = err
		default:
			return err
		}
	}
	if failed == nil && key.isHot() && r.IntN(20) == 0 {
		return l.refund(c, key)
	}
	return failed
}

// keep notes an answer to a request of a time.
func (l *heldLoad) keep(key *limitedKey, answer reply, called int64) {
	l.answered.Add(1)
	granted := answer.items[0].integer
	switch {
	case key == l.under:
		l.underGrants.Add(granted)
	case key.isHot():
		l.otherLocal.Add(1)
	}
	if key == l.changes && l.lastLimit.Swap(answer.items[1].integer) != answer.items[1].integer {
		l.limitChanges.Add(1)
	}
	switch {
	case granted > 0:
		l.note(key, grant{called, l.now(), granted})
	case key == l.over:
		l.denials[0].Add(1)
	case !key.isHot():
		l.denials[1].Add(1)
	}
}

// refund gives a token back. A refund with an unknown outcome may be carried out at any time.
func (l *heldLoad) refund(c *conn, key *limitedKey) error {
	info, err := l.exchange(c, []string{"RL.INFO", key.words[1]})
	if err != nil {
		return err
	}
	g := grant{called: l.now(), replied: 1 << 62, tokens: -1}
	defer func() { l.note(key, g) }()
	if _, err := l.exchange(c, []string{"RL.REFUND", key.words[1], "1"}); err != nil {
		return err
	}
	l.answered.Add(1)
	l.otherLocal.Add(1)
	g.replied = l.now()
	if lent := info.field("lent"); lent != "" && lent != "0" {
		l.lentRefund.Add(1)
	}
	return nil
}

func (l *heldLoad) note(key *limitedKey, g grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ledger[key] = append(l.ledger[key], g)
}

func (l *heldLoad) exchange(c *conn, words []string) (reply, error) {
	if err := c.send(words); err != nil {
		return reply{}, err
	}
	return l.read(c, words)
}

// read reads the answer to a command.
func (l *heldLoad) read(c *conn, words []string) (reply, error) {
	answer, err := readReply(c.in)
	var told serverError
	switch {
	case errors.As(err, &told) && !isRefused(err) && !isUncertain(err):
		l.c.t.Errorf("%q is answered with %v", words, err)
	case err == nil && strings.HasSuffix(words[0], "ACQUIRE") && len(answer.items) != 5:
		l.c.t.Errorf("%q is answered with %+v", words, answer)
		err = errors.New("an answer of another length")
	}
	return answer, err
}

// count adds up the counts of a node, over all of its processes.
func (l *heldLoad) count(n *node) {
	sums := map[string]*atomic.Int64{"local_decisions": &l.local, "decided_in_share": &l.byAllowance, "voided_tokens": &l.voided}
	before, pid := map[string]int64{}, ""
	l.onNode(n, func(c *conn) error {
		answer, err := l.exchange(c, []string{"INFO"})
		if err != nil {
			return err
		}
		now := map[string]string{}
		for line := range strings.SplitSeq(answer.text, "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			now[name] = value
		}
		isFirst := pid == ""
		if now["process_id"] != pid {
			before, pid = map[string]int64{}, now["process_id"]
		}
		for name, sum := range sums {
			value, err := strconv.ParseInt(now[name], 10, 64)
			if err != nil {
				l.c.t.Errorf("INFO has %q for %s", now[name], name)
			}
			if !isFirst { // an earlier round has counted
				sum.Add(value - before[name])
			}
			before[name] = value
		}
		time.Sleep(50 * time.Millisecond)
		return nil
	})
}

// allHold reports whether all nodes hold tokens.
func (l *heldLoad) allHold() bool {
	return !slices.ContainsFunc(l.c.names, func(name string) bool {
		answer, err := ask(l.c.nodes[name].Address, "INFO", "cluster")
		return err != nil || !strings.Contains(answer.text, "held_keys:") || strings.Contains(answer.text, "held_keys:0\r\n")
	})
}

// heldRound is the most faults of one ledger, whose check takes longer than the requests if it grows for hours.
const heldRound = 100

// Whatever happens to nodes that decide from memory, no limit is exceeded in any span of time.
func TestFaultsWithHeldTokens(t *testing.T) {
	t.Logf("seed %d", *seed)
	w := &world{startCluster(t, "--cluster-ahead", "1s", "--cluster-log-size", "1mb"), rand.New(rand.NewPCG(*seed, 0))}
	count := max(3, *strikes/4)
	rounds := 1 + count/heldRound
	for round := 0; round < rounds && !t.Failed(); round++ {
		l := startHeldLoad(w.processes, *seed, round)
		await(t, "tokens at all nodes", l.allHold)
		for _, count := range []*atomic.Int64{&l.underGrants, &l.local, &l.otherLocal} {
			count.Store(0) // until now a new cluster's log did not know its processes; the ledger has all grants
		}
		n := w.notLeader()
		w.kill(n)
		n.Start(t)
		struck := w.suffer(&l.answered, heldRest, (count+rounds-1)/rounds, *requests/4/int64(rounds))
		await(t, "every outcome", l.sawAll)
		l.stop()
		t.Logf("%v: %s", time.Since(l.began).Round(time.Second), struck)
		l.check(t)
		l.checkTested(t)
	}
}
