package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/testsize"
)

const (
	faultGroups = 4
	groupKeys   = 3 // keys of each group with a ledger
)

// groupLedger has what a cluster with groups of keys granted to clients.
type groupLedger struct {
	keys     [faultGroups][groupKeys][]byte
	accounts [faultGroups][groupKeys]account
	checked  [groupKeys]account // by the policy, for callers whose keys are in different groups
	refused  atomic.Int64       // operations with keys of several groups
	whole    atomic.Int64       // transactions and requests for several limits that were granted
	wrong    atomic.Pointer[string]
}

func (l *groupLedger) op(group, key int, tokens int64) engine.Op {
	op := acquire(string(l.keys[group][key]), simCapacity, tokens)
	op.Limit.Rate.Tokens = simRate(key + 1)
	return op
}

var groupPolicy = engine.Op{Verb: engine.SetPolicy, Key: []byte("by-group"),
	Parts: []engine.Op{acquire("checked{}", simCapacity, 0)}}

// client asks for keys of all groups at random nodes until the world ends.
func (l *groupLedger) client(w *world, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	for !w.stopped.Load() {
		n := w.toAsk(r)
		if n == nil {
			continue
		}
		switch r.IntN(6) {
		case 0:
			l.several(n, r)
		case 1:
			l.check(n, r)
		case 2:
			do(n, anyOp(r), groupPolicy)
		default:
			l.split(n, r)
		}
		time.Sleep(time.Duration(5+r.IntN(60)) * time.Millisecond)
	}
}

// split asks for keys of several groups in one batch.
func (l *groupLedger) split(n *Node, r *rand.Rand) {
	var ops []engine.Op
	var at [][2]int
	for range 1 + r.IntN(4) {
		g, k := r.IntN(faultGroups), r.IntN(groupKeys)
		ops, at = append(ops, l.op(g, k, 1+r.Int64N(3))), append(at, [2]int{g, k})
	}
	for i, res := range do(n, ops...) {
		if res.Status == engine.OK && res.Allowed {
			l.accounts[at[i][0]][at[i][1]].granted.Add(res.Granted)
		}
	}
}

// several asks for two limits at once, in one request or in a transaction.
func (l *groupLedger) several(n *Node, r *rand.Rand) {
	g, other := r.IntN(faultGroups), r.IntN(faultGroups)
	ops := []engine.Op{l.op(g, 0, 1), l.op(other, 1, 1)}
	b := &engine.Batch{Atomic: true, Ops: ops}
	if r.IntN(2) == 0 {
		b = &engine.Batch{Ops: []engine.Op{{Verb: engine.AcquireAll, Tokens: 1, Parts: ops}}}
	}
	results := doBatch(n, b)
	if g != other {
		// which a node answers before the groups begin on it
		if s := results[0].Status; s != engine.CrossSlot && s != engine.NoLeader {
			wrong := fmt.Sprintf("keys of groups %d and %d together: status %d", g+1, other+1, results[0].Status)
			l.wrong.CompareAndSwap(nil, &wrong)
		}
		l.refused.Add(1)
		return
	}
	for i := range ops {
		res := &results[min(i, len(results)-1)]
		if res.Status == engine.OK && res.Allowed {
			l.accounts[g][i].granted.Add(1)
			l.whole.Add(1)
		}
	}
}

// check asks the policy.
func (l *groupLedger) check(n *Node, r *rand.Rand) {
	caller := r.IntN(groupKeys)
	res := do(n, engine.Op{Verb: engine.Check, Key: groupPolicy.Key, Who: []byte(fmt.Sprint(caller)), Tokens: 1,
		MaxKey: 64})[0]
	switch {
	case res.Status == engine.OK && res.Allowed:
		l.checked[caller].granted.Add(1)
	case res.Status == engine.CrossSlot:
		wrong := "a check of one key was answered with CROSSSLOT"
		l.wrong.CompareAndSwap(nil, &wrong)
	}
}

// exceeded returns the grants beyond a limit, and the wrong answers.
func (l *groupLedger) exceeded(passed time.Duration) error {
	if wrong := l.wrong.Load(); wrong != nil {
		return fmt.Errorf("%s", *wrong)
	}
	for g := range faultGroups {
		for k := range groupKeys {
			op := l.op(g, k, 0)
			if err := l.accounts[g][k].exceeded(string(op.Key), &op.Limit, passed); err != nil {
				return err
			}
		}
	}
	for caller := range groupKeys {
		name := fmt.Sprint("checks of the caller ", caller)
		if err := l.checked[caller].exceeded(name, &groupPolicy.Parts[0].Limit, passed); err != nil {
			return err
		}
	}
	return nil
}

// shown returns an error if the ledger shows nothing, because too little happened.
func (l *groupLedger) shown(leaderChanges int64) error {
	for g := range faultGroups {
		all := int64(0)
		for k := range groupKeys {
			all += l.accounts[g][k].granted.Load()
		}
		if all == 0 {
			return fmt.Errorf("group %d granted nothing", g+1)
		}
	}
	groups := map[int]bool{}
	for caller := range groupKeys {
		groups[slot.GroupOf(slot.Of(fmt.Append(nil, "checked", caller)), faultGroups)] = l.checked[caller].granted.Load() > 0
	}
	switch {
	case leaderChanges <= faultGroups:
		return fmt.Errorf("leaders changed %d times", leaderChanges)
	case l.refused.Load() == 0 || l.whole.Load() == 0:
		return fmt.Errorf("%d requests over several groups, %d in one", l.refused.Load(), l.whole.Load())
	case len(groups) < 2:
		return fmt.Errorf("the policy's keys are in one group")
	}
	return nil
}

// throughFaults lets faults happen to a world of groups until the count is reached or a check fails, and then ends its
// clients.
func (w *world) throughFaults(seed uint64, count int, exceeded func(passed time.Duration) error) (err error) {
	struck := map[string]int{}
	defer func() { w.t.Logf("seed %d: %s", seed, listed(struck)) }()
	for i := 0; i < count && err == nil; i++ {
		if w.replicas > 0 && (i == 0 || w.r.IntN(2) == 0) {
			w.moveReplica()
		}
		f := faults[w.r.IntN(len(faults))]
		struck[f.name]++
		mend := f.strike(w)
		time.Sleep(time.Duration(100+w.r.IntN(2500)) * time.Millisecond)
		mend()
		for number := range faultGroups + 1 {
			w.leaderOf(uint32(number))
		}
		if err = cmp.Or(exceeded(time.Since(w.began)), w.places.check()); err == nil && i%10 == 9 {
			err = w.settleAndCompare()
		}
		if err == nil && i == 4 && w.replicas > 0 {
			err = w.staysPlaced()
		}
		if err != nil {
			err = fmt.Errorf("after %d faults, the last '%s' (seed %d): %w", i+1, f.name, seed, err)
		}
	}
	w.stopped.Store(true)
	w.clients.Wait()
	return err
}

// moveReplica gives a group a replica on another node. The placer then removes a replica, and moves others until all
// nodes have the same number.
func (w *world) moveReplica() {
	first := w.leader().first
	t, nodes := first.Cluster().Placement, first.Members()
	var to raft.ServerID
	number := 0
	for tries := 0; to == "" && tries < 20; tries++ {
		number = 1 + w.r.IntN(len(t.Groups))
		votes, id := keygroups.Votes(w.leaderOf(uint32(number)).groupOf(uint32(number))), nodes[w.r.IntN(len(nodes))].ID
		isOn := slices.ContainsFunc(t.Of(number), func(r raft.ServerID) bool {
			delete(votes, r)
			return placement.Node(r) == id
		})
		if len(t.Of(number)) == t.Replicas && len(votes) == 0 && !isOn {
			to = id
		}
	}
	if to == "" {
		return
	}
	next := placement.Table{Version: t.Version + 1, Replicas: t.Replicas, Groups: slices.Clone(t.Groups)}
	next.Groups[number-1] = append(slices.Clone(t.Of(number)), raft.ServerID(fmt.Sprint(to, ".", next.Version)))
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
	defer cancel()
	_ = group.Place(ctx, first, &next)
}

// staysPlaced ends a node for so long that the others notice, and checks that a replica which is to move waits for the
// node.
func (w *world) staysPlaced() error {
	w.whole() // with another node wiped a moment ago, a group may have no majority meanwhile
	name := w.some()
	w.kill(name)
	defer w.start(name)
	time.Sleep((group.StatusRounds + 1) * time.Second)
	w.moveReplica()
	version := func() uint64 { return w.leader().first.Cluster().Placement.Version }
	before := version()
	time.Sleep(6 * time.Second)
	if now := version(); now != before {
		return fmt.Errorf("%s does not answer, and the table of replicas has version %d after %d", name, now, before)
	}
	return nil
}

// moved returns how many replicas have begun since the cluster was formed.
func (w *world) moved() (begun uint64) {
	if w.replicas > 0 {
		begun = (w.leader().first.Cluster().Placement.Version - 1) / 2
	}
	return begun
}

// liveInGroups is live for a cluster with groups of keys, and a number of replicas of each; 0 for one on every node.
func liveInGroups(t *testing.T, seed uint64, count, replicas int, names ...string) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{simulated: simulateReplicas(t, replicas, nil, faultGroups, names...), r: rand.New(rand.NewPCG(seed, 1)),
			began: time.Now()}
		defer w.stop()
		w.sharing.Store(true)
		var l groupLedger
		for g := range faultGroups {
			for k := range groupKeys {
				l.keys[g][k] = keyOf(g+1, faultGroups, k)
			}
		}
		if res := do(w.leader(), groupPolicy); res[0].Status != engine.OK {
			t.Fatalf("the policy was not set: status %d", res[0].Status)
		}
		for i := range simClients {
			w.clients.Go(func() { l.client(w, seed+uint64(i)) })
		}
		for i := range 2 * placeCount {
			w.clients.Go(func() { w.placeClient(seed + uint64(i)) })
		}
		err := w.throughFaults(seed, count, l.exceeded)
		if err == nil {
			err = w.agree()
		}
		if err == nil {
			changes := int64(0)
			for _, n := range w.everStarted {
				for _, g := range n.KeyGroups() {
					changes += g.Status().LeaderChanges
				}
			}
			t.Logf("%d leader changes, %d requests over several groups refused, %d in one granted, %d replicas moved", changes,
				l.refused.Load(), l.whole.Load(), w.moved())
			if err = l.shown(changes); err == nil && replicas > 0 && w.moved() == 0 {
				err = errors.New("no replica moved")
			}
		}
		if err != nil {
			w.describe()
			t.Error(err)
		}
	})
}

// With several groups, after any fault, no key is granted more than one exact limiter would have granted, a request
// over several groups changes nothing, and the replicas of each group agree.
func TestFaultsInGroups(t *testing.T) {
	for round := range max(1, *simGroupFaults/faultsPerCluster) {
		liveInGroups(t, testsize.Seed()+uint64(round), min(*simGroupFaults, faultsPerCluster), 0,
			[][]string{{"a", "b", "c"}, {"a", "b", "c", "d", "e"}}[round%2]...)
	}
}

// The same with three replicas of each group on five nodes, which all decide every key.
func TestFaultsWithReplicas(t *testing.T) {
	for round := range max(1, *simGroupFaults/faultsPerCluster) {
		liveInGroups(t, testsize.Seed()+uint64(round), min(*simGroupFaults, faultsPerCluster), 3, "a", "b", "c", "d", "e")
	}
}
