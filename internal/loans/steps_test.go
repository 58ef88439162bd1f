package loans

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

var began = time.Unix(1_000_000, 0)

// perSecond is a limit of some tokens that refill in a second.
func perSecond(capacity int64) limits.Limit {
	return limits.Limit{
		Algorithm: limits.TokenBucket, Capacity: capacity,
		Rate: limits.Rate{Tokens: capacity, Period: int64(time.Second)},
	}
}

// Demand follows what this process uses and, if that is more, what is missing from the purse.
func TestDemandBySteps(t *testing.T) {
	const unseen = -1
	d := newDemand(began)
	for i, step := range []struct {
		after        time.Duration // since the beginning
		uses, leaves int64
		in           float64 // the next second
		rising       int64
	}{
		{0, 10, unseen, 0, 200},
		{49 * time.Millisecond, 5, unseen, 0, 300},
		{50 * time.Millisecond, 5, 100, 400, 0}, // 20 in 50 ms
		{60 * time.Millisecond, 1, 70, 400, 600},
		{70 * time.Millisecond, 1, 80, 400, 600}, // a result that comes late says nothing new
		{80 * time.Millisecond, 1, 60, 400, 800},
		{100 * time.Millisecond, 1, 50, 1000, 0},  // 50 of all nodes in 50 ms
		{110 * time.Millisecond, 1, 90, 1000, 20}, // more were lent
		{200 * time.Millisecond, 9, 80, 775, 0},   // a fall is followed slowly: 10 in 100 ms are a quarter of the estimate
	} {
		now := began.Add(step.after)
		d.use(step.uses)
		if step.leaves != unseen {
			d.see(step.leaves)
		}
		d.measure(now)
		if in, rising := d.in(time.Second), d.rising(time.Second); in != step.in || rising != step.rising {
			t.Errorf("step %d: %v tokens a second and %d if demand rises, want %v and %d", i, in, rising, step.in, step.rising)
		}
	}
}

// A denial holds for requests for as many tokens under the same limit. Others wait as long as refill takes.
func TestDenialBySteps(t *testing.T) {
	limit := perSecond(10)
	d := Denial{Limit: limit, Tokens: 3, Until: began.Add(DenyFor), Due: began.Add(400 * time.Millisecond)}
	for _, c := range []struct {
		after  time.Duration
		tokens int64
		holds  bool
		wait   time.Duration
	}{
		{0, 3, true, 300 * time.Millisecond}, // the purse has one of them
		{0, 4, true, 400 * time.Millisecond},
		{0, 6, true, 600 * time.Millisecond},
		{0, 2, false, 200 * time.Millisecond},
		{0, 1, false, 100 * time.Millisecond}, // not before home is asked again
		{99 * time.Millisecond, 3, true, 201 * time.Millisecond},
		{100 * time.Millisecond, 3, false, 200 * time.Millisecond},
		{time.Second, 3, false, time.Millisecond},
	} {
		now := began.Add(c.after)
		if holds, wait := d.denies(now, limit, c.tokens, false), d.Wait(now, c.tokens, 1); holds != c.holds || wait != int64(c.wait) {
			t.Errorf("%d tokens after %v: %t and %d, want %t and %d", c.tokens, c.after, holds, wait, c.holds, c.wait)
		}
	}
	if d.denies(began, perSecond(11), 3, true) {
		t.Error("it holds under another limit")
	}
	if d.Wait(began, 11, 1) != engine.NeverWait {
		t.Error("a wait for more tokens than the limit ever has ends")
	}
	if d.Never = true; d.Wait(began, 3, 1) != engine.NeverWait {
		t.Error("a wait for tokens that never come has an end")
	}
}

// While home is asked again, a denial holds for no longer than home may take.
func TestRenewedDenialEnds(t *testing.T) {
	for _, d := range []Denial{
		{Limit: perSecond(10), Tokens: 1, Until: began.Add(DenyFor), Last: began.Add(time.Second), renewing: true},
		{Limit: perSecond(10), Tokens: 1, Until: began.Add(DenyFor), Asking: began.Add(time.Second)},
	} {
		if !d.denies(began.Add(time.Second-1), d.Limit, 1, true) || d.denies(began.Add(time.Second), d.Limit, 1, true) {
			t.Errorf("it holds for too short or too long: %+v", d)
		}
	}
}

// Only requests that could be granted are demand, and only while their denial is in force.
func TestDeniedDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, limit := time.Now(), perSecond(10)
		key := newKey(&Keeper{opt: Options{DenyFor: DenyFor}}, keyID{0, "k"}, now)
		key.denied = &Denial{Limit: limit, Tokens: 1, Until: now.Add(DenyFor), Renew: now.Add(DenyFor), Last: now.Add(time.Second)}
		for _, c := range []struct {
			tokens int64
			takes  bool
			unmet  int64
		}{{2, true, 2}, {11, true, 2}, {2, false, 2}, {3, true, 5}, {10, true, 10}} {
			if _, holds := key.Denied(now, limit, c.tokens, c.takes); !holds || key.denied.unmet != c.unmet {
				t.Errorf("%d tokens, taken: %t: %d are unmet, want %d", c.tokens, c.takes, key.denied.unmet, c.unmet)
			}
		}
	})
}

// A request that has waited is no new demand, because home was asked for its tokens. The look of a request is demand for
// the limits that it waits for in place of the request.
func TestDemandIsCountedOnce(t *testing.T) {
	fixed, included := engine.Op{Limit: perSecond(1), Options: engine.FixedCost}, engine.Op{Limit: perSecond(1)}
	for name, c := range map[string]struct {
		r    Several
		want bool
	}{
		"a request":            {Several{}, true},
		"one that has waited":  {Several{tries: 1}, false},
		"a look":               {Several{Asked: engine.Op{Options: engine.Peek}}, false},
		"a look of itself":     {Several{Asked: engine.Op{Options: engine.Peek}, itself: &itself{limits: []engine.Op{included, fixed}}}, true},
		"another limit of one": {Several{Asked: engine.Op{Options: engine.Peek}, itself: &itself{limits: []engine.Op{fixed, included}}}, false},
	} {
		if got := c.r.isDemand(0); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// An answer of home to a request that was on its way does not end a denial that holds for more, and that is renewed.
func TestRenewedDenialStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, limit := time.Now(), perSecond(10)
		key := newKey(&Keeper{opt: Options{DenyFor: DenyFor}}, keyID{0, "k"}, now)
		key.denied = &Denial{Limit: limit, Tokens: 2, Until: now.Add(DenyFor), renewing: true}
		for _, c := range []struct {
			tokens int64
			stays  bool
		}{{3, true}, {2, true}, {1, false}} {
			key.Answered(&engine.Op{Limit: limit, Tokens: c.tokens}, now, &engine.Result{Wait: int64(time.Second)})
			if key.denied.renewing != c.stays {
				t.Errorf("after a denial of %d tokens: %+v", c.tokens, key.denied)
			}
		}
	})
}

// The last tokens are borrowed ahead from a home far away, under limits that do not refill meanwhile. Only then denials
// are renewed before they end.
func TestWhatIsBorrowedAhead(t *testing.T) {
	far, near := Options{Ahead: time.Second, LastAhead: 2 * DenyFor}, Options{Ahead: time.Second}
	bucket := func(capacity, rate int64) limits.Limit {
		return limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: rate, Period: int64(time.Second)}}
	}
	window := func(length time.Duration) limits.Limit {
		return limits.Limit{Algorithm: limits.FixedWindow, Capacity: 10, Rate: limits.Rate{Period: int64(length)}}
	}
	for name, c := range map[string]struct {
		opt   Options
		limit limits.Limit
		want  bool
	}{
		"far":               {far, bucket(10, 10), true},
		"near":              {near, bucket(10, 10), false},
		"it refills sooner": {far, bucket(9, 10), false},
		"a short window":    {far, window(time.Second), false},
		"a long window":     {far, window(time.Minute), true},
		"a day":             {far, limits.Limit{Algorithm: limits.FixedWindow, Capacity: 10, Span: limits.EachDay}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.opt.DenyFor = DenyFor
			key := newKey(&Keeper{opt: c.opt}, keyID{0, "k"}, time.Now())
			x := exchange{key: key, limit: c.limit, want: 5, waiting: 5, asked: time.Now()}
			x.learn([]engine.Result{{}, {Wait: int64(time.Hour)}, {}})
			if renews := !key.denied.Renew.IsZero(); renews != c.want || c.opt.lendsLast(c.limit) != c.want {
				t.Errorf("%s: it renews the denial: %t", name, renews)
			}
		})
	}
}

// A denial of a time before tokens came back to home is not kept.
func TestDenialBeforeTokensCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		key := newKey(&Keeper{opt: Options{DenyFor: DenyFor}}, keyID{0, "k"}, now)
		x := exchange{key: key, limit: perSecond(10), want: 5, waiting: 5, asked: now.Add(-time.Millisecond)}
		key.GaveBack(5)
		if x.learn([]engine.Result{{}, {Wait: int64(time.Hour)}, {}}); key.denied != nil {
			t.Errorf("%+v", key.denied)
		}
	})
}

// A denial is repeated for the usual time, or for longer while home has too few tokens.
func TestDenialIsRepeatedWhileHomeIsShort(t *testing.T) {
	for _, c := range []struct{ denyFor, wait, want time.Duration }{
		{DenyFor, 10 * time.Millisecond, DenyFor},
		{DenyFor, 0, DenyFor},
		{time.Second, 10 * time.Millisecond, DenyFor},
		{time.Second, 300 * time.Millisecond, 300 * time.Millisecond},
		{time.Second, time.Hour, time.Second},
		{time.Millisecond, time.Hour, time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			key := newKey(&Keeper{opt: Options{Ahead: time.Second, LastAhead: 2 * DenyFor, DenyFor: c.denyFor}}, keyID{0, "k"}, now)
			x := exchange{key: key, limit: perSecond(10), want: 5, waiting: 5, asked: now.Add(-time.Millisecond)}
			o := x.learn([]engine.Result{{}, {Wait: int64(c.wait)}, {}})
			if d := key.denied; !o.IsDry || d.Until != now.Add(c.want) || d.Renew != d.Until.Add(-min(2*time.Millisecond, c.want/2)) {
				t.Errorf("for %v, home has the tokens after %v: %+v", c.denyFor, c.wait, d)
			}
		})
	}
}

// Home denies if it has lent all that it had, whatever refills meanwhile.
func TestAnswersOfHomeBySteps(t *testing.T) {
	has := func(tokens int64) engine.Result {
		return engine.Result{Allowed: tokens > 0, Granted: min(1, tokens), Remaining: tokens}
	}
	for name, c := range map[string]struct {
		left, granted  int64
		number         uint64 // of the loan: the purse has 1, and has prepared 2
		look           engine.Result
		isDry, refuses bool
	}{
		"home has few":                    {granted: 60, number: 2, look: has(0), isDry: true},
		"tokens have refilled":            {granted: 60, number: 2, look: has(50), isDry: true},
		"home has none":                   {number: 1, look: has(2), isDry: true},
		"the loan ends, and home is dry":  {look: has(2), isDry: true},
		"an operator has ended the loan":  {left: 50, look: has(50)},
		"others wait for the rest":        {left: 50, granted: 50, number: 2, look: has(0), isDry: true},
		"another node has asked for less": {left: 500, granted: 1, number: 2, look: has(500)},
		"home has too many holders":       {left: 50, number: 1, look: has(50), refuses: true},
		"as much as is asked for":         {granted: 100, number: 2, look: has(0)},
	} {
		synctest.Test(t, func(t *testing.T) {
			key := newKey(&Keeper{opt: Options{DenyFor: DenyFor}}, keyID{0, "k"}, time.Now())
			key.enforced = time.Now() // this is not the reason
			x := exchange{key: key, limit: perSecond(1000), want: 100, waiting: 1, left: c.left, brought: c.granted, asked: time.Now()}
			x.purse.Number, x.purse.Previous = 2, 1
			o := x.learn([]engine.Result{{Granted: c.granted, Number: c.number}, c.look, {Status: Refused}})
			if d := key.denied; o.IsDry != c.isDry || (o.Refusal.Status == Refused) != c.refuses || (d != nil) != c.isDry || d != nil && (d.Answer.Allowed || d.Answer.Granted > 0) {
				t.Errorf("%s: %+v, and the denial is %+v", name, o, d)
			}
		})
	}
}

// A Keeper borrows when the purse is low, and as much as is used in the time ahead.
func TestBorrowingBySteps(t *testing.T) {
	near := Options{Replicas: func() []Replica { return nil }, Ahead: time.Second, Low: 1. / 8, LowLeading: 3. / 8}
	far := Options{HomeDecides: true, Ahead: time.Second, LastAhead: 2 * DenyFor, Low: 1. / 2, LowLeading: 1. / 2}
	for name, c := range map[string]struct {
		opt     Options
		used    int64 // in 50 ms
		atHome  int64
		isDry   bool
		waiting int64
		needed  bool // by a waiting request that home cannot decide
		left    int64
		low     bool
		wants   int64
		worth   bool // a loan for 15 tokens
	}{
		"near: nothing is used":       {opt: near, atHome: 800, left: 0, wants: 0},
		"near: home keeps most":       {opt: near, used: 10, atHome: 800, left: 20, low: true, wants: 80, worth: true},
		"near: enough is left":        {opt: near, used: 10, atHome: 800, left: 25, wants: 75, worth: true},
		"near: requests wait":         {opt: near, used: 9, atHome: 80, waiting: 9, left: 4, low: true, wants: 15, worth: true},
		"near: home has nothing":      {opt: near, used: 10, left: 0, low: true, wants: 0, worth: true},
		"near: the last are for all":  {opt: near, used: 10, atHome: 40, waiting: 3, needed: true, low: true, wants: 8, worth: true},
		"near: what refills":          {opt: near, used: 10, isDry: true, left: 0, low: true, wants: 62, worth: true},
		"near: home is in debt":       {opt: near, used: 10, atHome: -5, waiting: 3, low: true, wants: 3, worth: true},
		"far: home decides":           {opt: far, used: 10, left: 19, low: true, wants: 181, worth: true},
		"far: home has little left":   {opt: far, used: 10, atHome: 199, left: 20, wants: 180, worth: true},
		"far: enough is left":         {opt: far, used: 10, left: 100, wants: 100, worth: true},
		"far: no more than the limit": {opt: far, used: 1000, left: 0, waiting: 5, low: true, wants: 1000, worth: true},
		"far: a loan is needed":       {opt: far, used: 10, atHome: 800, waiting: 3, needed: true, low: true, wants: 103, worth: true},
		"far: few requests":           {opt: far, used: 1, left: 0, low: true, wants: 20},
		"far: more is left":           {opt: far, used: 1, left: 50, wants: 0},
	} {
		key := newKey(&Keeper{opt: c.opt}, keyID{0, "k"}, began)
		key.limit, key.home.Remaining, key.isDry = perSecond(1000), c.atHome, c.isDry
		if c.waiting > 0 {
			key.waiters = []Request{&request{tokens: c.waiting}}
		}
		now := began.Add(measureOver)
		key.demand.use(c.used)
		key.demand.measure(now)
		if isLow := key.isLow(c.left); isLow != c.low {
			t.Errorf("%s: %t that the purse is low", name, isLow)
		}
		if wants := key.want(c.left, c.needed); wants != c.wants {
			t.Errorf("%s: wants %d tokens, want %d", name, wants, c.wants)
		}
		if worth := key.IsWorthLoan(now, key.limit, 15); worth != c.worth {
			t.Errorf("%s: %t that a loan is worth it", name, worth)
		}
		rested := now.Add(time.Second)
		key.restUntil(rested)
		if key.IsWorthLoan(rested.Add(-1), key.limit, 15) || key.IsWorthLoan(rested, key.limit, 15) != c.worth {
			t.Errorf("%s: it does not rest for a second", name)
		}
	}
}
