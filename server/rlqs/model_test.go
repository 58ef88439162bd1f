package rlqs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// filter is one Envoy, as its filter for quotas works: it has one bucket id and reports every 5 seconds. It denies
// without an assignment, and once its assignment has expired.
type filter struct {
	rate float64 // of requests per second
	due  float64 // of the next one

	stream  *Stream
	node    int
	opens   time.Duration // when a stream is tried again
	reports time.Duration
	last    time.Duration // report about the bucket; 0 before the first
	isKnown bool          // it has the bucket

	kind          Kind
	tokens        float64
	most, refill  float64
	filled, until time.Duration

	allowed, denied int64 // since the last report
	granted, asked  int64
	inbox           []message
}

// message is a set of assignments on its way to an Envoy.
type message struct {
	at  time.Duration
	all []Assignment
}

// request is one request at an Envoy.
func (f *filter) request(now time.Duration) (granted bool) {
	f.asked++
	f.isKnown = true
	if now >= f.until {
		f.kind = Deny
	}
	if f.kind == Bucket {
		f.tokens = min(f.most, f.tokens+f.refill*(now-f.filled).Seconds())
		f.filled = now
		granted = f.tokens >= 1
	}
	if granted {
		f.tokens--
		f.allowed++
		f.granted++
	} else {
		f.denied++
	}
	return granted
}

// receive takes an assignment.
func (f *filter) receive(now time.Duration, a Assignment) {
	switch {
	case a.Kind == Abandon:
		f.isKnown, f.until, f.last = false, 0, 0
		return
	case a.Kind == Bucket:
		rate := 0.0
		if a.Units > 0 {
			rate = float64(a.Units) / float64(a.Interval)
		}
		if a.Changed || f.kind != Bucket || f.most != float64(a.Tokens) || f.refill != rate {
			f.tokens, f.filled = float64(a.Tokens), now // the denial before it has thrown the old bucket away
		}
		f.most, f.refill = float64(a.Tokens), rate
	}
	f.kind, f.until = a.Kind, now+TTL
}

// world has Envoys, nodes of Stint, and the home of the limits, in simulated time.
type world struct {
	r      *rand.Rand
	now    time.Duration
	limit  Limit
	nodes  []*Table
	home   *store.Store
	envoys []*filter
	number int

	isRandom bool          // requests come at random times
	late     time.Duration // the longest way of an assignment to an Envoy
	loanTTL  time.Duration // after which home takes loans back
	down     time.Duration // home does not answer until then
	level    float64       // of a bucket that leaks at the rate of the largest limit in use, into which all grants go
	highest  float64
	rate     float64 // the highest rate and capacity of the limits that may be in use
	capacity float64
	forgets  time.Duration // when only the limit of now is
	sent     int           // assignments
	unlent   float64       // the most that Envoys had beyond home's loans, by the limit
}

func newWorld(seed uint64, limit Limit, nodes int, rates ...float64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 37)), now: time.Second, limit: limit, late: Margin - 2*tick, loanTTL: LoanTTL, home: store.New(store.Config{Shards: 1})}
	for range nodes {
		w.nodes = append(w.nodes, w.newNode())
	}
	for i, rate := range rates {
		w.envoys = append(w.envoys, &filter{rate: rate, node: i % nodes, opens: w.now})
	}
	return w
}

func (w *world) newNode() *Table {
	w.number++
	return NewTable(fmt.Sprint("rlqs/", w.number), 1)
}

const tick = 10 * time.Millisecond

// run lets time pass.
func (w *world) run(span time.Duration) {
	for until := w.now + span; w.now < until; w.now += tick {
		w.forget()
		w.level = max(0, w.level-w.rate*tick.Seconds())
		for _, f := range w.envoys {
			w.step(f)
		}
		if w.now%(100*time.Millisecond) == 0 {
			w.audit()
		}
	}
}

// outlive is the time after which nothing of an earlier limit is in use: a report, and then all of an assignment's
// time.
const outlive = 2*reportsEvery + TTL + 2*Margin

// change gives the quota another limit.
func (w *world) change(l Limit) {
	w.limit, w.forgets = l, w.now+outlive
	w.rate, w.capacity = max(w.rate, l.perSecond()), max(w.capacity, float64(l.Capacity))
}

// forget begins to measure by the limit of now alone.
func (w *world) forget() {
	if w.now >= w.forgets {
		w.level, w.forgets = 0, math.MaxInt64
		w.rate, w.capacity = w.limit.perSecond(), float64(w.limit.Capacity)
	}
}

const modelKey = "rls.shop:a=b"

// audit compares what Envoys have with what home has set aside.
func (w *world) audit() {
	tokens, rate := 0.0, 0.0
	for _, f := range w.envoys {
		if f.kind != Bucket || w.now >= f.until {
			continue
		}
		if rate += f.refill; f.refill > 0 {
			tokens += f.most // it may be full soon
		} else {
			tokens += f.tokens
		}
	}
	tokensKey, unitsKey, _ := keys(modelKey)
	w.unlent = max(w.unlent, (tokens-w.lent(tokensKey))/w.capacity, (rate-w.lent(unitsKey)/rateInterval)/w.rate)
}

// lent is what home has set aside of a key.
func (w *world) lent(key string) (tokens float64) {
	results := make([]engine.Result, 1)
	w.home.Apply(int64(w.now)+1e18, []engine.Op{{Verb: engine.Loans, Key: []byte(key)}}, results)
	for _, one := range results[0].LoansListed() {
		tokens += float64(one.Tokens)
	}
	return tokens
}

func (w *world) step(f *filter) {
	for len(f.inbox) > 0 && f.inbox[0].at <= w.now {
		for _, a := range f.inbox[0].all {
			f.receive(w.now, a)
		}
		f.inbox = f.inbox[1:]
	}
	for n := w.arrivals(f); n > 0; n-- {
		isNew := !f.isKnown
		if f.request(w.now) {
			w.level++
			w.highest = max(w.highest, w.level/w.capacity)
		}
		if isNew {
			w.report(f)
			if f.reports == 0 {
				f.reports = w.now + reportsEvery
			}
		}
	}
	if f.isKnown && w.now >= f.reports {
		f.reports = w.now + reportsEvery
		w.report(f)
	} else if f.stream != nil && w.now%time.Second == 0 {
		w.answer(f, f.stream.Waiting(w.now))
	}
}

// report sends an Envoy's counts, on a stream that it opens if it has none.
func (w *world) report(f *filter) {
	allowed, denied := f.allowed, f.denied
	elapsed := time.Duration(0)
	if f.last > 0 {
		elapsed = w.now - f.last
	}
	f.allowed, f.denied, f.last = 0, 0, w.now
	if f.stream == nil {
		if w.now < f.opens {
			return // the counts are lost
		}
		f.node = w.r.IntN(len(w.nodes))
		f.stream = w.nodes[f.node].NewStream()
	}
	usage := Usage{ID: "a", Pairs: map[string]string{"a": "b"}, Kind: Bucket, Key: modelKey, Limit: w.limit, Learned: w.now, Elapsed: elapsed, Allowed: allowed, Denied: denied}
	w.answer(f, f.stream.Report(w.now, []Usage{usage}))
}

// answer has operations carried out, and sends the assignments.
func (w *world) answer(f *filter, operations []Operation) {
	t := w.nodes[f.node]
	w.carryOut(t, operations)
	w.carryOut(t, f.stream.Loans(w.now))
	w.carryOut(t, f.stream.Loans(w.now))
	all := f.stream.Assign(w.now)
	if len(all) == 0 {
		return
	}
	w.sent += len(all)
	at := w.now + time.Duration(w.r.Int64N(int64(w.late)))
	if n := len(f.inbox); n > 0 {
		at = max(at, f.inbox[n-1].at)
	}
	f.inbox = append(f.inbox, message{at, all})
}

func (w *world) carryOut(t *Table, operations []Operation) {
	for i := range operations {
		o := &operations[i]
		isDown := w.now < w.down
		if isDown && w.r.IntN(2) == 0 {
			t.Answer(*o, nil) // it did not arrive
			continue
		}
		op := engine.Op{Verb: engine.Lend, Key: []byte(o.Key), Limit: o.Limit, Who: []byte(t.Holder()), Tokens: o.Tokens, MaxWait: int64(w.loanTTL), Loan: &o.Loan, Options: engine.Whole}
		switch {
		case o.Set:
			op = engine.Op{Verb: engine.Acquire, Key: op.Key, Limit: o.Limit, Tokens: 1, Options: engine.Force}
			if rest := op; o.Empty {
				rest.Tokens, rest.Options = o.Limit.Capacity, engine.UpTo
				w.home.Apply(int64(w.now)+1e18, []engine.Op{{Verb: engine.Delete, Key: op.Key}, op}, make([]engine.Result, 2))
				op = rest
			}
		case o.Return:
			op = engine.Op{Verb: engine.Return, Key: op.Key, Who: op.Who, Loan: op.Loan, Keep: engine.KeepTokens(o.Tokens)}
		}
		results := make([]engine.Result, 1)
		w.home.Apply(int64(w.now)+1e18, []engine.Op{op}, results)
		if isDown {
			t.Answer(*o, nil) // the answer did not
			continue
		}
		t.Answer(*o, &Answer{Granted: results[0].Granted, Limit: results[0].Limit, Remaining: results[0].Remaining, Number: int64(results[0].Number)})
	}
}

// cut ends an Envoy's stream.
func (w *world) cut(f *filter) {
	if f.stream != nil {
		f.stream.Cut()
		f.stream = nil
	}
	w.lose(f)
	f.opens = w.now + time.Duration(w.r.Int64N(int64(3*time.Second)))
}

// lose loses messages on their way to an Envoy, at times.
func (w *world) lose(f *filter) {
	if w.r.IntN(2) == 0 {
		f.inbox = nil
	}
}

// kill ends a node, and another begins in its place.
func (w *world) kill(node int) {
	for _, f := range w.envoys {
		if f.stream != nil && f.node == node {
			f.stream, f.opens = nil, w.now
			w.lose(f)
		}
	}
	w.nodes[node] = w.newNode()
}

// granted is the sum at all Envoys.
func (w *world) granted() (n int64) {
	for _, f := range w.envoys {
		n += f.granted
	}
	return n
}

// arrivals are the requests of one tick: at even distances, or at random times.
func (w *world) arrivals(f *filter) (n int) {
	mean := f.rate * tick.Seconds()
	if w.isRandom {
		return poisson(w.r, mean)
	}
	f.due += mean
	n = int(f.due)
	f.due -= float64(n)
	return n
}

func poisson(r *rand.Rand, mean float64) (n int) {
	for p := r.ExpFloat64(); p < mean; p += r.ExpFloat64() {
		n++
	}
	return n
}
