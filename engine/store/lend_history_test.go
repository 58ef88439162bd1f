package store

import (
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

var histories = flag.Int("histories", testsize.Pick(400, 1200), "random histories of loans, of all limits together")

// lentLimits are the limits with which histories begin.
var lentLimits = map[string]limits.Limit{
	"token bucket": bucket(60, 5, sec),
	"gcra":         {Algorithm: limits.GCRA, Capacity: 90, Rate: limits.Rate{Tokens: 60, Period: 7 * sec}},
	"leaky bucket": {Algorithm: limits.LeakyBucket, Capacity: 60, Rate: limits.Rate{Tokens: 3, Period: sec}},
	"window":       {Algorithm: limits.FixedWindow, Capacity: 200, Rate: limits.Rate{Tokens: 0, Period: 2 * sec}},
	"clock window": {Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 200, Rate: limits.Rate{Tokens: 0, Period: 2 * sec}},
	"minute":       {Algorithm: limits.FixedWindow, Span: limits.EachMinute, Capacity: 2000},
}

// Whatever holders, callers and messages do, the holders and the limiter grant no more together than one limiter does
// that is told of every token when it is spent, and whose limit changes when the limiter's does.
//
// The bound at a grant is the capacity in force, also right after a smaller one came into force: a new limit comes into
// force with a grant, which fits it beside all that is taken and lent. Refill is at the rate in force.
func TestLoansNeverExceedTheLimit(t *testing.T) {
	for name, limit := range lentLimits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var done work
			events := 0
			for seed := range uint64(max(1, *histories/len(lentLimits))) {
				h := play(seed, limit, fault{})
				if h.excess > 0 || h.differs {
					t.Fatalf("seed %d: %d tokens more than the limit; replay differs: %t", seed, h.excess, h.differs)
				}
				n, err := h.tracer.Err()
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				done.add(&h.work)
				events += n
			}
			done.check(t, limit)
			t.Logf("%d operations on loans follow the specification", events)
		})
	}
}

// Each fault makes some history exceed the limit, and another leave the specification, so the test above can fail.
func TestHistoriesShowFaults(t *testing.T) {
	for _, f := range faults {
		for name, limit := range lentLimits {
			t.Run(f.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				exceeds, strays := false, false
				for seed := range uint64(3000) {
					h := play(seed, limit, f)
					_, err := h.tracer.Err()
					exceeds, strays = exceeds || h.excess > 0, strays || err != nil
					if exceeds && strays {
						return
					}
				}
				t.Errorf("histories exceed the limit: %t, leave the specification: %t", exceeds, strays)
			})
		}
	}
}

// work counts what happened in histories.
type work struct {
	Spent        int // requests granted from a loan
	Merged       int // Lends that granted requests
	Acquired     int // granted by the limiter
	Several      int // granted together with another limit
	Costs        int // of these, at a separate cost
	Parts        int // granted in part
	Kept         int // denied because they keep some
	Settled      int // of a lent key
	ShadowDenied int // allowed, and nothing taken
	Refunds      int // of a lent key
	Resets       int
	Voids        int // that ended a loan
	Ended        int // holders that stopped before their loan's end
	Ignored      int // operations of a holder after another than the last
	Changes      int // of a lent key's limit
	Lowered      int // of these, to a smaller capacity
	Reloads      int // of a lent key
}

func (w *work) add(other *work) {
	sum, more := reflect.ValueOf(w).Elem(), reflect.ValueOf(other).Elem()
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
}

// check fails if something never happened.
func (w *work) check(t *testing.T, limit limits.Limit) {
	t.Logf("%+v", *w)
	all := reflect.ValueOf(*w)
	for i := range all.NumField() {
		if name := all.Type().Field(i).Name; all.Field(i).Int() == 0 && (name != "Ended" || loansEnd(limit)) {
			t.Errorf("no %s in any history", name)
		}
	}
}

// loansEnd reports whether histories of a limit have loans with an end. They have none if a window begins with a
// charge: the end of a loan is one that no answer shows, so the test would not know its windows.
func loansEnd(limit limits.Limit) bool {
	return limit.Algorithm != limits.FixedWindow || limit.Span != limits.FromFirst
}

// play runs a history of one key.
func play(seed uint64, limit limits.Limit, f fault) *history {
	r := rand.New(rand.NewPCG(seed, 7))
	h := &history{r: r, fault: f, store: New(Config{Shards: 1}), one: New(Config{Shards: 1}), now: epoch + r.Int64N(60*sec),
		first: limit, asked: limit, held: limit, windowEnd: never}
	if r.IntN(2) == 0 && loansEnd(limit) {
		h.loanFor = sec/2 + r.Int64N(3*sec)
	}
	defer func() {
		if h.snapshot != nil {
			h.snapshot.Release()
		}
		h.store.Close()
		h.one.Close()
	}()
	for i := range h.holders {
		h.holders[i] = h.newHolder()
	}
	h.setPolicies()
	for range 400 {
		h.step()
	}
	return h
}
