package store

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// naive is an algorithm as the handbook describes it, written without regard to time or space.
type naive interface {
	// free returns the most that could be granted at now, before the bound of a request; it may be negative.
	free(now int64, l limits.Limit) int64
	// take notes that tokens were granted, or that a holder has a lease.
	take(now int64, l limits.Limit, tokens int64, who string)
	// known reports whether who holds a lease already.
	known(now int64, who string) bool
}

type grant struct {
	at, tokens int64
}

type naiveFixed struct {
	grants []grant // of the window that holds
	end    int64
}

func (n *naiveFixed) free(now int64, l limits.Limit) int64 {
	if now >= n.end {
		n.grants = nil
	}
	return l.Capacity - sum(n.grants)
}

func (n *naiveFixed) take(now int64, l limits.Limit, tokens int64, _ string) {
	if n.free(now, l); len(n.grants) == 0 {
		n.end = endOfWindow(now, l)
	}
	n.grants = append(n.grants, grant{now, tokens})
}

var berlin, _ = calendar.ParseZone([]byte("Europe/Berlin"))

// endOfWindow finds the end of the calendar's window by walking through time.
func endOfWindow(now int64, l limits.Limit) int64 {
	if l.Span == limits.FromFirst {
		return now + l.Rate.Period
	}
	if l.Span == limits.Aligned {
		return (now/l.Rate.Period + 1) * l.Rate.Period
	}
	location, err := time.LoadLocation(l.Anchor.Zone.String())
	if err != nil {
		panic(err)
	}
	t, day := time.Unix(0, now).In(location), max(1, int(l.Anchor.From))
	step := map[limits.Span]time.Duration{limits.EachMinute: time.Second, limits.EachHour: time.Minute, limits.EachDay: time.Hour, limits.EachWeek: time.Hour, limits.EachMonth: time.Hour}[l.Span]
	for t = t.Truncate(step).Add(step); ; t = t.Add(step) {
		midnight := t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0
		switch {
		case l.Span == limits.EachMinute && t.Second() == 0, l.Span == limits.EachHour && t.Minute() == 0, l.Span == limits.EachDay && midnight,
			l.Span == limits.EachWeek && midnight && t.Weekday() == time.Monday, l.Span == limits.EachMonth && midnight && t.Day() == day:
			return t.UnixNano()
		}
	}
}

func sum(grants []grant) (tokens int64) {
	for _, g := range grants {
		tokens += g.tokens
	}
	return tokens
}

type naiveSliding struct{ grants []grant }

func (n *naiveSliding) free(now int64, l limits.Limit) int64 {
	w := l.Rate.Period
	window, prev, cur := now/w, int64(0), int64(0)
	for _, g := range n.grants {
		switch g.at / w {
		case window:
			cur += g.tokens
		case window - 1:
			prev += g.tokens
		}
	}
	weight := big.NewRat(w-now%w, w)
	used := weight.Add(weight.Mul(weight, rat(prev)), rat(cur))
	return floor(new(big.Rat).Sub(rat(l.Capacity), used)).Int64()
}

func (n *naiveSliding) take(now int64, _ limits.Limit, tokens int64, _ string) {
	n.grants = append(n.grants, grant{now, tokens})
}

type naiveLog struct{ grants []grant }

func (n *naiveLog) free(now int64, l limits.Limit) int64 {
	n.grants = slices.DeleteFunc(n.grants, func(g grant) bool { return g.at <= now-l.Rate.Period })
	return l.Capacity - sum(n.grants)
}

func (n *naiveLog) take(now int64, _ limits.Limit, tokens int64, _ string) {
	n.grants = append(n.grants, grant{now, tokens})
}

// naiveSegments counts the grants of the present segment and of as many before it as a window has.
type naiveSegments struct{ grants []grant }

func (n *naiveSegments) free(now int64, l limits.Limit) int64 {
	segments := int64(l.Segments)
	width := l.Rate.Period / segments
	if l.Rate.Period%segments != 0 {
		width++
	}
	n.grants = slices.DeleteFunc(n.grants, func(g grant) bool { return g.at/width < now/width-segments })
	return l.Capacity - sum(n.grants)
}

func (n *naiveSegments) take(now int64, _ limits.Limit, tokens int64, _ string) {
	n.grants = append(n.grants, grant{now, tokens})
}

type naiveLeases map[string]int64

func (n naiveLeases) free(now int64, l limits.Limit) int64 {
	for who, end := range n {
		if end <= now {
			delete(n, who)
		}
	}
	return l.Capacity - int64(len(n))
}

func (n naiveLeases) take(now int64, l limits.Limit, _ int64, who string) {
	n[who] = now + l.Rate.Period
}

// naiveQueue is the time, exactly, at which the queue is empty.
type naiveQueue struct{ empty *big.Rat }

func (n *naiveQueue) free(now int64, l limits.Limit) int64 {
	if n.empty == nil || n.empty.Cmp(rat(now)) <= 0 {
		n.empty = rat(now)
	}
	queued := new(big.Rat).Sub(n.empty, rat(now))
	queued.Quo(queued, nanosPerToken(l.Rate))
	return floor(queued.Sub(rat(l.Capacity), queued)).Int64()
}

func (n *naiveQueue) take(now int64, l limits.Limit, tokens int64, _ string) {
	n.free(now, l)
	n.empty.Add(n.empty, new(big.Rat).Mul(rat(tokens), nanosPerToken(l.Rate)))
}

func (n *naiveFixed) known(int64, string) bool         { return false }
func (n *naiveSliding) known(int64, string) bool       { return false }
func (n *naiveLog) known(int64, string) bool           { return false }
func (n *naiveSegments) known(int64, string) bool      { return false }
func (n *naiveQueue) known(int64, string) bool         { return false }
func (n naiveLeases) known(now int64, who string) bool { return n[who] > now }

// twinRow is an algorithm, its naive model, and limits to try it with.
type twinRow struct {
	algorithm limits.Algorithm
	model     func() naive
	limits    []limits.Limit
	options   []engine.Option
}

// twins has a row for each algorithm beside the meter.
var twins = []twinRow{
	{limits.FixedWindow, func() naive { return &naiveFixed{} }, []limits.Limit{
		{Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}, {Span: limits.Aligned, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: 7 * sec}}, {Span: limits.EachMinute, Capacity: 30},
		{Span: limits.EachHour, Capacity: 100}, {Span: limits.EachDay, Capacity: 100}, {Span: limits.EachWeek, Capacity: 50}, {Span: limits.EachMonth, Capacity: 50},
		{Span: limits.EachDay, Capacity: 50, Anchor: calendar.Anchor{Zone: berlin}}, {Span: limits.EachMonth, Capacity: 50, Anchor: calendar.Anchor{Zone: berlin, From: 17}}},
		[]engine.Option{0, 0, engine.Peek, engine.UpTo, engine.Force}},
	{limits.SlidingWindow, func() naive { return &naiveSliding{} }, []limits.Limit{
		{Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}, {Capacity: 1, Rate: limits.Rate{Tokens: 0, Period: 3}}, {Capacity: 1000, Rate: limits.Rate{Tokens: 0, Period: 7*sec + 1}}, {Capacity: 7, Rate: limits.Rate{Tokens: 0, Period: limits.MaxDuration}}},
		[]engine.Option{0, 0, engine.Peek, engine.UpTo, engine.Force}},
	{limits.SlidingLog, func() naive { return &naiveLog{} }, []limits.Limit{
		{Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}, {Capacity: 1, Rate: limits.Rate{Tokens: 0, Period: 3}}, {Capacity: 1000, Rate: limits.Rate{Tokens: 0, Period: 7 * sec}}, {Capacity: 33, Rate: limits.Rate{Tokens: 0, Period: sec}}},
		[]engine.Option{0, 0, 0, engine.Peek, engine.UpTo}}, // FORCE merges entries: see TestForcedLogIsBounded
	{limits.SlidingSegments, func() naive { return &naiveSegments{} }, []limits.Limit{
		{Capacity: 5, Segments: 2, Rate: limits.Rate{Period: 10 * sec}}, {Capacity: 1, Segments: 3, Rate: limits.Rate{Period: limits.MinDuration}}, {Capacity: 1000, Segments: 120, Rate: limits.Rate{Period: 7*sec + 1}},
		{Capacity: 33, Segments: 7, Rate: limits.Rate{Period: limits.MaxDuration}}, {Capacity: 50, Segments: 60, Rate: limits.Rate{Period: 3600 * sec}}},
		[]engine.Option{0, 0, engine.Peek, engine.UpTo, engine.Force}},
	{limits.Concurrency, func() naive { return naiveLeases{} }, []limits.Limit{
		{Capacity: 3, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}, {Capacity: 1, Rate: limits.Rate{Tokens: 0, Period: sec}}, {Capacity: 20, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}}},
		[]engine.Option{0, 0, engine.Peek}},
	{limits.LeakyQueue, func() naive { return &naiveQueue{} }, []limits.Limit{
		{Capacity: 1, Rate: limits.Rate{Tokens: 1, Period: sec}}, {Capacity: 6, Rate: limits.Rate{Tokens: 7, Period: 3 * sec}}, {Capacity: 1000, Rate: limits.Rate{Tokens: 1_000_003, Period: sec}}},
		[]engine.Option{0, 0, engine.Peek}},
}

// randomTraffic asks a limit at gaps around the time it takes to fill up.
func randomTraffic(r *rand.Rand, l limits.Limit, options []engine.Option, n int) []step {
	_, end := int64(0), int64(0)
	switch {
	case l.Rate.Tokens > 0:
		end = l.DurationOf(l.Capacity)
	case l.Rate.Period > 0:
		end = l.Rate.Period
	default:
		_, last := algorithm.WindowAt(epoch, &l)
		end = last - epoch
	}
	steps, now := make([]step, n), epoch
	for i := range steps {
		switch r.IntN(6) {
		case 0:
			now += 1
		case 1:
			now += r.Int64N(end/4 + 2)
		case 2:
			now += end / max(1, l.Capacity)
		case 3:
			if r.IntN(10) == 0 {
				now += r.Int64N(2*end + 2)
			}
		}
		now = min(now, epoch+20*limits.MaxDuration/10)
		op := engine.Op{Key: []byte("k"), Limit: l, Options: options[r.IntN(len(options))]}
		op.Tokens = []int64{1, 1, 2, l.Capacity, l.Capacity + 1, 1 + r.Int64N(l.Capacity)}[r.IntN(6)]
		if l.Algorithm == limits.Concurrency {
			op.Tokens, op.Who = 1, fmt.Appendf(nil, "worker-%d", r.Int64N(2*l.Capacity))
		}
		steps[i] = step{now, op}
	}
	return steps
}

// differs replays steps and reports the first in which the store and the model disagree, or in which a wait or a reset
// proves wrong.
func differs(steps []step, model naive) (at int, why string) {
	s := New(Config{Shards: 1})
	defer s.Close()
	for i, st := range steps {
		op := st.op
		free := model.free(st.at, op.Limit)
		granted := op.Tokens
		allowed := granted <= free || model.known(st.at, string(op.Who))
		switch {
		case allowed:
		case op.Options&engine.Force != 0:
			allowed = true
		case op.Options&engine.UpTo != 0 && free > 0:
			allowed, granted = true, free
		}
		if !allowed {
			granted = 0
		}
		if free -= granted; model.known(st.at, string(op.Who)) {
			free += granted // a renewal takes no other place
		}
		if free < 0 && op.Options&engine.Force == 0 {
			free = 0
		}
		got := ask(s, st.at, op)
		if got.Allowed != allowed || got.Granted != granted || got.Remaining != free {
			return i, fmt.Sprintf("got %+v, want allowed=%v granted=%d remaining=%d", got, allowed, granted, free)
		}
		if why := brokenPromise(s, st, got); why != "" {
			return i, why
		}
		if allowed && op.Options&engine.Peek == 0 {
			model.take(st.at, op.Limit, granted, string(op.Who))
		}
	}
	return -1, ""
}

// brokenPromise asks again, changing nothing, when the result says that the answer will be another.
func brokenPromise(s *Store, st step, got engine.Result) string {
	again := st.op
	again.Options |= engine.Peek
	if !got.Allowed && got.Wait != engine.NeverWait {
		if res := ask(s, st.at+got.Wait, again); !res.Allowed {
			return fmt.Sprintf("denied with a wait of %d, and then again: %+v", got.Wait, res)
		}
		if res := ask(s, st.at+got.Wait-1, again); res.Allowed {
			return fmt.Sprintf("a wait of %d is longer than need be", got.Wait)
		}
	}
	if !got.Allowed && (got.Wait == engine.NeverWait) != (again.Tokens > again.Limit.Capacity && again.Options&engine.UpTo == 0) {
		return fmt.Sprintf("a wait of %d", got.Wait)
	}
	if got.Allowed && st.op.Options&engine.Peek == 0 {
		look := engine.Op{Verb: engine.Look, Key: st.op.Key}
		if res := ask(s, st.at+got.Reset-1, look); res.Status != engine.OK {
			return fmt.Sprintf("gone before its reset of %d", got.Reset)
		}
		if res := ask(s, st.at+got.Reset, look); res.Status != engine.NotFound {
			return fmt.Sprintf("still there after its reset of %d: %+v", got.Reset, res)
		}
	}
	return ""
}

// The meters, which decide alike, have a separate model: see TestMeterEqualsExactFractions; the fair share and trees of
// classes too: see TestFairShareEqualsNaiveModel and TestClassesEqualNaiveModel. The adaptive bucket: see
// TestAdaptiveEqualsABucketOfItsRate. The balance: see TestCreditsEqualNaiveModel. The
// penalty: see TestPenaltyEqualsNaiveModel.
func TestEveryAlgorithmHasATwin(t *testing.T) {
	for _, a := range limits.Algorithms() {
		has := a <= limits.LeakyBucket || a == limits.FairShare || a == limits.Class || a == limits.Adaptive || a == limits.Balance || a == limits.Penalty
		for _, tw := range twins {
			has = has || tw.algorithm == a
		}
		if !has {
			t.Errorf("%s has no row in twins", a)
		}
	}
}

func TestAlgorithmsEqualNaiveModels(t *testing.T) {
	sequences := uint64(testsize.Pick(40, 300))
	for _, tw := range twins {
		for _, l := range tw.limits {
			l.Algorithm = tw.algorithm
			if !l.Valid() {
				t.Fatalf("%s: Limit.Valid in validate.go refuses %+v of twins: clients could not ask for it", tw.algorithm, l)
			}
			for seed := range sequences {
				steps := randomTraffic(rand.New(rand.NewPCG(seed, 2)), l, tw.options, 200)
				if at, _ := differs(steps, tw.model()); at < 0 {
					continue
				}
				for size := len(steps) / 2; size > 0; size /= 2 { // shorten
					for i := 0; i+size <= len(steps); {
						fewer := slices.Delete(slices.Clone(steps), i, i+size)
						if at, _ := differs(fewer, tw.model()); at >= 0 {
							steps = fewer[:at+1]
							continue
						}
						i += size
					}
				}
				_, why := differs(steps, tw.model())
				text := ""
				for _, st := range steps {
					text += fmt.Sprintf("  at epoch+%d: tokens %d options %d who %s\n", st.at-epoch, st.op.Tokens, st.op.Options, st.op.Who)
				}
				t.Fatalf("%s, %v, seed %d: after\n%s%s", tw.algorithm, l.Params(), seed, text, why)
			}
		}
	}
}

// Under a lowered limit the wait of a denial ends when the same request is granted, not before.
func TestWaitUnderALoweredLimit(t *testing.T) {
	lease := func(limit int64) limits.Limit {
		return limits.Limit{Algorithm: limits.Concurrency, Capacity: limit, Rate: limits.Rate{Period: 10 * sec}}
	}
	for _, lowered := range []int64{1, 2, 3} {
		s := New(Config{Shards: 1})
		defer s.Close()
		for i, holder := range []string{"c", "a", "b"} {
			ask(s, epoch+int64(i)*sec, engine.Op{Key: []byte("k"), Limit: lease(3), Tokens: 1, Who: []byte(holder)})
		}
		now := epoch + 3*sec
		op := engine.Op{Key: []byte("k"), Limit: lease(lowered), Tokens: 1, Who: []byte("d")}
		denied := ask(s, now, op)
		if want := (10 - lowered) * sec; denied.Allowed || denied.Wait != want {
			t.Fatalf("limit %d: %+v, want a wait of %d s", lowered, denied, want/sec)
		}
		if early := ask(s, now+denied.Wait-1, op); early.Allowed {
			t.Errorf("limit %d: granted before", lowered)
		}
		if then := ask(s, now+denied.Wait, op); !then.Allowed {
			t.Errorf("limit %d: %+v after the wait", lowered, then)
		}
	}
}
