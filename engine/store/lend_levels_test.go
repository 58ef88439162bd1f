package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/internal/testsize"
)

// levels are a home, zones that lend its tokens on, and holders beside applications, which spend them. A step of time
// is levelStep; a message between two levels takes one step there and one back. Everything but the holders and the
// messages is the code that runs in servers.
type levels struct {
	t       testing.TB
	r       *rand.Rand
	home    *Store
	limit   limits.Limit
	now     int64
	zones   []*levelZone
	holders []*levelHolder

	faults               bool
	level                float64 // of a bucket that is charged when a token is spent: below 0 the limit is exceeded
	granted, asked, over int64
}

const (
	levelStep = int64(50 * time.Millisecond)
	levelFor  = int64(20 * time.Second)
)

// levelZone is a server that lends on.
type levelZone struct {
	*purse.Pool
	name    string
	born    int
	waiting []*levelHolder
	ops     []*engine.Op
	sent    engine.Op
	answer  *engine.Result
	cut     int64 // from home, until then
	due     int64 // when the message under way arrives, at home and then here; 0 for none
}

// levelHolder is a process with a purse.
type levelHolder struct {
	purse.Purse
	zone         *levelZone
	name         string
	numbers      uint64
	rate, asks   float64 // tokens that its callers ask for, per step and so far
	began, spend int64   // when the prepared operation began, and until when it may spend
	want, short  int64
	isAway       bool
	rests, idles int64 // asks for no loan, or has no callers, until then
	granted      int64
	answers      int   // so far, up to two
	soon, soonAt int64 // the tokens of the first two answers, and when the second one came
}

func newLevels(t testing.TB, seed uint64, zones int, rates []float64, limit limits.Limit) *levels {
	l := &levels{t: t, r: rand.New(rand.NewPCG(seed, 1)), home: New(Config{Shards: 1}), limit: limit, now: epoch, level: float64(limit.Capacity)}
	t.Cleanup(func() { l.home.Close() })
	for i := range zones {
		l.zones = append(l.zones, &levelZone{Pool: purse.NewPool(l.now), name: fmt.Sprintf("zone%d", i)})
	}
	holders := make([]levelHolder, len(rates))
	for i, rate := range rates {
		h := &holders[i]
		*h = levelHolder{name: fmt.Sprintf("holder%d", i), zone: l.zones[i%zones], rate: rate * float64(levelStep) / float64(time.Second)}
		h.asks = l.r.Float64()
		l.holders = append(l.holders, h)
	}
	return l
}

// run goes on for some time.
func (l *levels) run(length time.Duration) {
	for end := l.now + int64(length); l.now < end; {
		l.now += levelStep
		l.level = min(float64(l.limit.Capacity), l.level+float64(l.limit.Rate.Tokens)*float64(levelStep)/float64(l.limit.Rate.Period))
		for _, at := range l.r.Perm(len(l.zones)) {
			l.exchange(l.zones[at])
		}
		first := l.r.IntN(len(l.holders)) // a permutation of very many takes longer than all else, because no cache has them
		for at := range l.holders {
			l.live(l.holders[(first+at)%len(l.holders)])
		}
		for _, z := range l.zones {
			if z.due == 0 && (len(z.waiting) > 0 && z.MayAsk(l.now) || z.Due(l.now)) {
				l.send(z)
			}
		}
		if l.level < -1e-3 {
			l.over = max(l.over, int64(math.Ceil(-l.level)))
		}
	}
}

// send sends a zone's next operation.
func (l *levels) send(z *levelZone) {
	z.sent, z.answer, z.due = z.Ask(l.now, []byte(fmt.Sprint(z.name, "/", z.born)), z.ops), nil, l.now+levelStep
	z.sent.Key = []byte("k")
}

// exchange brings a zone's message to home, and the answer back. Messages are lost with faults.
func (l *levels) exchange(z *levelZone) {
	if z.due == 0 || z.due > l.now {
		return
	}
	isLost := l.faults && l.r.IntN(50) == 0
	switch {
	case z.answer != nil:
		z.due = 0
		z.Hear(l.now, z.answer)
		l.serve(z)
	case l.now < z.cut || isLost && l.r.IntN(2) == 0: // it does not arrive
		z.due = 0
		z.Failed(l.now)
		l.serve(z)
	default:
		res := ask(l.home, l.now, z.sent)
		if res.Status != engine.OK {
			l.t.Errorf("home answers %s with status %d", z.name, res.Status)
		}
		if z.answer, z.due = &res, l.now+levelStep; isLost {
			z.due = 0
			z.Failed(l.now)
			l.serve(z)
		}
	}
}

func (l *levels) serve(z *levelZone) {
	results := z.Serve(l.now, z.ops)
	for i, h := range z.waiting {
		l.hear(h, &results[i])
	}
	z.waiting, z.ops = nil, nil
}

// live has a holder's callers ask for a step.
func (l *levels) live(h *levelHolder) {
	if h.asks += h.rate; l.now < h.idles {
		h.asks = 0
	}
	n := int64(h.asks)
	h.asks -= float64(n)
	l.asked += n
	if l.now >= h.spend {
		h.Tokens = 0
	}
	spent := min(n, h.Tokens)
	h.Tokens, h.short = h.Tokens-spent, h.short+n-spent
	h.granted, l.granted, l.level = h.granted+spent, l.granted+spent, l.level-float64(spent)
	perSecond := int64(math.Ceil(h.rate * float64(time.Second) / float64(levelStep)))
	isIdle := l.now < h.idles
	if h.isAway || l.now < h.rests || isIdle && h.Previous == 0 && !h.Prepared || !isIdle && h.Tokens*2 > perSecond && h.spend-l.now > levelFor/3 {
		return
	}
	if !h.Prepared {
		h.numbers++
		h.Prepare(h.numbers, isIdle)
		h.want, h.began = max(0, perSecond+h.short-h.Tokens), l.now
	}
	h.short = 0
	op, loan := &engine.Op{Verb: engine.Lend, Who: []byte(h.name), Limit: l.limit, Tokens: h.want, MaxWait: levelFor}, h.Loan()
	if op.Loan = &loan; h.Returning {
		op.Verb = engine.Return
	}
	if l.faults && l.r.IntN(100) == 0 {
		return // it is lost
	}
	z := h.zone
	if !z.Needs(l.now, op) {
		res := z.Now(l.now, op)
		l.hear(h, &res)
		return
	}
	h.isAway = true
	z.waiting, z.ops = append(z.waiting, h), append(z.ops, op)
}

// hear gives a holder its zone's answer, which may be lost.
func (l *levels) hear(h *levelHolder, res *engine.Result) {
	h.isAway = false
	if res.Granted < h.want {
		h.rests = l.now + int64(250*time.Millisecond) // as in server/upstream
	}
	if res.Status != engine.OK || l.faults && l.r.IntN(100) == 0 {
		return // it asks again
	}
	brought, drops := h.Meaning(res.Granted, res.Number)
	if h.Deposit(brought, drops, res.Number); res.Number == h.Number {
		h.spend = h.began + levelFor*2/3
	}
	if h.answers < 2 {
		h.answers, h.soon, h.soonAt = h.answers+1, h.soon+brought, l.now
	}
}

// kill kills a holder, which begins again without tokens under another name.
func (l *levels) kill(h *levelHolder) {
	h.Purse, h.name, h.short = purse.Purse{}, h.name+"x", 0
	z := h.zone
	if at := slices.Index(z.waiting, h); at >= 0 {
		z.waiting, z.ops = slices.Delete(z.waiting, at, at+1), slices.Delete(z.ops, at, at+1)
	}
	h.isAway = false
}

// killZone kills a zone, which forgets what it has lent. Its holders spend on.
func (l *levels) killZone(z *levelZone) {
	for _, h := range z.waiting {
		h.isAway = false
	}
	*z = levelZone{Pool: purse.NewPool(l.now), name: z.name, born: z.born + 1}
}

// cutHome cuts all zones off from home for a time.
func (l *levels) cutHome(length int64) {
	for _, z := range l.zones {
		z.cut = l.now + length
	}
}

// unevenRates returns the demand of holders, in tokens a second: a few ask for much, many for little.
func unevenRates(n int, sum float64) []float64 {
	rates, all := make([]float64, n), 0.
	for i := range rates {
		rates[i] = 1 / math.Pow(float64(i+10), 0.7)
		all += rates[i]
	}
	for i := range rates {
		rates[i] *= sum / all
	}
	return rates
}

// mostToEach is the most that each of several demands gets if their sum is bounded and none gets more than another that
// asks for as much.
func mostToEach(demands []float64, sum float64) (most float64) {
	sorted := slices.Sorted(slices.Values(demands))
	for i, d := range sorted {
		if most = sum / float64(len(sorted)-i); d > most {
			return most
		}
		sum -= d
	}
	return math.Inf(1)
}

// Zones lend a limit on to thousands of holders, whose callers ask for more than the limit, unevenly. Nearly all of it is
// used, and no more; who asks for more than others gets no more than they, and newcomers get as much by their second
// answer. Then holders and zones are killed, and home is away: no more than the limit is used.
func TestThreeLevels(t *testing.T) {
	count := min(testsize.Pick(2000, 100_000), 100_000)
	perSecond, before := float64(2*count), heapBytes()
	rates := unevenRates(count, 1.3*perSecond)
	l := newLevels(t, testsize.Seed(), max(10, count/4000), rates, bucket(int64(10*perSecond), int64(perSecond), sec))
	l.empty()
	newcomers, most, all := count/100, mostToEach(rates, perSecond), l.holders
	l.holders = all[newcomers:]
	l.run(15 * time.Second)
	for _, h := range l.holders {
		h.granted = 0
	}
	const length = 20
	used, worst := l.used(length*time.Second), 1.
	for i, h := range l.holders {
		worst = min(worst, float64(h.granted)/length/min(rates[newcomers+i], most))
	}
	l.holders = all
	came, soon := l.now, 0.
	l.run(2 * time.Second)
	for _, h := range all[:newcomers] {
		soon += float64(h.soon) / (float64(newcomers) * most * time.Duration(h.soonAt-came).Seconds())
	}
	bytes := (heapBytes() - before) / count
	for i := range 12 {
		l.run(time.Second)
		for range newcomers {
			l.kill(all[l.r.IntN(count)])
		}
		switch {
		case i == 7:
			l.cutHome(3 * sec)
		case i%5 == 0:
			l.killZone(l.zones[l.r.IntN(len(l.zones))])
		}
	}
	after := l.used(length * time.Second)
	t.Logf("%d holders in %d zones: %.1f %% of the limit are used, and %.1f %% after kills; nobody gets less than %.0f %% of a fair share, and newcomers %.0f %% by their second answer; %d bytes a holder; %d of %d tokens granted",
		count, len(l.zones), 100*used, 100*after, 100*worst, 100*soon, bytes, l.granted, l.asked)
	if l.over > 0 || used < 0.95 || after < 0.95 || worst < 0.4 || soon < 0.5 || bytes > 10_000 {
		t.Errorf("%d tokens beyond the limit", l.over)
	}
}

// used goes on for some time, and returns the part of the limit that is used.
func (l *levels) used(length time.Duration) (part float64) {
	before := l.granted
	l.run(length)
	return float64(l.granted-before) / float64(l.limit.Rate.Tokens) / length.Seconds()
}

// empty takes all tokens that home has.
func (l *levels) empty() {
	ask(l.home, l.now, engine.Op{Verb: engine.Acquire, Key: []byte("k"), Limit: l.limit, Tokens: l.limit.Capacity})
	l.level = 0
}

// heapBytes is the memory that is in use.
func heapBytes() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Holders and zones are killed, zones are cut off from home or home is away, and messages are lost, also those that were carried out:
// nothing is granted beyond the limit in any interval.
func TestThreeLevelsThroughFaults(t *testing.T) {
	const count, perSecond = 200, 2000
	for round, seconds := range []int64{1, 5, 30, 100} { // the capacity
		l := newLevels(t, testsize.Seed()+uint64(round), 5, unevenRates(count, 1.5*perSecond), bucket(seconds*perSecond, perSecond, sec))
		l.faults = true
		for range testsize.Pick(80, 1000) {
			l.run(time.Duration(l.r.Int64N(int64(4 * time.Second))))
			switch l.r.IntN(10) {
			case 0:
				l.killZone(l.zones[l.r.IntN(len(l.zones))])
			case 1:
				z := l.zones[l.r.IntN(len(l.zones))] // its holders come back when home may count its loan as spent
				z.cut = l.now + l.r.Int64N(4*levelFor)
				for _, h := range l.holders {
					if h.zone == z {
						h.idles = l.now + (z.cut-l.now)*3/4
					}
				}
			case 2:
				l.cutHome(l.r.Int64N(5 * sec))
			case 3:
				for range count { // unused tokens go back
					l.holders[l.r.IntN(count)].idles = l.now + l.r.Int64N(20*sec)
				}
			default:
				for range 20 {
					l.kill(l.holders[l.r.IntN(count)])
				}
			}
		}
		t.Logf("%d of %d tokens granted in %v", l.granted, l.asked, time.Duration(l.now-epoch))
		for _, h := range l.holders {
			h.idles = math.MaxInt64
		}
		l.run(7 * time.Duration(levelFor))
		lent := ask(l.home, l.now, engine.Op{Verb: engine.Look, Key: []byte("k")}).Lent
		if l.over > 0 || l.granted == 0 || lent > 0 {
			t.Errorf("a capacity of %d s: %d tokens beyond the limit, and %d are lent to nobody", seconds, l.over, lent)
		}
	}
}
