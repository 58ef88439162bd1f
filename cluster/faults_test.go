package cluster

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
)

var (
	simFaults = flag.Int("faults", 20, "faults that the simulation goes through; more in CI, far more every night")
	// simGroupFaults is for clusters with groups of keys, of three nodes and of five by turns.
	simGroupFaults = flag.Int("group-faults", 10, "faults that the simulation of several groups goes through")
	// simSharedFaults is for clusters of five nodes and four groups, whose limits all groups share.
	simSharedFaults = flag.Int("shared-faults", 10, "faults that the simulation of shared limits goes through")
	simSeed         = flag.Uint64("sim-seed", testsize.Seed(),
		"seed of the faults and the load; goroutines are still scheduled as they come")
)

// faultsPerCluster is how many faults one simulated cluster lives through before another is made.
const faultsPerCluster = 100

// world is a simulated cluster with clients, and a ledger of their grants.
type world struct {
	*simulated
	r     *rand.Rand
	began time.Time

	mu        sync.RWMutex // of nodes, which clients use while faults replace them
	accounts  [simKeys]account
	answers   [5]atomic.Int64 // granted, denied, uncertain, no leader, other
	scripts   [3]atomic.Int64 // ended, not known, failed
	hot       hotKeys
	stopped   atomic.Bool
	allowance allowanceLedger
	mixed     mixedCounts
	places    places
	clients   sync.WaitGroup
	paused    atomic.Bool
}

const (
	simKeys     = 6
	simCapacity = 500
	simClients  = 6
)

// simRate returns how many tokens an hour a key gets: from nearly none to enough for grants all the time.
func simRate(key int) int64 { return []int64{1, 60, 600, 3600, 3600, 36_000}[key] }

func simOp(key int, tokens int64) engine.Op {
	op := acquire(fmt.Sprint("k", key), simCapacity, tokens)
	op.Limit.Rate.Tokens = simRate(key)
	return op
}

// anyOp returns an operation of any other kind, on separate keys, so that all of a node's state is compared.
func anyOp(r *rand.Rand) engine.Op {
	key := []byte(fmt.Sprint("other", r.IntN(8)))
	limit := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 20, Rate: limits.Rate{Period: int64(time.Minute)}}
	if r.IntN(3) == 0 {
		key = append(key, " of segments"...)
		limit = limits.Limit{Algorithm: limits.SlidingSegments, Segments: 6, Capacity: 20, Rate: limits.Rate{Period: int64(time.Minute)}}
	}
	id := []byte(fmt.Sprint("id", r.IntN(8)))
	switch r.IntN(36) {
	case 34, 35:
		return engine.Op{Verb: engine.Acquire, Key: append(key, " that rolls over"...), Tokens: 2, Limit: limits.Limit{Algorithm: limits.FixedWindow,
			Span: limits.Aligned, History: 2, Rollover: 50, Capacity: 20, Rate: limits.Rate{Period: int64(5 * time.Second)}}}
	case 28, 29, 30, 31, 32, 33:
		op, _ := randomShared(r)
		return op
	case 24, 25, 26, 27:
		return randomLoan(r)
	case 18:
		return randomCredits(r, id)
	case 19, 20:
		request := engine.Op{Verb: engine.AcquireAll, Tokens: 2, Parts: []engine.Op{{Key: key, Limit: limit, Tokens: 2},
			acquire(fmt.Sprint("meter", r.IntN(4)), 20, 2)}}
		return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: int64(10 * time.Second), Parts: []engine.Op{request}}
	case 21, 22, 23:
		if r.IntN(2) == 0 {
			return engine.Op{Verb: engine.Extend, Key: id, Nth: 1 + r.Uint32N(2), Tokens: 1 + r.Int64N(4),
				Options: engine.UpTo * engine.Option(r.IntN(2))}
		}
		return engine.Op{Verb: engine.Settle, Key: id, Tokens: r.Int64N(5), Options: engine.Cancel * engine.Option(r.IntN(2))}
	case 9, 10, 11:
		return operation("SET", fmt.Sprint("other", r.IntN(16)), strings.Repeat("x", r.IntN(20)), "EX",
			fmt.Sprint(1+r.IntN(20)))
	case 12, 13, 14, 15, 16, 17:
		return randomScript(r)
	case 0:
		return engine.Op{Verb: engine.Delete, Key: key}
	case 1:
		return engine.Op{Verb: engine.Refund, Key: key, Tokens: 2}
	case 2:
		return engine.Op{Verb: engine.SetPolicy, Key: []byte("policy"),
			Parts: []engine.Op{{Key: []byte("other{}"), Limit: limit}}}
	case 3:
		return engine.Op{Verb: engine.Check, Key: []byte("policy"), Who: []byte(fmt.Sprint(r.IntN(8))), Tokens: 1}
	case 4:
		return engine.Op{Verb: engine.Restrict, Key: []byte("other"), Who: []byte("1"), NewKeys: engine.NewKeys(r.IntN(4))}
	case 5:
		return engine.Op{Verb: engine.Look, Key: key}
	}
	return engine.Op{Verb: engine.Acquire, Key: key, Tokens: 1, Limit: limit}
}

// randomCredits adds credits to a balance, or takes what a meter cannot give from it.
func randomCredits(r *rand.Rand, id []byte) engine.Op {
	balance := engine.Op{Key: []byte("credits"), Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: 4}
	request := engine.Op{Verb: engine.AcquireAll, Tokens: 4,
		Parts: []engine.Op{acquire(fmt.Sprint("meter", r.IntN(4)), 20, 4), balance}}
	request.Parts[1].Options = engine.Else
	if r.IntN(3) == 0 {
		request, id = balance, fmt.Append(nil, "payment", r.IntN(40))
		request.Verb = engine.AddCredits
	}
	return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: int64(10 * time.Second), Parts: []engine.Op{request}}
}

// randomLoan returns an operation on the loans of a few limiters. There are few numbers, so many operations follow the
// last one.
func randomLoan(r *rand.Rand) engine.Op {
	number := 1 + r.Uint64N(4)
	op := acquire(fmt.Sprint("meter", r.IntN(4)), 20, 1+r.Int64N(4))
	op.Who, op.Loan = []byte(fmt.Sprint("holder", r.IntN(3))), &engine.Loan{Number: number, Previous: number - 1,
		Left: r.Int64N(2)}
	switch r.IntN(8) {
	case 0:
		return engine.Op{Verb: engine.Return, Key: op.Key, Who: op.Who, Loan: op.Loan}
	case 1:
		return engine.Op{Verb: engine.Void, Key: op.Key, Who: op.Who, Options: engine.Force}
	case 2:
		return engine.Op{Verb: engine.Delete, Key: op.Key}
	case 3:
		return engine.Op{Verb: engine.Loans, Key: op.Key}
	case 4, 5:
		op.MaxWait = int64(time.Second)
	}
	op.Verb = engine.Lend
	return op
}

// toAsk returns a random node, or nil after a moment if the node is down or clients pause.
func (w *world) toAsk(r *rand.Rand) *Node {
	w.mu.RLock()
	n := w.nodes[w.names[r.IntN(len(w.names))]]
	w.mu.RUnlock()
	if n == nil || w.paused.Load() {
		time.Sleep(10 * time.Millisecond)
		return nil
	}
	return n
}

// client takes tokens at random nodes until the world ends.
func (w *world) client(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for !w.stopped.Load() {
		n := w.toAsk(r)
		if n == nil {
			continue
		}
		if r.IntN(2) == 0 {
			w.allowance.ask(n, r)
			time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
			continue
		}
		var ops []engine.Op
		var keys []int
		for range 1 + r.IntN(3) {
			keys = append(keys, r.IntN(simKeys))
			op := simOp(keys[len(keys)-1], 1+r.Int64N(3))
			if r.IntN(3) == 0 {
				op.Options = engine.Spread
			}
			ops = append(ops, op)
		}
		checked := len(ops)
		if r.IntN(5) == 0 {
			ops = append(ops, anyOp(r))
		}
		results := do(n, ops...)
		w.countScripts(ops[checked:], results[checked:])
		for i, res := range results[:checked] {
			switch {
			case res.Status == engine.OK && res.Allowed:
				w.accounts[keys[i]].granted.Add(res.Granted)
				w.answers[0].Add(1)
			case res.Status == engine.OK:
				w.answers[1].Add(1)
			case res.Status == engine.Uncertain:
				w.answers[2].Add(1)
			case res.Status == engine.NoLeader:
				w.answers[3].Add(1)
			default:
				w.answers[4].Add(1)
			}
		}
		time.Sleep(time.Duration(5+r.IntN(60)) * time.Millisecond)
	}
}

// check compares the grants with what one exact limiter could have granted in the elapsed real time.
func (w *world) check() error {
	passed := time.Since(w.began)
	for name, n := range w.nodes {
		ahead := n.Group().Status().Time - time.Now().UnixNano() // the first leader's clock was right
		if ahead > int64(passed)/1_000_000*clock.SlewPartsPerMillion {
			return fmt.Errorf("%s: the cluster's clock is %v ahead", name, time.Duration(ahead))
		}
	}
	for key := range simKeys {
		op := simOp(key, 0)
		if err := w.accounts[key].exceeded(string(op.Key), &op.Limit, passed); err != nil {
			return err
		}
	}
	return w.checkHot(passed)
}

// agree waits until all nodes have applied everything, and compares their states.
func (w *world) agree() error {
	if w.replicas > 0 {
		if err := w.untilPlaced(w.groups, w.replicas); err != nil {
			return err
		}
	}
	for number := range w.groups + 1 {
		if err := w.agreeIn(uint32(number)); err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
	}
	return nil
}

// agreeIn is agree for one group.
func (w *world) agreeIn(number uint32) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	leader := w.leaderOf(number).groupOf(number)
	want, first := "", ""
	index := leader.Status().AppliedIndex
	names := w.withReplica(number)
	for _, name := range names {
		for n := w.nodes[name]; n.groupOf(number) == nil || n.groupOf(number).Status().AppliedIndex < index ||
			n.groupOf(number).Status().ClusterID == ""; {
			if ctx.Err() != nil {
				return fmt.Errorf("%s is not at entry %d after a minute without faults", name, index)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	// Nothing is asked while states are compared, but a tick may come between two looks: then look again.
	for range 50 {
		same := true
		synctest.Wait() // no node is in the middle of an entry
		applied := leader.Status().AppliedIndex
		for i, name := range names {
			n := w.nodes[name]
			keys, g := w.storeOf(name, number), n.groupOf(number)
			got := fmt.Sprint(g.Status().Time, keys.OwnTimes.Last(), g.Cluster(), keys.Digest(g.Status().Time))
			same = same && g.Status().AppliedIndex == applied
			if key := keyReadLate(keys); key != "" {
				return fmt.Errorf("%s has the key %q: an operation was read after Decide had returned", name, key)
			}
			if i == 0 {
				want, first = got, name
			} else if got != want && same {
				return fmt.Errorf("%s and %s differ at entry %d:\n%s\n%s\n%s%s", first, name, applied, want, got,
					difference(w.storeOf(first, number), keys, g.Status().Time), w.later(number))
			}
		}
		if same {
			return nil
		}
		time.Sleep(37 * time.Millisecond)
	}
	return fmt.Errorf("the nodes do not come to rest at one entry")
}

// withReplica returns the nodes that have a replica of a group, or are to have one.
func (w *world) withReplica(number uint32) (names []string) {
	on := w.leaderOf(0).first.Cluster().Placement.Of(int(number))
	if on == nil {
		return w.names
	}
	for _, id := range on {
		names = append(names, raftnode.NodeName(id))
	}
	return names
}

// storeOf returns a node's store of a group.
func (w *world) storeOf(name string, number uint32) *store.Store {
	if number == 0 {
		return w.nodes[name].opt.Store
	}
	return w.nodes[name].opt.KeyStores[number-1]
}

// later shows each replica's indexes in Raft's log and its state, at once and 5 s later: replicas that agree then only
// lacked entries, and others have applied a different log.
func (w *world) later(number uint32) (text string) {
	for range 2 {
		for _, name := range w.withReplica(number) {
			g := w.nodes[name].groupOf(number)
			s, stats := g.Status(), g.Parts().Raft.Stats()
			text += fmt.Sprintf("%s, %s: snapshot %s, applied %s and %d of %s, time %d, %x\n", name, s.State,
				stats["last_snapshot_index"], stats["applied_index"], s.AppliedIndex, stats["last_log_index"], s.Time,
				w.storeOf(name, number).Digest(s.Time))
		}
		time.Sleep(5 * time.Second)
	}
	return text
}

// difference lists the differences of two stores that show in their digests.
func difference(a, b *store.Store, now int64) (text string) {
	entries := func(s *store.Store) map[string]string {
		all := map[string]string{}
		s.Dump(now, func(e keyspace.Entry) { all[string(e.Key)] = fmt.Sprintf("%+v %x", e.Limit, e.State) })
		s.PolicyOps(func(op *engine.Op) {
			all[fmt.Sprintf("policy %d %q %q", op.Verb, op.Key, op.Who)] = fmt.Sprintf("%+v", *op)
		})
		return all
	}
	left, right := entries(a), entries(b)
	for key, has := range left {
		if right[key] != has {
			text += fmt.Sprintf("%q: %q and %q\n", key, has, right[key])
		}
		delete(right, key)
	}
	for key, has := range right {
		text += fmt.Sprintf("%q: nothing and %q\n", key, has)
	}
	return text
}

// whole waits until every node votes in every group and has the entry that says so: a node that is wiped before would
// leave no majority that remembers. The leader may be the only node with that entry, or have one voter fewer than the
// others. Raft refuses its vote to a candidate that is no voter in its own, older, configuration.
func (w *world) whole() {
	for number := range w.groups + 1 {
		w.wholeIn(uint32(number))
	}
}

// wholeIn is whole for one group.
func (w *world) wholeIn(number uint32) {
	for range 6000 {
		voters, votes := 0, keygroups.Votes(w.leaderOf(number).groupOf(number))
		for id, is := range votes {
			n := w.nodes[raftnode.NodeName(id)]
			if is && n != nil && n.id == placement.Node(id) && n.groupOf(number) != nil &&
				maps.Equal(keygroups.Votes(n.groupOf(number)), votes) {
				voters++
			}
		}
		if voters == len(w.withReplica(number)) && voters == len(votes) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.showReplicas(number)
	w.t.Fatal("not every node votes after a minute without faults")
}

// live lets one simulated cluster live through faults.
func live(t *testing.T, seed uint64, count int, hot *hotKeys) (struck map[string]int, answers [5]int64,
	scripts [3]int64) {
	struck = map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 0))
		names := []string{"a", "b", "c"}
		if r.IntN(4) == 0 {
			names = append(names, "d", "e")
		}
		w := &world{simulated: simulateWith(t, func(s *simulated) { s.messenger = newLateMessages(seed) }, names...), r: r,
			began: time.Now()}
		defer w.stop()
		w.hold(time.Second)
		w.sharing.Store(true)
		// the clock has been 2.1 s behind
		w.allowance = allowanceLedger{limits: slowLimits, ids: 3, common: commonLimits, slack: 3 * time.Second}
		do(w.leader(), w.allowance.policy(r))
		do(w.leader(), w.allowance.mixedPolicy())
		for i := range hotClients {
			w.clients.Go(func() { w.hotClient(seed + uint64(i)) })
		}
		for i := range simClients {
			w.clients.Go(func() { w.client(seed + uint64(i)) })
		}
		w.clients.Go(func() { w.mixedClient(seed) })
		for i := range 2 * placeCount {
			w.clients.Go(func() { w.placeClient(seed + uint64(i)) })
		}
		last := ""
		for i := range count {
			f := faults[r.IntN(len(faults))]
			last = f.name
			struck[f.name]++
			mend := f.strike(w)
			time.Sleep(time.Duration(100+r.IntN(2500)) * time.Millisecond)
			mend()
			w.leader()
			err := w.check()
			if err == nil {
				err = cmp.Or(w.allowance.check(), w.places.check())
			}
			if err == nil && i%10 == 9 {
				err = w.settleAndCompare()
			}
			if err != nil {
				w.stopped.Store(true)
				w.describe()
				t.Errorf("after %d faults, the last '%s' (seed %d): %v", i+1, f.name, seed, err)
				break
			}
		}
		w.stopped.Store(true)
		w.clients.Wait()
		if !t.Failed() {
			if err := w.agree(); err != nil {
				t.Errorf("at the end, after '%s' (seed %d): %v", last, seed, err)
			}
		}
		w.stop() // counts voided tokens
		hot.add(&w.hot)
		if leases := w.places.leases.Load(); leases < int64(count) && !t.Failed() {
			t.Errorf("only %d leases were granted", leases)
		}
		for i := range w.answers {
			answers[i] = w.answers[i].Load()
		}
		scripts = w.scriptCounts()
	})
	return struck, answers, scripts
}

// describe logs the state of every node. It helps with failures that the seed alone does not repeat.
func (w *world) describe() {
	for _, name := range w.names {
		if n := w.nodes[name]; n != nil {
			w.t.Logf("%s (%s): isolated %v, status %+v, members %v, Raft %v", name, n.id, n.conns.IsIsolated(),
				n.Group().Status(), n.Group().Members(), n.Group().Parts().Raft.Stats())
		}
	}
}

// settleAndCompare stops the clients for a moment and compares the nodes.
func (w *world) settleAndCompare() error {
	w.paused.Store(true)
	defer w.paused.Store(false)
	time.Sleep(1200 * time.Millisecond) // longer than any call takes
	return w.agree()
}

// listed lists faults by their names.
func listed(struck map[string]int) string {
	var names []string
	total := 0
	for name, n := range struck {
		names, total = append(names, fmt.Sprintf("%s %d", name, n)), total+n
	}
	slices.Sort(names)
	return fmt.Sprintf("%d faults (%s)", total, strings.Join(names, ", "))
}

// After any fault nodes agree on the state, and no more is granted than one exact limiter would have granted.
func TestFaults(t *testing.T) {
	total, all := 0, map[string]int{}
	var answers [5]int64
	var scripts [3]int64
	var hot hotKeys
	for round := uint64(0); total < *simFaults && !t.Failed(); round++ {
		count := min(faultsPerCluster, *simFaults-total)
		struck, got, ran := live(t, *simSeed+round, count, &hot)
		for name, n := range struck {
			all[name] += n
			total += n
		}
		for i := range got {
			answers[i] += got[i]
		}
		for i := range ran {
			scripts[i] += ran[i]
		}
	}
	t.Logf("seed %d: %s", *simSeed, listed(all))
	t.Logf("%d granted, %d denied, %d uncertain, %d without a leader, %d other", answers[0], answers[1], answers[2],
		answers[3], answers[4])
	t.Logf("hot key: %d of %d grants local; %d tokens voided, %d of %d refunds local", hot.local.Load(), hot.grants.Load(),
		hot.voided.Load(), hot.localRef.Load(), hot.refunds.Load())
	if err := hot.tested(total); err != nil && !t.Failed() && total >= faultsPerCluster {
		t.Error(err)
	}
	t.Logf("%d scripts ended, %d were not known, %d failed", scripts[0], scripts[1], scripts[2])
	if !t.Failed() && total >= 2*faultsPerCluster && slices.Min(scripts[:]) == 0 {
		t.Error("too few scripts were run to show anything")
	}
	if !t.Failed() && (answers[0] < int64(total) || answers[4] > 0) {
		t.Error("too little was decided to show anything, or something else went wrong")
	}
}
