package store

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testspec"
)

const never = math.MaxInt64

var lentKey, otherKey, enforced, shadowed = []byte("k"), []byte("other"), []byte("enforced"), []byte("shadowed")

// enforcedCost is the cost of the key's limit in the enforced policy.
const enforcedCost = 3

// history is a store, holders, and messages on their way in both directions.
type history struct {
	work
	r          *rand.Rand
	fault      fault
	store, one *Store // one grants everything, and shows its debt
	now        int64
	first      limits.Limit // with which the history began
	asked      limits.Limit // of the requests sent from now on
	held       limits.Limit // in force
	loanFor    int64        // after an operation a loan ends, 0 for never
	messages   messages
	holders    [3]*holder
	sent       uint64
	named      int
	heard      int64 // the latest time at which a holder hears of the store: it hears of everything in order
	reserved   int   // requests that were to be remembered
	windowEnd  int64 // of a limit whose windows begin with the first request: that of the store
	excess     int64 // most tokens beyond the limit
	tracer     testspec.Tracer
	differs    bool // a store that was loaded from a snapshot, and replayed the later operations, has another state

	snapshot *Snapshot
	since    []timedOp // that the store carried out after the snapshot
	taken    int64     // the time of the snapshot
	op       [1]engine.Op
	result   [1]engine.Result
}

// holder spends from memory.
type holder struct {
	name  []byte
	left  int64
	known uint64 // the number of the last operation that it knows was carried out
	last  uint64 // the number of the last that it sent
	since int64  // when the last was sent that it knows was carried out
	busy  bool   // it waits for the last
	dead  bool
}

type timedOp struct {
	at int64
	op engine.Op
}

type delayed struct {
	at     int64
	arrive func()
}

// messages are ordered by their time, the first one at the end.
type messages []delayed

func (m *messages) send(at int64, arrive func()) {
	i := len(*m)
	for i > 0 && (*m)[i-1].at <= at {
		i--
	}
	*m = slices.Insert(*m, i, delayed{at, arrive})
}

func (m *messages) receive(until int64) (first delayed, ok bool) {
	n := len(*m) - 1
	if n < 0 || (*m)[n].at > until {
		return delayed{}, false
	}
	first = (*m)[n]
	*m = (*m)[:n]
	return first, true
}

func (h *history) newHolder() *holder {
	h.named++
	return &holder{name: strconv.AppendInt(nil, int64(h.named), 10)}
}

// after has something happen later.
func (h *history) after(delay int64, arrive func()) { h.messages.send(h.now+delay, arrive) }

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
	for m, ok := h.messages.receive(until); ok; m, ok = h.messages.receive(until) {
		h.now = m.at
		m.arrive()
	}
	h.now = until
	x, at := h.r.IntN(len(h.holders)), h.r.IntN(1000)
	holder := h.holders[x]
	switch {
	case at < 500:
		h.request(holder)
	case at < 750:
		h.send(holder, engine.Op{Verb: engine.Lend, Limit: h.asked, Tokens: 1 + h.r.Int64N(h.asked.Capacity), Options: engine.Whole * engine.Option(h.r.IntN(2))})
	case at < 810:
		h.send(holder, engine.Op{Verb: engine.Return})
	case at < 870:
		h.large()
	case at < 890:
		h.reset()
	case at < 930:
		h.change()
	case at < 940 && h.snapshot == nil:
		h.snapshot, h.taken, h.since = h.store.Snapshot(), h.now, h.since[:0]
	case at < 970 && h.snapshot != nil:
		h.reload()
	default:
		h.replace(x)
	}
}

// ask has the store carry out an operation. The result is valid until the next one.
func (h *history) ask(op engine.Op) *engine.Result {
	if h.snapshot != nil {
		h.since = append(h.since, timedOp{h.now, op.Clone()})
	}
	h.op[0] = op
	h.store.Apply(h.now, h.op[:], h.result[:])
	return &h.result[0]
}

func (h *history) lent() int64 { return h.ask(engine.Op{Verb: engine.Look, Key: lentKey}).Lent }

// acquire has the store decide a request for the key, alone or among several, and returns the tokens it granted of it.
func (h *history) acquire(op engine.Op) (granted int64) {
	limit, n := op.Limit, op.Tokens
	switch op.Verb {
	case engine.AcquireAll:
		limit, n = op.Parts[0].Limit, op.Parts[0].Tokens
	case engine.Check:
		if limit = h.asked; &op.Key[0] == &enforced[0] {
			n = enforcedCost
		}
	}
	res := h.ask(op)
	if op.Options&engine.UpTo != 0 {
		if n = res.Granted; n > 0 && n < op.Tokens {
			h.Parts++
		}
	}
	isSeveral := op.Verb == engine.AcquireAll || op.Verb == engine.Check
	switch {
	case op.Keep != 0 && res.Status == engine.OK && !res.Allowed:
		h.Kept++
		return 0
	case isSeveral && res.Status == engine.OK && res.Binding >= 0 && res.Allowed:
		h.ShadowDenied++
		return 0
	case res.Status != engine.OK || !res.Allowed:
		return 0
	case isSeveral:
		h.Several++
		if n != op.Tokens {
			h.Costs++
		}
	}
	h.Acquired++
	h.hold(limit)
	h.charge(n)
	return n
}

// hold has a limit come into force, with a grant.
func (h *history) hold(limit limits.Limit) {
	if limit == h.held {
		return
	}
	before := h.held
	h.held = limit
	if h.lent() > 0 {
		h.Changes++
		if limit.Capacity < before.Capacity {
			h.Lowered++
		}
		if h.fault.changed != nil {
			h.fault.changed(h)
		}
	}
}

// charge has the one limiter charged with tokens that were spent now.
func (h *history) charge(n int64) {
	h.endWindow()
	res := h.askOne(engine.Op{Key: lentKey, Limit: h.oneLimit(), Tokens: n, Options: engine.Force})
	h.excess = max(h.excess, -res.Remaining)
}

func (h *history) askOne(op engine.Op) engine.Result {
	h.op[0] = op
	h.one.Apply(h.now, h.op[:], h.result[:])
	return h.result[0]
}

// oneLimit is the limit of the one limiter. Windows that begin with the first request end there when those of
// the store do, because its first request is another.
func (h *history) oneLimit() limits.Limit {
	limit := h.held
	if limit.Algorithm == limits.FixedWindow && limit.Span == limits.FromFirst {
		limit.Rate.Period = limits.MaxDuration
	}
	return limit
}

// endWindow ends the window of the one limiter with that of the store.
func (h *history) endWindow() {
	if loansEnd(h.first) {
		return
	}
	if h.now >= h.windowEnd {
		h.askOne(engine.Op{Verb: engine.Delete, Key: lentKey})
	}
	h.windowEnd = never
	if look := h.ask(engine.Op{Verb: engine.Look, Key: lentKey}); look.Status == engine.OK && look.Reset > 0 {
		h.windowEnd = h.now + look.Reset
	}
}
