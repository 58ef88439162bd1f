package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// Regions that spend tokens of a home grant no more together with it than one limiter does, whatever messages and
// processes do. Each fault in the protocol makes some history grant more, so the test finds them.
func TestRegionsNeverExceedTheLimit(t *testing.T) {
	scarce := bucket(250, 1, 3600*sec) // every token counts
	for _, limit := range []limits.Limit{scarce, bucket(200, 20, sec), {Algorithm: limits.GCRA, Capacity: 300, Rate: limits.Rate{Tokens: 60, Period: 7 * sec}},
		{Algorithm: limits.LeakyBucket, Capacity: 200, Rate: limits.Rate{Tokens: 3, Period: sec}}, {Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 400, Rate: limits.Rate{Tokens: 0, Period: 2 * sec}}} {
		for _, fault := range []string{"none", "deposits are not compared", "a restart keeps tokens", "returned tokens stay"} {
			if fault != "none" && limit != scarce {
				continue
			}
			t.Run(limit.Algorithm.String()+" "+fault, func(t *testing.T) {
				runs, total := *histories, world{} // a fault ends at the first history that shows it
				if fault == "none" {
					runs = max(1, *histories/5)
				}
				for seed := range uint64(runs) {
					w := newWorld(seed, limit, fault)
					for range 600 {
						w.step()
					}
					if w.excess > 0 {
						if fault != "none" {
							w.close()
							t.Logf("seed %d shows it", seed)
							return
						}
						t.Fatalf("seed %d: %d tokens more than the limit", seed, w.excess)
					}
					total.spent += w.spent
					total.asked += w.asked
					total.returned += w.returned
					total.repeated += w.repeated
					total.closed += w.closed
					total.late += w.late
					total.restarts += w.restarts
					total.resets += w.resets
					w.close()
				}
				if fault != "none" && *histories >= 300 {
					t.Error("no history shows the fault")
				}
				if fault == "none" && (total.spent < total.asked || total.spent == 0 || total.asked == 0 || total.returned == 0 || total.repeated == 0 || limit == scarce && total.closed == 0 || total.late == 0 || total.restarts == 0 || total.resets == 0) {
					t.Errorf("too little happened: %+v", total)
				}
			})
		}
	}
}

// world is a home, regions, and messages on their way between them. A region has two nodes, which know nothing of each
// other.
type world struct {
	r         *rand.Rand
	home, one *Store // one counts every token when it is spent
	regions   []*region
	limit     limits.Limit
	fault     string
	now       int64
	messages  messages
	excess    int64

	spent, asked, returned, repeated, restarts, resets, closed, late int
}

// region is a store, and its state some time ago, which a restart may fall back to.
type region struct {
	name  string
	store *Store
	saved []keyspace.Entry
}

func newWorld(seed uint64, limit limits.Limit, fault string) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 17)), home: New(Config{Shards: 1}), one: New(Config{Shards: 1}), limit: limit, fault: fault, now: epoch}
	for _, name := range []string{"east", "west"} {
		w.regions = append(w.regions, &region{name: name, store: New(Config{Shards: 1})})
	}
	return w
}

func (w *world) close() {
	w.home.Close()
	w.one.Close()
	for _, x := range w.regions {
		x.store.Close()
	}
}

// delay is that of a long way, and now and then of a cut.
func (w *world) delay() int64 {
	if w.r.IntN(20) == 0 {
		return w.r.Int64N(3 * sec)
	}
	return w.r.Int64N(sec / 6)
}

func (w *world) step() {
	until := w.now + w.r.Int64N(sec/20)
	for m, ok := w.messages.receive(until); ok; m, ok = w.messages.receive(until) {
		w.now = m.at
		m.arrive()
	}
	w.now = until
	x := w.regions[w.r.IntN(len(w.regions))]
	switch at := w.r.IntN(100); {
	case at < 65:
		w.request(x)
	case at < 82:
		w.exchange(x, 0)
	case at < 87:
		w.exchange(x, engine.Cancel)
	case at < 92:
		w.save(x)
	case at < 97:
		w.restart(x)
	default:
		w.reset(x)
	}
}

func (w *world) purse() limits.Limit {
	limit := w.limit
	limit.Algorithm = limit.Algorithm.Purse()
	return limit
}

// request asks for tokens in a region, and at home if there are none.
func (w *world) request(x *region) {
	n := 1 + w.r.Int64N(4)
	if ask(x.store, w.now, engine.Op{Key: []byte("k"), Limit: w.purse(), Tokens: n}).Allowed {
		w.spent++
		w.charge(n)
		return
	}
	if w.r.IntN(5) == 0 {
		w.messages.send(w.now+w.delay(), func() {
			if ask(w.home, w.now, engine.Op{Key: []byte("k"), Limit: w.limit, Tokens: n}).Allowed {
				w.asked++
				w.charge(n)
			}
		})
	}
}

func (w *world) charge(n int64) {
	res := ask(w.one, w.now, engine.Op{Key: []byte("k"), Limit: w.limit, Tokens: n, Options: engine.Force})
	w.excess = max(w.excess, -res.Remaining)
}

// exchange is one node's operation on the loan of its region. Requests and answers are late, lost, and repeated.
func (w *world) exchange(x *region, options engine.Option) {
	store := x.store
	t := w.prepare(store, options)
	of := t.Loan()
	op := engine.Op{Verb: engine.Lend, Key: []byte("k"), Who: []byte(x.name), Limit: w.limit, Tokens: 1 + w.r.Int64N(60), Loan: &of}
	if t.Returning {
		op.Verb, op.Tokens, op.Limit = engine.Return, 0, limits.Limit{}
		if w.fault == "returned tokens stay" {
			ask(store, w.now, engine.Op{Verb: engine.Deposit, Key: []byte("k"), Tokens: t.Left, Loan: &engine.Loan{Number: t.Number, Previous: t.Previous}})
		}
	}
	for range 1 + w.r.IntN(2) {
		if w.r.IntN(5) == 0 {
			continue // it is lost
		}
		w.messages.send(w.now+w.delay(), func() {
			res := ask(w.home, w.now, op)
			if op.Verb == engine.Return && res.Granted > 0 {
				w.returned++
			}
			if w.r.IntN(5) == 0 {
				return
			}
			if options != engine.Cancel && t.IsPending(res.Granted, res.Number) {
				return
			}
			if closing, ok := t.Close([]byte("k"), []byte(x.name)); ok && t.IsOpen(res.Granted, res.Number) {
				res = ask(w.home, w.now, closing)
				res.Granted = t.Closed(res.Lent, res.Number)
				w.closed++
			}
			w.messages.send(w.now+w.delay(), func() { w.deposit(x, store, &t, &res) })
		})
	}
}

func (w *world) prepare(store *Store, options engine.Option) purse.Purse {
	res := ask(store, w.now, engine.Op{Verb: engine.Prepare, Key: []byte("k"), Limit: w.purse(), Options: options})
	return purse.Of(&res)
}

func (w *world) deposit(x *region, store *Store, t *purse.Purse, res *engine.Result) {
	if store != x.store {
		return // that process has ended
	}
	op := t.Answered([]byte("k"), res.Granted, res.Number)
	if w.fault == "deposits are not compared" {
		op.Loan.Number = w.prepare(store, 0).Number
	}
	kept := ask(store, w.now, op)
	if kept.Granted == 0 && op.Tokens > 0 {
		w.repeated++
	}
	if late, ok := t.LentLate([]byte("k"), []byte(x.name), op.Tokens, &kept); ok {
		w.late++
		w.messages.send(w.now+w.delay(), func() { ask(w.home, w.now, late) })
	}
}

// save keeps a region's state like a snapshot.
func (w *world) save(x *region) {
	x.saved = nil
	x.store.Dump(w.now, func(e keyspace.Entry) {
		e.Key, e.State = append([]byte(nil), e.Key...), append([]byte(nil), e.State...)
		x.saved = append(x.saved, e)
	})
}

// restart has a region that stands alone begin with its saved state, without its last decisions.
func (w *world) restart(x *region) {
	if x.saved == nil {
		return
	}
	w.restarts++
	x.store.Close()
	x.store = New(Config{Shards: 1})
	for _, e := range x.saved {
		if err := x.store.Load(w.now, e); err != nil {
			panic(err)
		}
	}
	if w.fault != "a restart keeps tokens" {
		w.prepare(x.store, engine.Force)
	}
	x.saved = nil
}

// reset resets keys in a region, which is none at home.
func (w *world) reset(x *region) {
	w.resets++
	ask(x.store, w.now, engine.Op{Verb: engine.Delete, Key: []byte("k")})
	ask(x.store, w.now, engine.Op{Verb: engine.Flush})
}
