package store

import (
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

func at(text string) int64 {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t.UnixNano()
}

func TestCalendarWindows(t *testing.T) {
	for _, c := range []struct {
		span            limits.Span
		now, start, end string
	}{
		{limits.EachMinute, "2026-11-21T10:59:59.999999999Z", "2026-11-21T10:59:00Z", "2026-11-21T11:00:00Z"},
		{limits.EachHour, "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z"},
		{limits.EachDay, "2028-02-28T23:59:59Z", "2028-02-28T00:00:00Z", "2028-02-29T00:00:00Z"},
		{limits.EachWeek, "2026-11-22T23:59:59Z", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"},  // a Sunday
		{limits.EachWeek, "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"},  // a Monday
		{limits.EachWeek, "2027-01-01T12:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},  // over the year's end
		{limits.EachMonth, "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"}, // leap year
		{limits.EachMonth, "2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"},
		{limits.EachMonth, "2100-02-28T23:59:59Z", "2100-02-01T00:00:00Z", "2100-03-01T00:00:00Z"}, // not a leap year
		{limits.EachMonth, "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
	} {
		start, end := algorithm.WindowAt(at(c.now), &limits.Limit{Span: c.span})
		if start != at(c.start) || end != at(c.end) {
			t.Errorf("span %d at %s: %v to %v", c.span, c.now, time.Unix(0, start).UTC(), time.Unix(0, end).UTC())
		}
	}
}

func TestParseWindow(t *testing.T) {
	for _, c := range []struct {
		text   string
		span   limits.Span
		period int64
	}{
		{"60s", limits.FromFirst, 60 * sec}, {"60", limits.FromFirst, 60 * sec}, {"@60s", limits.Aligned, 60 * sec}, {"@1.5h", limits.Aligned, 5400 * sec},
		{"@minute", limits.EachMinute, 0}, {"@hour", limits.EachHour, 0}, {"@DAY", limits.EachDay, 0}, {"@week", limits.EachWeek, 0}, {"@month", limits.EachMonth, 0}, {"@quarter", limits.EachQuarter, 0}, {"@Year", limits.EachYear, 0},
	} {
		span, period, err := limits.ParseWindow(c.text)
		if err != nil || span != c.span || period != c.period {
			t.Errorf("%q: %v %v %v", c.text, span, period, err)
		}
		if again, p, err := limits.ParseWindow(limits.FormatWindow(span, period)); again != span || p != period || err != nil {
			t.Errorf("%q is written as %q", c.text, limits.FormatWindow(span, period))
		}
	}
	for _, text := range []string{"", "@", "@@60s", "@decade", "day", "0", "@0", "60w", "@ 60s", "-1"} {
		if span, period, err := limits.ParseWindow(text); err == nil {
			t.Errorf("%q was read as %v %v", text, span, period)
		}
	}
}

// A fixed window lets twice its limit through around a boundary. That is how it works, and users should see it.
func TestFixedWindowAdmitsTwiceItsLimitAcrossABoundary(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	l := limits.Limit{Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 100, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}}
	boundary := epoch - epoch%(60*sec) + 60*sec
	first := ask(s, boundary-1, engine.Op{Key: []byte("k"), Limit: l, Tokens: 100})
	second := ask(s, boundary, engine.Op{Key: []byte("k"), Limit: l, Tokens: 100})
	if first.Granted+second.Granted != 200 {
		t.Errorf("granted %d in two nanoseconds", first.Granted+second.Granted)
	}
}

func TestParameterChangesCarryOver(t *testing.T) {
	window := func(span limits.Span, capacity, period int64) limits.Limit {
		return limits.Limit{Algorithm: limits.FixedWindow, Span: span, Capacity: capacity, Rate: limits.Rate{Tokens: 0, Period: period}}
	}
	sliding := func(algorithm limits.Algorithm, capacity, period int64) limits.Limit {
		return limits.Limit{Algorithm: algorithm, Capacity: capacity, Rate: limits.Rate{Tokens: 0, Period: period}}
	}
	cut := func(segments uint8, period int64) limits.Limit {
		return limits.Limit{Algorithm: limits.SlidingSegments, Segments: segments, Capacity: 10, Rate: limits.Rate{Period: period}}
	}
	for _, c := range []struct {
		name          string
		before, after limits.Limit
		taken         int64
		later         int64
		remaining     int64
	}{
		{"a larger limit", window(limits.FromFirst, 10, 60*sec), window(limits.FromFirst, 20, 60*sec), 8, sec, 12},
		{"a smaller limit", window(limits.FromFirst, 10, 60*sec), window(limits.FromFirst, 5, 60*sec), 8, sec, 0},
		{"a longer window", window(limits.FromFirst, 10, 60*sec), window(limits.FromFirst, 10, 3600*sec), 8, sec, 2},
		{"a window over by now", window(limits.FromFirst, 10, 60*sec), window(limits.FromFirst, 10, sec), 8, 2 * sec, 10},
		{"aligned now", window(limits.FromFirst, 10, 60*sec), window(limits.EachDay, 10, 0), 8, sec, 2},
		{"a longer sliding window", sliding(limits.SlidingWindow, 10, 60*sec), sliding(limits.SlidingWindow, 10, 3600*sec), 8, sec, 2},
		{"a shorter sliding log", sliding(limits.SlidingLog, 10, 60*sec), sliding(limits.SlidingLog, 10, sec), 8, 2 * sec, 10},
		{"more segments", cut(2, 60*sec), cut(120, 60*sec), 8, 60 * sec, 2},
		{"more segments, of which enough are over", cut(2, 60*sec), cut(120, 60*sec), 8, 91 * sec, 10},
		{"fewer segments", cut(120, 60*sec), cut(2, 60*sec), 8, 60 * sec, 2},
		{"shorter segments", cut(6, 60*sec), cut(6, 6*sec), 8, 17 * sec, 10},
		{"longer segments", cut(6, 6*sec), cut(6, 60*sec), 8, 6 * sec, 2},
		{"longer segments, of a window that is over", cut(6, 6*sec), cut(6, 60*sec), 8, 7 * sec, 10},
		{"a larger sliding log", sliding(limits.SlidingLog, 10, 60*sec), sliding(limits.SlidingLog, 100, 60*sec), 8, sec, 92},
	} {
		s := New(Config{Shards: 1})
		ask(s, epoch, engine.Op{Key: []byte("k"), Limit: c.before, Tokens: c.taken})
		res := ask(s, epoch+c.later, engine.Op{Key: []byte("k"), Limit: c.after, Tokens: 1, Options: engine.Peek})
		if granted := min(res.Granted, 1); res.Remaining+granted != c.remaining {
			t.Errorf("%s: %+v, want %d remaining", c.name, res, c.remaining)
		}
		s.Close()
	}
}

// Tokens forced beyond the room of the log are kept with its newest entry, so that the log stays bounded.
func TestForcedLogIsBounded(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	l := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}}
	for i := range int64(1000) {
		if res := ask(s, epoch+i, engine.Op{Key: []byte("k"), Limit: l, Tokens: 1, Options: engine.Force}); res.Remaining != 9-i {
			t.Fatalf("forced %d: %+v", i, res)
		}
	}
	if res := ask(s, epoch+1000, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Bytes > 300 {
		t.Errorf("the log takes %d bytes", res.Bytes)
	}
	checkTables(t, s)
}

func TestRefundOfEachAlgorithm(t *testing.T) {
	for _, l := range []limits.Limit{
		bucket(10, 1, sec),
		{Algorithm: limits.GCRA, Capacity: 10, Rate: limits.Rate{Tokens: 1, Period: sec}},
		{Algorithm: limits.LeakyQueue, Capacity: 10, Rate: limits.Rate{Tokens: 1, Period: sec}},
		{Algorithm: limits.FixedWindow, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}},
		{Algorithm: limits.SlidingWindow, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}},
		{Algorithm: limits.SlidingLog, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}},
		{Algorithm: limits.SlidingSegments, Segments: 20, Capacity: 10, Rate: limits.Rate{Period: 60 * sec}},
	} {
		s := New(Config{Shards: 1})
		key := []byte("k")
		for range 6 {
			ask(s, epoch, engine.Op{Key: key, Limit: l, Tokens: 1})
		}
		if res := ask(s, epoch, engine.Op{Verb: engine.Refund, Key: key, Tokens: 2}); res.Granted != 2 || res.Remaining != 6 {
			t.Errorf("%s: gave back 2: %+v", l.Algorithm, res)
		}
		if res := ask(s, epoch, engine.Op{Verb: engine.Refund, Key: key, Tokens: 100}); res.Granted != 4 || res.Remaining != 10 {
			t.Errorf("%s: gave back more than was taken: %+v", l.Algorithm, res)
		}
		if res := ask(s, epoch, engine.Op{Verb: engine.Refund, Key: key, Tokens: 1}); res.Status != engine.NotFound || s.Len() != 0 {
			t.Errorf("%s: nothing is left to give back: %+v", l.Algorithm, res)
		}
		s.Close()
	}
}

func TestLeases(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	l := limits.Limit{Algorithm: limits.Concurrency, Capacity: 2, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}
	acquire := func(at int64, who string) engine.Result {
		return ask(s, epoch+at, engine.Op{Key: []byte("k"), Limit: l, Tokens: 1, Who: []byte(who)})
	}
	release := func(at int64, who string) int64 {
		return ask(s, epoch+at, engine.Op{Verb: engine.Release, Key: []byte("k"), Who: []byte(who)}).Granted
	}
	for i, step := range []struct {
		at        int64
		who       string
		allowed   bool
		remaining int64
		wait      int64
	}{
		{0, "a", true, 1, 0}, {sec, "b", true, 0, 0}, {2 * sec, "c", false, 0, 8 * sec}, {3 * sec, "a", true, 0, 0},
		{10 * sec, "c", false, 0, sec}, {11 * sec, "c", true, 0, 0}, {13 * sec, "d", true, 0, 0},
	} {
		if res := acquire(step.at, step.who); res.Allowed != step.allowed || res.Remaining != step.remaining || res.Wait != step.wait {
			t.Errorf("step %d: %+v", i, res)
		}
	}
	if got := ask(s, epoch+14*sec, engine.Op{Verb: engine.Leases, Key: []byte("k")}).Leases; len(got) != 2 || string(got[0].Holder) != "c" || got[0].Remaining != 7*sec {
		t.Errorf("leases: %+v", got)
	}
	if release(14*sec, "a") != 0 || release(14*sec, "c") != 1 || release(14*sec, "c") != 0 || release(14*sec, "d") != 1 {
		t.Error("release")
	}
	if s.Len() != 0 {
		t.Error("the key is kept with no holder")
	}
}

// Requests that are let out of the queue are never closer than one every P/N.
func TestQueueSpacesDepartures(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	l := limits.Limit{Algorithm: limits.LeakyQueue, Capacity: 50, Rate: limits.Rate{Tokens: 3, Period: sec}}
	now, last := epoch, int64(0)
	for i := range 5000 {
		now += int64(i*i%7) * 50 * ms
		res := ask(s, now, engine.Op{Key: []byte("k"), Limit: l, Tokens: 1})
		if !res.Allowed {
			continue
		}
		leaves := now + res.Wait
		if last > 0 && (leaves-last+1)*l.Rate.Tokens < l.Rate.Period { // waits are rounded up to whole nanoseconds
			t.Fatalf("request %d leaves %d ns after the one before", i, leaves-last)
		}
		last = leaves
	}
}

// A state that has to grow while its key has expired may find its old record gone once room was made.
func TestExpiredStatesGrow(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	for i := range int64(2000) {
		who := []byte("a")
		if i%7 == 3 {
			who = append(who, make([]byte, 200)...)
		}
		op := engine.Op{Key: keyOf(int(i % 5)), Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: 3, Rate: limits.Rate{Tokens: 0, Period: sec}}, Tokens: 1, Who: who}
		if res := ask(s, epoch+2*i*sec, op); !res.Allowed {
			t.Fatalf("step %d: %+v", i, res)
		}
		checkTables(t, s)
	}
}

// A request that finds no room for a larger state changes nothing of the one there is.
func TestNoRoomToGrowLeavesTheLimit(t *testing.T) {
	s := New(Config{Shards: 1, MaxBytes: 16 << 10})
	defer s.Close()
	long := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 100_000, Rate: limits.Rate{Tokens: 0, Period: 3600 * sec}}
	short := long
	short.Rate.Period = 3000 * sec
	key := []byte("k")
	for i := range int64(100_000) {
		op := engine.Op{Key: key, Limit: long, Tokens: 1}
		if ask(s, epoch+i, op).Status == engine.NoRoomToGrow {
			op.Limit = short
			if res := ask(s, epoch+i, op); res.Status != engine.NoRoomToGrow {
				t.Fatalf("asked for a shorter window: %+v", res)
			}
			if res := ask(s, epoch+i, engine.Op{Verb: engine.Look, Key: key}); res.Held != long {
				t.Errorf("a request that was refused left %+v", res.Held)
			}
			return
		}
	}
	t.Error("there was room for everything")
}

// Under constant demand a sliding counter grants a token a window less than its limit, because its estimate is rounded
// up; a limit of 1 grants every second window. docs/algorithms.md says so.
func TestSlidingCounterUnderConstantDemand(t *testing.T) {
	const windows, each = 100, 1000 // requests
	for limit, want := range map[int64]int64{1: windows / 2, 2: windows, 3: 2 * windows, 10: 9 * windows, 100: 99 * windows} {
		s, granted := New(Config{Shards: 1}), int64(0)
		l := limits.Limit{Algorithm: limits.SlidingWindow, Capacity: limit, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}}
		for at := range int64(windows * each) {
			granted += ask(s, epoch+at*60*sec/each, engine.Op{Key: []byte("k"), Limit: l, Tokens: 1}).Granted
		}
		if granted < want || granted > want+limit {
			t.Errorf("a limit of %d: %d tokens in %d windows, not %d", limit, granted, windows, want)
		}
		s.Close()
	}
}
