package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/upstream"
)

// homeKeys are keys with their home at another server, in different groups. Their buckets refill hardly or all the
// time.
var homeKeys = []engine.Op{homeKey(0, 6000, 1), homeKey(1, 400, 36_000), homeKey(2, 3000, 3600), homeKey(3, 40, 3600),
	homeKey(4, 200, 7200)}

func homeKey(i int, capacity, tokensPerHour int64) engine.Op {
	op := acquire(fmt.Sprint("home:", i), capacity, 0)
	op.Limit.Rate.Tokens = tokensPerHour
	return op
}

// homeServer is a single server, in memory, which lends tokens of homeKeys.
type homeServer struct {
	mu      sync.Mutex
	store   *store.Store
	serving sync.WaitGroup
	around  func(words []string, carryOut func() string) (answer string) // each command
}

func (h *homeServer) do(op engine.Op) engine.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	results := make([]engine.Result, 1)
	h.store.Apply(time.Now().UnixNano(), []engine.Op{op}, results)
	return results[0]
}

func (h *homeServer) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		h.serving.Go(func() { h.serve(conn) })
	}
}

// serve answers the commands of package upstream on a connection.
func (h *homeServer) serve(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		_ = conn.SetDeadline(time.Now().Add(time.Minute)) // its end may be lost on a link that is cut
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := make([]string, number(line[1:]))
		for i := range words {
			_, _ = in.ReadString('\n')
			words[i], _ = in.ReadString('\n')
			words[i] = strings.TrimSpace(words[i])
		}
		carryOut := func() string { return h.answer(words) }
		if _, err := io.WriteString(conn, h.around(words, carryOut)); err != nil {
			return
		}
	}
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n
}

func (h *homeServer) answer(words []string) string {
	if words[0] == "PING" {
		return "+PONG\r\n"
	}
	op := homeKeys[number(words[1][len("home:"):])].Clone()
	loan := func(at, left int) {
		op.Who, op.Loan = []byte(words[at]), &engine.Loan{Number: uint64(number(words[at+1])),
			Previous: uint64(number(words[at+2])), Left: number(words[left])}
	}
	switch words[0] {
	case "RL.LEND": // key TB capacity rate tokens holder number previous [ALL] LEFT left
		op.Verb, op.Tokens = engine.Lend, number(words[5])
		loan(6, len(words)-1)
		if words[9] == "ALL" {
			op.Options = engine.Whole
		}
	case "RL.RETURN": // key holder number previous left, KEEP tokens
		op.Verb = engine.Return
		loan(2, 5)
		if len(words) > 6 {
			op.Keep = engine.KeepTokens(number(words[7]))
		}
	case "TB.ACQUIRE": // key capacity rate tokens [PEEK]
		if op.Tokens = number(words[4]); len(words) > 5 {
			op.Options = engine.Peek
		}
	}
	res := h.do(op)
	last := []int64{res.Lent, int64(res.Number)}
	if op.Verb == engine.Acquire {
		last = []int64{(res.Wait + int64(time.Millisecond) - 1) / int64(time.Millisecond), 0}
	}
	if res.Status != engine.OK {
		return fmt.Sprintf("-ERR status %d\r\n", res.Status)
	}
	return fmt.Sprintf("*5\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n", res.Granted, res.Limit, res.Remaining, last[0],
		last[1])
}

// region is a simulated cluster whose limits of homeKeys have their home at a homeServer, and a ledger of what both
// have granted.
type region struct {
	*world
	home     *homeServer
	listener net.Listener // of home

	mu      sync.RWMutex
	clients map[*Node]*upstream.Upstream

	accounts                           [5]account
	atHome, local, lent, back, dropped atomic.Int64
	severals                           atomic.Int64                        // granted requests for several limits
	other                              [engine.KeyChanged + 1]atomic.Int64 // requests by status
}

// newRegion makes the nodes of w a region, and begins its home.
func newRegion(w *world, around func(words []string, carryOut func() string) (answer string)) *region {
	r := &region{world: w, home: &homeServer{store: store.New(store.Config{Shards: 1}), around: around},
		clients: map[*Node]*upstream.Upstream{}}
	r.listener, _ = w.net.Of("home").Listen("")
	w.ending = r.end
	r.home.serving.Go(func() { r.home.accept(r.listener) })
	return r
}

// close ends the nodes, and then home.
func (r *region) close() {
	r.stop()
	r.listener.Close()
	r.home.serving.Wait()
	r.home.store.Close()
}

// upstreamOf returns the upstream client of a node, which begins with the node; nil when the node has ended.
func (r *region) upstreamOf(n *Node) *upstream.Upstream {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, is := r.clients[n]
	if !is {
		u = upstream.New(upstream.Options{
			Addresses: []string{"home"}, Keys: []string{"home:*"}, Dial: r.net.Of(n.opt.Node).Dial, Timeout: time.Second,
			Decider: n, Policies: n.opt.Store, Log: r.log, Holder: func() string { return n.Group().Status().ClusterID },
			Replicas: func() (all []upstream.Replica) {
				for number, g := range n.KeyGroups() {
					if n.HasReplica(number) {
						all = append(all, upstream.Replica{Store: n.opt.KeyStores[number-1], Now: g.Now, Leads: func() bool {
							leads, _ := g.Leads()
							return leads
						}})
					}
				}
				return all
			},
		})
		r.clients[n] = u
	}
	return u
}

// end closes the upstream client of a node that stops, and adds its counts to those of the region.
func (r *region) end(n *Node) {
	r.mu.Lock()
	u := r.clients[n]
	r.clients[n] = nil
	r.mu.Unlock()
	if u == nil {
		return
	}
	u.Close(context.Background())
	s := u.Status()
	r.local.Add(s.Local)
	r.lent.Add(s.Lent)
	r.back.Add(s.Returned)
	r.dropped.Add(s.Dropped)
}

// client asks for keys of home at random nodes, with keys of the cluster beside them, and sometimes at home.
func (r *region) client(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 4))
	for !r.stopped.Load() {
		n := r.toAsk(random)
		if n == nil {
			continue
		}
		u := r.upstreamOf(n)
		if u == nil {
			continue
		}
		if random.IntN(8) == 0 {
			op := homeKeys[random.IntN(len(homeKeys))].Clone()
			op.Tokens = 1 + random.Int64N(3)
			res := r.home.do(op)
			r.accounts[number(string(op.Key[len("home:"):]))].granted.Add(res.Granted)
			r.atHome.Add(res.Granted)
		}
		r.ask(u, random)
		time.Sleep(time.Duration(2+random.IntN(20)) * time.Millisecond)
	}
}

// rests reports whether the region stops asking for a key for now, so that its tokens are returned.
func (r *region) rests(i int) bool {
	const silence = 10500 * time.Millisecond
	return (int(time.Since(r.began)/silence)+i)%2 == 0
}

// ask sends a pipeline to a node.
func (r *region) ask(u *upstream.Upstream, random *rand.Rand) {
	b := &engine.Batch{}
	done := make(chan struct{})
	b.Done = func() { close(done) }
	var keys []int
	for range 1 + random.IntN(4) {
		i := random.IntN(len(homeKeys))
		op := homeKeys[i].Clone()
		op.Tokens = 1 + random.Int64N(2)
		if random.IntN(6) == 0 || r.rests(i) {
			i, op = -1, acquire(fmt.Sprint("own", random.IntN(20)), simCapacity, 1)
		}
		if i >= 0 && random.IntN(3) == 0 {
			op = withOwn(&op)
		}
		b.Ops, keys = append(b.Ops, op), append(keys, i)
	}
	b.Results = make([]engine.Result, len(b.Ops))
	stop := within(time.Minute, "a request of the region has not been answered")
	if !u.Decide(b) {
		<-done
	}
	stop()
	for i := range b.Results {
		res := &b.Results[i]
		r.other[res.Status].Add(1)
		if keys[i] >= 0 && res.Status == engine.OK && res.Allowed {
			r.accounts[keys[i]].granted.Add(res.Granted)
			if b.Ops[i].Verb == engine.AcquireAll {
				r.severals.Add(1)
			}
		}
	}
}

// withOwn returns a request for a limit of home and one of the region's own, whose key is in the same group.
func withOwn(op *engine.Op) engine.Op {
	own := acquire(fmt.Sprintf("{%s}own", op.Key), simCapacity, op.Tokens)
	return engine.Op{Verb: engine.AcquireAll, Tokens: op.Tokens, Parts: []engine.Op{own, *op}}
}

// cutHome cuts nodes off from home now and then, one way or both.
func (r *region) cutHome(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 5))
	for !r.stopped.Load() {
		name, way := r.names[random.IntN(len(r.names))], random.IntN(3)
		set := func(cut bool) {
			r.net.SetCut(name, "home", cut && way != 0)
			r.net.SetCut("home", name, cut && way != 1)
		}
		set(true)
		time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
		set(false)
		time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
	}
}

// exceeded returns the grants of home and the region beyond a limit.
func (r *region) exceeded(passed time.Duration) error {
	for i := range homeKeys {
		if err := r.accounts[i].exceeded(homeKeys[i].Key, &homeKeys[i].Limit, passed); err != nil {
			return err
		}
	}
	return nil
}

// returned waits until no token of home is lent, and no node has a purse.
func (r *region) returned() error {
	err := fmt.Errorf("tokens are not returned")
	for tries := 0; err != nil && tries < 300; tries++ {
		time.Sleep(200 * time.Millisecond)
		err = nil
		for i := range homeKeys {
			if res := r.home.do(engine.Op{Verb: engine.Look, Key: homeKeys[i].Key}); res.Lent != 0 {
				err = fmt.Errorf("%s: %d tokens are still lent", homeKeys[i].Key, res.Lent)
				if tries == 100 {
					r.demand(i) // perhaps it was lent late
				}
			}
		}
		for name, n := range r.nodes {
			if left := r.upstreamOf(n).Status().Purses; left != 0 {
				err = fmt.Errorf("%s still has tokens of %d keys", name, left)
			}
		}
	}
	return err
}

// lendLate makes the home lend tokens for a request that was on its way while its loan was returned.
func (r *region) lendLate(i int) {
	op := homeKeys[i].Clone()
	op.Verb, op.Tokens, op.Who, op.Loan = engine.Lend, 1, []byte(r.leader().Group().Status().ClusterID),
		&engine.Loan{Number: 1}
	if res := r.home.do(op); res.Lent != 1 {
		r.t.Errorf("%s: %d tokens are lent late, want 1", op.Key, res.Lent)
	}
}

// demand asks for a key until the region wants tokens of it, and so hears of a late loan.
func (r *region) demand(i int) {
	u := r.upstreamOf(r.leader())
	for range 100 {
		op, results, done := homeKeys[i].Clone(), make([]engine.Result, 1), make(chan struct{})
		op.Tokens = 1
		if !u.Decide(&engine.Batch{Ops: []engine.Op{op}, Results: results, Done: func() { close(done) }}) {
			<-done
		}
		r.accounts[i].granted.Add(results[0].Granted)
		time.Sleep(10 * time.Millisecond)
	}
}

// rest takes what home has left, and adds it to the grants.
func (r *region) rest() {
	for i := range homeKeys {
		op := homeKeys[i].Clone()
		op.Tokens, op.Options = op.Limit.Capacity, engine.UpTo
		r.accounts[i].granted.Add(r.home.do(op).Granted)
	}
}

// shown returns an error if the ledger shows nothing, because too little happened.
func (r *region) shown(leaderChanges int64) error {
	for status := range r.other {
		switch engine.Status(status) {
		case engine.OK, engine.Uncertain, engine.NoLeader, engine.NoHome:
		default:
			if n := r.other[status].Load(); n > 0 {
				return fmt.Errorf("%d requests were answered with status %d", n, status)
			}
		}
	}
	switch {
	case leaderChanges <= faultGroups:
		return fmt.Errorf("leaders changed %d times", leaderChanges)
	case r.severals.Load() == 0:
		return fmt.Errorf("no request for several limits was granted")
	case r.local.Load() == 0 || r.lent.Load() == 0 || r.back.Load() == 0 || r.atHome.Load() == 0:
		return fmt.Errorf("%d requests granted from lent tokens, %d tokens lent, %d returned, %d granted at home",
			r.local.Load(), r.lent.Load(), r.back.Load(), r.atHome.Load())
	}
	return nil
}

// liveAsRegion is liveInGroups for a region.
func liveAsRegion(t *testing.T, seed uint64, count, replicas int, names ...string) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{simulated: simulateReplicas(t, replicas, nil, faultGroups, names...), r: rand.New(rand.NewPCG(seed, 1)),
			began: time.Now()}
		r := newRegion(w, func(_ []string, carryOut func() string) string { return carryOut() })
		defer r.close()
		w.sharing.Store(true)
		for _, name := range names {
			w.net.SetDelay(name, "home", 20*time.Millisecond)
			w.net.SetDelay("home", name, 20*time.Millisecond)
		}
		for i := range simClients {
			w.clients.Go(func() { r.client(seed + uint64(i)) })
		}
		w.clients.Go(func() { r.cutHome(seed) })
		err := w.throughFaults(seed, count, r.exceeded)
		if err == nil {
			err = r.returned()
		}
		if err == nil && replicas == 0 {
			r.lendLate(1)
			r.demand(1)
			err = r.returned()
		}
		if err == nil {
			err = w.agree()
		}
		if err == nil {
			r.rest()
			err = r.exceeded(time.Since(w.began))
		}
		if err == nil {
			changes := int64(0)
			for _, n := range w.everStarted {
				for _, g := range n.KeyGroups() {
					changes += g.Status().LeaderChanges
				}
			}
			moved := w.moved()
			w.stop() // counts
			t.Logf("%d leader changes, %d replicas moved, %d requests granted from lent tokens, %d of them for several limits, %d tokens lent, %d returned, %d dropped, %d granted at home", changes, moved, r.local.Load(), r.severals.Load(), r.lent.Load(), r.back.Load(), r.dropped.Load(), r.atHome.Load())
			err = r.shown(changes)
		}
		if err != nil {
			w.describe()
			t.Error(err)
		}
	})
}

// A region with several groups and its home, far away, together grant no more than one exact limiter would, after any
// fault in the region and between both, and in the end all tokens come back.
func TestFaultsOfARegion(t *testing.T) {
	for round := range max(2, *simGroupFaults/faultsPerCluster) {
		liveAsRegion(t, testsize.Seed()+uint64(round), min(*simGroupFaults, faultsPerCluster), round%2*3, "a", "b", "c", "d",
			"e")
	}
}

// Two nodes of a region send the same operation on a loan: home has nothing for the first, and tokens for the second,
// which comes late. None is lost.
func TestNodesOfARegionAtTheSameTime(t *testing.T) {
	shown := false
	for tries := 0; !shown && !t.Failed(); tries++ {
		if tries == 50 {
			t.Fatal("home has never lent by the second of two operations: this test shows nothing")
		}
		shown = nodesOfARegionAtTheSameTime(t)
	}
}

// nodesOfARegionAtTheSameTime reports whether home lent tokens by the second of two operations.
func nodesOfARegionAtTheSameTime(t *testing.T) (shown bool) {
	synctest.Test(t, func(t *testing.T) {
		var lends atomic.Int32
		var holds atomic.Bool
		r := newRegion(&world{simulated: simulateGroups(t, 2, "a", "b", "c")},
			func(words []string, carryOut func() string) (answer string) {
				if words[0] != "RL.LEND" || !holds.Load() {
					return carryOut()
				}
				if lends.Add(1) == 1 {
					answer = carryOut()
					time.Sleep(100 * time.Millisecond)
					return answer
				}
				time.Sleep(200 * time.Millisecond)
				return carryOut()
			})
		defer r.close()
		ask := func(name string, tokens int64, options engine.Option) int64 {
			op, results, done := homeKeys[0].Clone(), make([]engine.Result, 1), make(chan struct{})
			op.Tokens, op.Options = tokens, options
			if !r.upstreamOf(r.nodes[name]).Decide(&engine.Batch{Ops: []engine.Op{op}, Results: results, Done: func() {
				close(done)
			}}) {
				<-done
			}
			return results[0].Granted
		}
		atHome := func(verb engine.Verb, options engine.Option) engine.Result {
			op := homeKeys[0].Clone()
			op.Verb, op.Tokens, op.Options = verb, op.Limit.Capacity, options
			return r.home.do(op)
		}
		time.Sleep(time.Second)
		for range 300 { // so that the key is in demand at both
			ask("a", 1, 0)
			ask("b", 1, 0)
			time.Sleep(5 * time.Millisecond)
		}
		atHome(engine.Acquire, engine.UpTo)
		for ask("a", 1000, engine.UpTo)+ask("b", 1000, engine.UpTo) > 0 {
		}
		time.Sleep(400 * time.Millisecond) // until home is asked for loans again

		holds.Store(true)
		time.AfterFunc(150*time.Millisecond, func() { atHome(engine.Delete, 0) })
		var granted atomic.Int64
		var asking sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			asking.Go(func() { granted.Add(ask(name, 1, 0)) })
			time.Sleep(20 * time.Millisecond)
		}
		asking.Wait()
		if shown = lends.Load() == 2 && r.home.do(engine.Op{Verb: engine.Look, Key: homeKeys[0].Key}).Lent > 0; !shown {
			return
		}
		for range 10 {
			granted.Add(ask("b", 1, 0))
		}
		if err := r.returned(); err != nil {
			t.Error(err)
		}
		if res := atHome(engine.Acquire, engine.UpTo); granted.Load() < 11 || granted.Load()+res.Granted != res.Limit {
			t.Errorf("%d tokens were granted in the region and %d at home, of %d", granted.Load(), res.Granted, res.Limit)
		}
	})
	return shown
}
