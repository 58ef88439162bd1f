package engine

import (
	"container/heap"
	"flag"
	"math/rand/v2"
	"testing"
)

var histories = flag.Int("histories", 300, "histories of loans for each algorithm and each fault")

// Whatever holders, callers and messages do, the holders and the limiter grant no more together than one limiter does that
// is told of every token when it is spent. Each fault in the protocol makes some history grant more, so the test can tell.
func TestLoansNeverExceedTheLimit(t *testing.T) {
	for _, limit := range []Limit{bucket(60, 5, sec), {Algorithm: GCRA, Capacity: 90, Rate: Rate{60, 7 * sec}},
		{Algorithm: LeakyBucket, Capacity: 60, Rate: Rate{3, sec}}, {Algorithm: FixedWindow, Span: Aligned, Capacity: 200, Rate: Rate{0, 2 * sec}}} {
		for name, fault := range map[string]func(op *Op, s *Store){
			"none": func(*Op, *Store) {},
			// The number that the store has is taken for the last that the holder knows.
			"no compare and set": func(op *Op, s *Store) {
				if op.Loan != nil {
					probe := ask(s, 1<<62, Op{Verb: Return, Key: op.Key, Who: op.Who, Loan: &Loan{Number: 1 << 60, Previous: 1 << 61}})
					op.Loan.Previous = probe.Number
					op.Loan.Left = min(op.Loan.Left, probe.Lent)
				}
			},
			// Spent tokens come back.
			"all comes back": func(op *Op, s *Store) {
				if op.Verb == Return {
					op.Loan.Left = ask(s, 1<<62, Op{Verb: Void, Key: op.Key, Who: op.Who}).Lent
				}
			},
			// A loan counts as spent while its holder still spends it, and time brings it back.
			"ended too early": func(op *Op, s *Store) {
				if op.Verb == Lend {
					op.MaxWait = sec / 10
				}
			},
		} {
			t.Run(limit.Algorithm.String()+" "+name, func(t *testing.T) {
				exceeded, total := 0, history{}
				for seed := range uint64(*histories) {
					h := newHistory(seed, limit, fault)
					for range 400 {
						h.step()
					}
					if h.excess > 0 {
						exceeded++
						if name == "none" {
							t.Fatalf("seed %d: %d tokens more than the limit", seed, h.excess)
						}
					}
					total.spent += h.spent
					total.acquired += h.acquired
					total.refunds += h.refunds
					total.voids += h.voids
					total.ignored += h.ignored
					h.close()
				}
				if name != "none" && exceeded == 0 && *histories >= 300 {
					t.Error("no history shows the fault")
				}
				if total.spent == 0 || total.acquired == 0 || total.refunds == 0 || total.voids == 0 || total.ignored == 0 {
					t.Errorf("too little happened: %+v", total)
				}
			})
		}
	}
}

// history is a store, holders, and messages on their way in both directions.
type history struct {
	r              *rand.Rand
	store, one     *Store // one grants everything, and tells of debt
	limit          Limit
	fault          func(*Op, *Store)
	now            int64
	messages       messages
	holders        []*holder
	sent           uint64
	excess         int64
	delivered      int64 // the latest time at which a holder hears of the store: it hears of everything in order
	spent, voids   int
	acquired       int
	refunds        int
	ignored, named int
}

// holder spends from memory.
type holder struct {
	name  string
	left  int64
	known uint64 // the number of the last operation that it knows was carried out
	busy  bool   // an operation is on its way that it waits for
	last  uint64
	dead  bool
}

func newHistory(seed uint64, limit Limit, fault func(*Op, *Store)) *history {
	h := &history{r: rand.New(rand.NewPCG(seed, 7)), store: New(Config{Shards: 1}), one: New(Config{Shards: 1}), limit: limit, fault: fault, now: epoch}
	for range 3 {
		h.holders = append(h.holders, h.newHolder())
	}
	return h
}

func (h *history) close() {
	h.store.Close()
	h.one.Close()
}

func (h *history) newHolder() *holder {
	h.named++
	return &holder{name: string(rune('a' + h.named))}
}

type delayed struct {
	at, order int64
	arrive    func()
}

type messages []delayed

func (m messages) Len() int { return len(m) }
func (m messages) Less(i, j int) bool {
	return m[i].at < m[j].at || m[i].at == m[j].at && m[i].order < m[j].order
}
func (m messages) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *messages) Push(x any)   { *m = append(*m, x.(delayed)) }
func (m *messages) Pop() any     { all := *m; last := all[len(all)-1]; *m = all[:len(all)-1]; return last }

func (h *history) at(time int64, arrive func()) {
	h.sent++
	heap.Push(&h.messages, delayed{time, int64(h.sent), arrive})
}

// delay is mostly short, and now and then that of a pause or a cut.
func (h *history) delay() int64 {
	switch h.r.IntN(20) {
	case 0:
		return h.r.Int64N(3 * sec)
	case 1, 2:
		return h.r.Int64N(sec / 5)
	}
	return h.r.Int64N(sec / 200)
}

// step lets time pass, and somebody do something.
func (h *history) step() {
	until := h.now + h.r.Int64N(sec/10)
	for len(h.messages) > 0 && h.messages[0].at <= until {
		m := heap.Pop(&h.messages).(delayed)
		h.now = m.at
		m.arrive()
	}
	h.now = until
	x, at := h.r.IntN(len(h.holders)), h.r.IntN(100)
	holder := h.holders[x]
	switch {
	case at < 50:
		h.request(holder)
	case at < 75:
		h.send(holder, Op{Verb: Lend, Limit: h.limit, Tokens: 1 + h.r.Int64N(h.limit.Capacity)})
	case at < 82:
		h.send(holder, Op{Verb: Return})
	case at < 90:
		h.large()
	case at < 92:
		h.reset()
	default:
		h.replace(x)
	}
}

func (h *history) acquire(n int64) (granted bool) {
	res := ask(h.store, h.now, Op{Key: []byte("k"), Limit: h.limit, Tokens: n})
	if res.Allowed {
		h.acquired++
		h.charge(n)
	}
	return res.Allowed
}

// charge tells the one limiter of tokens that were spent now.
func (h *history) charge(n int64) {
	res := ask(h.one, h.now, Op{Key: []byte("k"), Limit: h.limit, Tokens: n, Options: Force})
	h.excess = max(h.excess, -res.Remaining)
}

func (h *history) refund(n int64) {
	h.refunds++
	for _, s := range []*Store{h.store, h.one} {
		ask(s, h.now, Op{Verb: Refund, Key: []byte("k"), Tokens: n})
	}
}

// request is one of a holder's callers: decided from memory, or by the limiter.
func (h *history) request(x *holder) {
	n := 1 + h.r.Int64N(max(1, h.limit.Capacity/20))
	if x.left >= n {
		x.left -= n
		h.spent++
		h.charge(n)
		if h.r.IntN(20) == 0 {
			h.at(h.now+h.delay(), func() { h.refund(n) })
		}
		return
	}
	h.at(h.now+h.delay(), func() { h.acquire(n) })
}

// large is a request for much, most of which comes back later.
func (h *history) large() {
	n := 1 + h.r.Int64N(h.limit.Capacity)
	if h.acquire(n) {
		back := h.r.Int64N(n + 1)
		h.at(h.now+10*h.delay(), func() { h.refund(back) })
	}
}

func (h *history) reset() {
	reset := Op{Verb: Delete, Key: []byte("k")}
	if h.r.IntN(2) == 0 {
		reset = Op{Verb: Flush}
	}
	ask(h.store, h.now, reset)
	ask(h.one, h.now, reset)
}

// send sends a holder's operation. It gives up on some, which arrive all the same, or never.
func (h *history) send(x *holder, op Op) {
	if x.busy {
		return
	}
	h.sent++
	number := h.sent
	op.Key, op.Who, op.Loan = []byte("k"), []byte(x.name), &Loan{Number: number, Previous: x.known, Left: x.left}
	x.busy, x.last = true, number
	if op.Verb == Return {
		x.left = 0
	}
	arrives := h.now + h.delay()
	if h.r.IntN(4) == 0 {
		h.at(h.now+h.r.Int64N(sec/50), func() { x.busy = x.busy && x.last != number })
		if arrives += h.r.Int64N(sec); h.r.IntN(4) == 0 {
			return
		}
	}
	h.at(arrives, func() {
		h.fault(&op, h.store)
		res := ask(h.store, h.now, op)
		if op.Verb == Lend && res.Granted == 0 && res.Number != number && res.Number != 0 {
			h.ignored++
		}
		h.delivered = max(h.delivered, h.now+h.delay())
		h.at(h.delivered, func() {
			x.known = res.Number
			if x.last == number {
				x.busy = false
			}
			if x.dead || op.Verb != Lend {
				return
			}
			x.left += res.Granted
		})
	})
}

// replace has a holder die, and another begin in its place.
func (h *history) replace(x int) {
	old := h.holders[x]
	old.dead = true
	h.holders[x] = h.newHolder()
	h.at(h.now+h.delay(), func() {
		h.voids++
		ask(h.store, h.now, Op{Verb: Void, Key: []byte("k"), Who: []byte(old.name), Options: Force})
	})
}
