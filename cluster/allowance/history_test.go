package allowance

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testspec"
)

const sec = int64(time.Second)

// Whatever the history of requests, entries under way, lost entries and changes of the leader, nothing is granted that
// one exact limiter would have denied.
func TestHistories(t *testing.T) {
	inMemory, inLog, followed := 0, 0, 0
	for seed := range uint64(testsize.Pick(400, 20_000)) {
		h := newHistory(seed)
		for range 120 {
			h.step()
		}
		events, err := h.leaders.Err()
		if followed += events; err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if h.excess != "" {
			t.Errorf("seed %d: %s", seed, h.excess)
		}
		inMemory, inLog = inMemory+h.inMemory, inLog+h.inLog
		h.close()
	}
	t.Logf("%d operations granted in memory, %d in the log; %d steps followed the specification", inMemory, inLog, followed)
	if inMemory < inLog/10 || inLog < inMemory/10 {
		t.Error("too few to show anything")
	}
}

// history is a log and two nodes that lead by turns.
type history struct {
	r          *rand.Rand
	now        int64
	pause      int64 // between steps, at most
	rush       bool  // requests are large, and of all kinds
	applied    int64 // the time of the last entry
	leaders    testspec.Leaders
	log, exact *store.Store
	nodes      [2]*Allowance
	limits     [2]limits.Limit // of as many keys
	leader     *Allowance
	term       *Term
	isUsed     bool // in the log: tokens are taken in memory
	queue      []*queued
	inMemory   int
	inLog      int
	excess     string
}

// queued is a call on its way through the log. The one of a term opens it.
type queued struct {
	opens *Term
	first *queued // what hands over tokens for it, in the same entry; nil for nothing
	marks *marks
	asked *engine.Op // nil for a call of carries
	ops   []engine.Op
	res   []engine.Result
}

// historyLimits have no windows: the windows of two leaders begin at other times than the windows of one limiter.
var historyLimits = []limits.Limit{
	{Algorithm: limits.TokenBucket, Capacity: 40, Rate: limits.Rate{Tokens: 4, Period: sec}},
	{Algorithm: limits.GCRA, Capacity: 20, Rate: limits.Rate{Tokens: 2, Period: sec}},
	{Algorithm: limits.LeakyBucket, Capacity: 40, Rate: limits.Rate{Tokens: 4, Period: sec}},
}

func newHistory(seed uint64) *history {
	h := &history{r: rand.New(rand.NewPCG(seed, 5)), now: 1_800_000_000 * sec, pause: sec / 100, exact: store.New(store.Config{Shards: 1})}
	h.log = store.New(store.Config{Replicated: true, Shards: 1, Trace: h.leaders.Log(), TraceBeside: h.leaders.Memory("the leader")})
	h.applied = h.now
	for i := range h.nodes {
		h.nodes[i] = New(h.log, func() int64 { return h.applied }, func() int64 { return h.now })
	}
	for i := range h.limits {
		h.limits[i] = historyLimits[h.r.IntN(len(historyLimits))]
	}
	h.lead(h.nodes[0])
	h.add(engine.Op{Verb: engine.SetPolicy, Key: []byte("policy"), Parts: []engine.Op{h.part(0), h.part(0)}})
	return h
}

func (h *history) close() {
	for _, s := range []*store.Store{h.log, h.exact, h.nodes[0].taken, h.nodes[1].taken} {
		s.Close()
	}
}

func (h *history) step() {
	h.now += h.r.Int64N(h.pause)
	switch n := h.r.IntN(100); {
	case n < 4:
		h.change()
	case n < 7:
		h.rush = !h.rush
		if !h.rush {
			h.rest()
		}
	case n < 30:
		h.apply(h.r.IntN(5))
	default:
		op := h.op()
		var res engine.Result
		if h.leader.Decide(h.term, h.now, &op, &res) {
			h.compare(&op, &res, "memory", &h.inMemory)
			return
		}
		h.add(op)
	}
}

// rest waits until most limits are full again.
func (h *history) rest() {
	h.apply(len(h.queue))
	h.now, h.pause = h.now+h.r.Int64N(25*sec), sec/[]int64{1000, 200, 20}[h.r.IntN(3)]
}

func (h *history) part(tokens int64) engine.Op {
	i := h.r.IntN(len(h.limits))
	return engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, "k", i), Limit: h.limits[i], Tokens: tokens}
}

func (h *history) op() engine.Op {
	op, id := h.part(1+h.r.Int64N(3)), fmt.Append(nil, "id", h.r.IntN(3))
	kinds := 40
	if h.rush {
		kinds = 80
	}
	switch n := h.r.IntN(kinds); {
	case n == 0:
		return engine.Op{Verb: engine.Delete, Key: op.Key}
	case n < 3:
		return engine.Op{Verb: engine.Refund, Key: op.Key, Tokens: op.Tokens}
	case n < 6:
		op.Options = engine.Peek
	case n < 12:
		return engine.Op{Verb: engine.Check, Key: []byte("policy"), Tokens: op.Tokens}
	case n < 20:
		if other := h.part(op.Tokens); string(other.Key) != string(op.Key) {
			return engine.Op{Verb: engine.AcquireAll, Tokens: op.Tokens, Parts: []engine.Op{op, other}}
		}
	case n < 40:
	case n < 44:
		return engine.Op{Verb: engine.SetPolicy, Key: []byte("policy"), Parts: []engine.Op{op}}
	case n < 48:
		return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: 60 * sec, Parts: []engine.Op{{Verb: engine.AcquireAll, Tokens: op.Tokens, Parts: []engine.Op{op}}}}
	case n < 52:
		if h.r.IntN(2) == 0 {
			return engine.Op{Verb: engine.Extend, Key: id, Nth: 1 + h.r.Uint32N(2), Tokens: op.Tokens}
		}
		return engine.Op{Verb: engine.Settle, Key: id, Tokens: h.r.Int64N(12)}
	default:
		op.Tokens = op.Limit.Capacity / 4
	}
	return op
}

// compare carries out an operation by the exact limiter too.
func (h *history) compare(op *engine.Op, res *engine.Result, where string, count *int) {
	isGrant := op.Verb == engine.Acquire || op.Verb == engine.AcquireAll || op.Verb == engine.Check || op.Verb == engine.Reserve || op.Verb == engine.Extend
	if res.Status != engine.OK || isGrant && (!res.Allowed || op.Options&engine.Peek != 0) {
		return
	}
	exact := make([]engine.Result, 1)
	h.exact.Apply(h.now, []engine.Op{*op}, exact)
	if *count++; isGrant && !exact[0].Allowed && h.excess == "" {
		h.excess = fmt.Sprintf("%+v is granted in %s, and %+v by one limiter", *op, where, exact[0])
	}
}

// add queues an operation, as Allowance.Queue does, after its Carry. The queue may refuse both.
func (h *history) add(op engine.Op) {
	ops := []engine.Op{op.Clone()}
	m := h.leader.enter(h.term, h.now, ops, nil)
	c, isLost := m.handOver(), h.r.IntN(20) == 0
	if isLost {
		m.leave(h.now, false)
		if c != nil {
			c.leave(h.now, false)
		}
		return
	}
	q := &queued{marks: m, asked: &op, ops: ops, res: make([]engine.Result, 1)}
	if c != nil {
		q.first = &queued{marks: c, ops: c.carries, res: c.carried}
	}
	h.queue = append(h.queue, q)
}

// apply applies entries.
func (h *history) apply(count int) {
	for ; count > 0 && len(h.queue) > 0; count-- {
		q := h.queue[0]
		h.queue, h.applied = h.queue[1:], h.now
		if q.opens != nil {
			h.isUsed = true
			q.opens.IsOpen.Store(true)
			continue
		}
		if q.first != nil {
			h.log.Apply(h.now, q.first.ops, q.first.res)
		}
		h.log.Apply(h.now, q.ops, q.res)
		if q.asked != nil {
			h.compare(q.asked, &q.res[0], "the log", &h.inLog)
		}
		q.leave(h.now, true)
	}
}

// leave ends an entry.
func (q *queued) leave(now int64, applied bool) {
	if q.first != nil {
		q.first.marks.leave(now, applied)
	}
	q.marks.leave(now, applied)
}

// change makes one of the nodes the next leader. It has the first of the entries under way.
func (h *history) change() {
	h.apply(h.r.IntN(len(h.queue) + 1))
	for _, q := range h.queue {
		if q.marks != nil {
			q.leave(h.now, false)
		}
	}
	h.queue = nil
	if h.r.IntN(3) == 0 {
		h.now += h.r.Int64N(3 * sec)
	}
	h.lead(h.nodes[h.r.IntN(2)])
}

func (h *history) lead(s *Allowance) {
	h.leader, h.term = s, s.newTerm(h.now, h.isUsed)
	h.queue = append(h.queue, &queued{opens: h.term})
}
