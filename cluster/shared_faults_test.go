package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/testsize"
)

// sharedLimits are limits of all kinds: some refill hardly, slowly or all the time, and some are small.
var sharedLimits = []limits.Limit{
	acquire("", 100, 0).Limit,
	{Algorithm: limits.TokenBucket, Capacity: simCapacity, Rate: limits.Rate{Tokens: 36_000, Period: int64(time.Hour)}},
	{Algorithm: limits.GCRA, Capacity: 4, Rate: limits.Rate{Tokens: 3600, Period: int64(time.Hour)}},
	{Algorithm: limits.LeakyBucket, Capacity: 30, Rate: limits.Rate{Tokens: 7200, Period: int64(time.Hour)}},
	{Algorithm: limits.FixedWindow, Capacity: 40, Rate: limits.Rate{Period: int64(20 * time.Second)}},
}

const sharedUsers = 2 // of each group

// sharedLedger has what clients were granted under limits that all groups share.
type sharedLedger struct {
	keys      [][]byte
	accounts  []account      // of each shared limit
	asking    chan struct{}  // has room for each client that asks; a reset takes all of it
	fresh     []account      // of requests that began after the last reset was acknowledged
	freshAt   []atomic.Int64 // when that was begun, by the log; 0 if none was acknowledged
	own       [faultGroups][sharedUsers]atomic.Int64
	uncertain [faultGroups][sharedUsers]atomic.Int64
	several   atomic.Int64 // grants under a user's limit and shared ones
	granted   atomic.Int64
	denied    atomic.Int64
	other     [engine.KeyChanged + 1]atomic.Int64 // by status
}

func newSharedLedger() *sharedLedger {
	l := &sharedLedger{asking: make(chan struct{}, simClients), accounts: make([]account, len(sharedLimits)), fresh: make([]account, len(sharedLimits)), freshAt: make([]atomic.Int64, len(sharedLimits))}
	for i := range sharedLimits {
		l.keys = append(l.keys, fmt.Appendf(nil, "global:%d", i))
	}
	return l
}

func (l *sharedLedger) limit(i int, tokens int64) engine.Op {
	return engine.Op{Verb: engine.Acquire, Key: l.keys[i], Limit: sharedLimits[i], Tokens: tokens}
}

// user returns a request to a limit with hardly any refill, so that its state shows the sum of its charges.
func (l *sharedLedger) user(group, user int, tokens int64) engine.Op {
	return acquire(string(keyOf(group+1, faultGroups, user)), 100_000, tokens)
}

var sharedPolicy = engine.Op{Verb: engine.SetPolicy, Key: []byte("shared"),
	Parts: []engine.Op{acquire("caller{}", 100_000, 0), {Key: []byte("global:1"), Limit: sharedLimits[1]}}}

func (l *sharedLedger) client(w *world, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for !w.stopped.Load() {
		n := w.toAsk(r)
		if n == nil {
			continue
		}
		switch i, way := r.IntN(len(sharedLimits)), r.IntN(40); way {
		case 0:
			if r.IntN(10) == 0 { // seldom: each allows the capacity once more
				l.reset(w, n, i%2*3)
			}
		case 1, 2, 3, 4, 5:
			l.asking <- struct{}{}
			l.note(do(n, l.limit(i, 1+r.Int64N(2)))[0], i, -1, -1, 0)
			<-l.asking
		case 6:
			do(n, sharedPolicy)
		case 7, 8, 9, 10:
			l.asking <- struct{}{}
			l.note(do(n, engine.Op{Verb: engine.Check, Key: sharedPolicy.Key, Who: []byte(fmt.Sprint(r.IntN(8))), Tokens: 1,
				MaxKey: 64})[0], 1, -1, -1, 0)
			<-l.asking
		case 11:
			op := l.request(r, i, r.IntN(faultGroups), 0, 1)
			op.Options = engine.Peek
			do(n, op)
		default:
			l.asking <- struct{}{}
			l.pipeline(n, r)
			<-l.asking
		}
		time.Sleep(time.Duration(5+r.IntN(60)) * time.Millisecond)
	}
}

// reset resets a shared limit while no requests are under way, so that all later requests are after it.
func (l *sharedLedger) reset(w *world, n *Node, i int) {
	for range simClients {
		select {
		case l.asking <- struct{}{}:
			defer func() { <-l.asking }()
		case <-time.After(5 * time.Second): // another reset takes them
			return
		}
	}
	l.accounts[i].resets.Add(1) // whatever comes of it
	l.freshAt[i].Store(0)
	now := min(time.Now().UnixNano(), w.logTime(l.keys[i]))
	if res := do(n, engine.Op{Verb: engine.Delete, Key: l.keys[i]})[0]; res.Status == engine.OK || res.Status == engine.NotFound {
		l.fresh[i].granted.Store(0)
		l.freshAt[i].Store(now)
	}
}

// logTime is the time of the last entry in the log of a key's group that some node has applied. It may be seconds
// behind the true time, if the leader's clock is behind and a later leader's is not: limits then refill for these
// seconds too.
func (w *world) logTime(key []byte) (last int64) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, n := range w.nodes {
		if g := n.groupOf(uint32(slot.GroupOf(slot.Of(key), faultGroups))); g != nil {
			last = max(last, g.Status().Time)
		}
	}
	return last
}

// grant notes tokens of a shared limit.
func (l *sharedLedger) grant(i int, tokens int64) {
	l.accounts[i].granted.Add(tokens)
	l.fresh[i].granted.Add(tokens)
}

// request asks a user's limit and one or two shared ones.
func (l *sharedLedger) request(r *rand.Rand, i, group, user int, tokens int64) engine.Op {
	op := engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{l.user(group, user, tokens),
		l.limit(i, tokens)}}
	if r.IntN(4) == 0 {
		op.Parts = append(op.Parts, l.limit((i+1)%len(sharedLimits), tokens))
	}
	return op
}

func (l *sharedLedger) pipeline(n *Node, r *rand.Rand) {
	type asked struct{ i, group, user int }
	var ops []engine.Op
	var all []asked
	for range 1 + r.IntN(4) {
		a := asked{r.IntN(len(sharedLimits)), r.IntN(faultGroups), r.IntN(sharedUsers)}
		all, ops = append(all, a), append(ops, l.request(r, a.i, a.group, a.user, 1+r.Int64N(3)))
	}
	for at, res := range do(n, ops...) {
		a := all[at]
		l.note(res, a.i, a.group, a.user, ops[at].Tokens)
		if res.Status == engine.OK && res.Allowed && len(ops[at].Parts) == 3 {
			l.grant((a.i+1)%len(sharedLimits), res.Granted)
		}
	}
}

// sharedCounts returns the counts of all nodes since they were started.
func (w *world) sharedCounts() (all clusterstatus.SharedLimits) {
	for _, n := range w.everStarted {
		c := n.shared.Counts()
		all.Short, all.Denied, all.Lent, all.Returned = all.Short+c.Short, all.Denied+c.Denied, all.Lent+c.Lent,
			all.Returned+c.Returned
	}
	return all
}

// leaveUnspent leaves unspent tokens with the groups, which return them: under a load beyond the limits they have
// hardly any. Two requests of a user bring tokens for both, and then the user's limit allows one.
func (l *sharedLedger) leaveUnspent(n *Node) {
	const tokens = 5
	window := len(sharedLimits) - 1
	time.Sleep(time.Duration(sharedLimits[window].Rate.Period)) // another window begins
	for group := range faultGroups {
		op := engine.Op{Verb: engine.AcquireAll, Tokens: tokens,
			Parts: []engine.Op{acquire(string(keyOf(group+1, faultGroups, sharedUsers)), tokens, tokens),
				l.limit(window, tokens)}}
		for _, res := range do(n, op, op.Clone()) {
			l.note(res, window, -1, -1, 0)
		}
	}
}

// note adds an answer to the ledger, of a user's limit too unless group is below 0.
func (l *sharedLedger) note(res engine.Result, i, group, user int, tokens int64) {
	l.other[res.Status].Add(1)
	switch {
	case res.Status == engine.Uncertain && group >= 0:
		l.uncertain[group][user].Add(tokens)
	case res.Status == engine.OK && res.Allowed:
		l.granted.Add(1)
		if l.grant(i, res.Granted); group >= 0 {
			l.own[group][user].Add(res.Granted)
			l.several.Add(1)
		}
	case res.Status == engine.OK:
		l.denied.Add(1)
	}
}

// all is the number of requests.
func (l *sharedLedger) all() (requests int64) {
	for status := range l.other {
		requests += l.other[status].Load()
	}
	return requests
}

// exceeded returns the grants beyond a shared limit.
func (l *sharedLedger) exceeded(passed time.Duration) error {
	for i := range sharedLimits {
		if err := l.accounts[i].exceeded(l.keys[i], &sharedLimits[i], passed); err != nil {
			return err
		}
		at := l.freshAt[i].Load()
		if at == 0 {
			continue
		}
		if err := l.fresh[i].exceeded(l.keys[i], &sharedLimits[i], time.Since(time.Unix(0, at))); err != nil {
			return fmt.Errorf("since a reset: %w", err)
		}
	}
	return nil
}

// charged compares the charges of users' limits with the grants, once nothing is under way: all or nothing.
func (l *sharedLedger) charged(n *Node) error {
	for group := range faultGroups {
		for user := range sharedUsers {
			op := l.user(group, user, 0)
			res := do(n, engine.Op{Verb: engine.Look, Key: op.Key})[0]
			if res.Status != engine.OK {
				continue
			}
			charged, granted, uncertain := op.Limit.Capacity-res.Remaining, l.own[group][user].Load(),
				l.uncertain[group][user].Load()
			if charged > granted+uncertain || charged < granted-100 { // it refills by a token an hour
				return fmt.Errorf("%s: %d tokens charged, %d granted and %d uncertain", op.Key, charged, granted, uncertain)
			}
		}
	}
	return nil
}

// idle reports tokens that are lent to groups though nobody uses them.
func (l *sharedLedger) idle(n *Node) error {
	for i := range sharedLimits {
		if res := do(n, engine.Op{Verb: engine.Look, Key: l.keys[i]})[0]; res.Status == engine.OK && res.Lent != 0 {
			return fmt.Errorf("%s: %d tokens are still lent", l.keys[i], res.Lent)
		}
	}
	for number, s := range n.opt.KeyStores {
		if s.AwayPurseCount() != 0 {
			return fmt.Errorf("group %d still has %d purses", number+1, s.AwayPurseCount())
		}
	}
	return nil
}

// comesToRest waits until no tokens are lent.
func (l *sharedLedger) comesToRest(w *world) (err error) {
	for range 300 {
		if err = l.idle(w.leader()); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// shown returns an error if the ledger shows nothing, because too little happened.
func (l *sharedLedger) shown(leaderChanges int64, c clusterstatus.SharedLimits) error {
	for i := range l.accounts {
		if l.accounts[i].granted.Load() == 0 {
			return fmt.Errorf("%s granted nothing", l.keys[i])
		}
	}
	for status := range l.other {
		switch engine.Status(status) {
		case engine.OK, engine.Uncertain, engine.NoLeader:
		default:
			if n := l.other[status].Load(); n > 0 {
				return fmt.Errorf("%d requests were answered with status %d", n, status)
			}
		}
	}
	switch {
	case leaderChanges <= faultGroups:
		return fmt.Errorf("leaders changed %d times", leaderChanges)
	case c.Short == 0 || c.Lent == 0 || c.Returned == 0:
		return fmt.Errorf("%d requests found purses short, %d tokens were lent, %d returned", c.Short, c.Lent, c.Returned)
	case l.several.Load() == 0 || l.denied.Load() == 0:
		return fmt.Errorf("%d requests granted, %d denied", l.several.Load(), l.denied.Load())
	}
	return nil
}

// liveShared is liveInGroups with shared limits.
func liveShared(t *testing.T, seed uint64, count, replicas int, names ...string) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{simulated: simulateReplicas(t, replicas, []string{"global:*"}, faultGroups, names...),
			r: rand.New(rand.NewPCG(seed, 1)), began: time.Now()}
		defer w.stop()
		w.sharing.Store(true)
		l := newSharedLedger()
		do(w.leader(), sharedPolicy)
		for i := range simClients {
			w.clients.Go(func() { l.client(w, seed+uint64(i)) })
		}
		err := w.throughFaults(seed, count, l.exceeded)
		if err == nil {
			l.leaveUnspent(w.leader())
			err = l.comesToRest(w)
		}
		if err == nil {
			err = w.agree()
		}
		if err == nil {
			err = l.charged(w.leader())
		}
		if shared := acquire("global:drained", 500, 0); err == nil {
			if got := w.drainShared(seed, shared); got != shared.Limit.Capacity {
				err = fmt.Errorf("%d tokens were granted of %d, after the faults", got, shared.Limit.Capacity)
			}
		}
		if err == nil {
			changes, c := int64(0), w.sharedCounts()
			for _, n := range w.everStarted {
				for _, g := range n.KeyGroups() {
					changes += g.Status().LeaderChanges
				}
			}
			t.Logf("%d of %d requests granted, %d replicas moved", l.granted.Load(), l.all(), w.moved())
			t.Logf("%d leader changes, %d requests over groups granted, %d purses short, %d denied there, %d tokens lent, %d returned", changes, l.several.Load(), c.Short, c.Denied, c.Lent, c.Returned)
			err = l.shown(changes, c)
		}
		if err != nil {
			w.describe()
			for name, n := range w.nodes { // the time by which limits refill may have been behind, and then caught up
				for number, g := range n.KeyGroups() {
					t.Logf("%s, group %d: applied %v and knows %v after the time", name, number,
						time.Until(time.Unix(0, g.Status().Time)), time.Until(time.Unix(0, g.Now())))
				}
			}
			for status := range l.other {
				if n := l.other[status].Load(); n > 0 {
					t.Logf("status %d: %d", status, n)
				}
			}
			t.Error(err)
		}
	})
}

// With shared limits, after any fault, no limit of any group is granted more than one exact limiter would have granted,
// a request is charged to all of its limits or to none, lent tokens come back, and the replicas agree.
func TestFaultsOfSharedLimits(t *testing.T) { liveSharedRounds(t, 0) }

// The same with three replicas of each group on five nodes, which move.
func TestFaultsOfSharedLimitsWithReplicas(t *testing.T) { liveSharedRounds(t, 3) }

func liveSharedRounds(t *testing.T, replicas int) {
	for round := range max(1, *simSharedFaults/faultsPerCluster) {
		liveShared(t, testsize.Seed()+uint64(round), min(*simSharedFaults, faultsPerCluster), replicas, "a", "b", "c", "d", "e")
	}
}
