package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// rolledUse is the usage of a limit with ROLLOVER, by the rule of the handbook: all windows in which tokens counted when
// they ended, for ever.
type rolledUse struct {
	limit  limits.Limit
	starts []int64         // of the windows with usage, in order; the last may be open
	used   map[int64]int64 // by start
	ended  map[int64]bool  // with usage
}

// of is the limit of the window of a time: the limit, and what the window before has left.
func (u *rolledUse) of(now int64) int64 {
	start, _ := algorithm.WindowAt(now, &u.limit)
	starts := u.starts
	for len(starts) > 0 && starts[len(starts)-1] >= start {
		starts = starts[:len(starts)-1]
	}
	return u.limit.Capacity + u.rolled(starts, start)
}

// rolled is what rolls over to the window of a start, after the windows with usage.
func (u *rolledUse) rolled(starts []int64, start int64) int64 {
	if len(starts) == 0 {
		return 0 // a new caller
	}
	n := len(starts) - 1
	last := starts[n]
	most := u.limit.Capacity * int64(u.limit.Rollover) / 100
	_, end := algorithm.WindowAt(last, &u.limit)
	if end == start {
		return min(most, max(0, u.limit.Capacity+u.rolled(starts[:n], last)-u.used[last]))
	}
	unused := 0
	for ; end < start; unused++ {
		_, end = algorithm.WindowAt(end, &u.limit)
	}
	if unused >= int(u.limit.History) {
		return 0 // forgotten
	}
	return most
}

// move forgets a window that has ended with nothing counted in it.
func (u *rolledUse) move(now int64) {
	start, _ := algorithm.WindowAt(now, &u.limit)
	n := len(u.starts) - 1
	if n < 0 || u.starts[n] == start || u.ended[u.starts[n]] {
		return
	}
	if u.used[u.starts[n]] > 0 {
		u.ended[u.starts[n]] = true
		return
	}
	u.starts = u.starts[:n]
}

// take counts tokens in the window of a time.
func (u *rolledUse) take(now, tokens int64) {
	start, _ := algorithm.WindowAt(now, &u.limit)
	if tokens <= 0 {
		return
	}
	if n := len(u.starts); n == 0 || u.starts[n-1] != start {
		u.starts = append(u.starts, start)
	}
	u.used[start] += tokens
}

// A window with ROLLOVER grants its limit and what the window before has left, at most that part of the limit, through
// grants, refunds, settlements in the next window, and copies of the state; and the wait of a denial is right.
func TestRolloverEqualsNaiveModel(t *testing.T) {
	rolled, forgotten, waited := 0, 0, 0
	for seed := range uint64(testsize.Pick(150, 1500)) {
		r := rand.New(rand.NewPCG(seed, 65))
		l := []limits.Limit{
			{Span: limits.Aligned, Rate: limits.Rate{Period: 10 * sec}},
			{Span: limits.EachMinute},
			{Span: limits.EachMonth, Anchor: calendar.Anchor{Zone: berlin}},
		}[r.IntN(3)]
		l.Algorithm, l.Capacity, l.History, l.Rollover = limits.FixedWindow, 1+r.Int64N(40), uint8(1+r.IntN(3)), uint8(1+r.IntN(100))
		u := &rolledUse{limit: l, used: map[int64]int64{}, ended: map[int64]bool{}}
		s, key, now := New(Config{Shards: 1}), []byte("k"), epoch
		type open struct{ id, tokens, at int64 }
		var reserved []open
		for step := range 150 {
			now += r.Int64N(l.Longest() / 5)
			if r.IntN(12) == 0 {
				now += r.Int64N(4 * l.Longest())
			}
			if r.IntN(20) == 0 {
				s = copiedTo(s, Config{Shards: 1}, now)
			}
			u.move(now)
			start, _ := algorithm.WindowAt(now, &l)
			limit := u.of(now)
			free := limit - u.used[start]
			at := fmt.Sprintf("seed %d step %d, %+v", seed, step, l)
			op := engine.Op{Key: key, Limit: l, Tokens: 1 + r.Int64N(2*l.Capacity), Options: []engine.Option{0, 0, 0, engine.UpTo, engine.Peek, engine.Force}[r.IntN(6)]}
			switch r.IntN(8) {
			case 0:
				op = engine.Op{Verb: engine.Refund, Key: key, Tokens: 1 + r.Int64N(l.Capacity)}
				back := min(op.Tokens, u.used[start])
				if res := ask(s, now, op); res.Granted != back {
					t.Fatalf("%s: gave back %+v, not %d", at, res, back)
				}
				u.used[start] -= back
				continue
			case 1:
				if len(reserved) == 0 {
					continue
				}
				one := reserved[len(reserved)-1]
				reserved = reserved[:len(reserved)-1]
				amount := r.Int64N(one.tokens + 1)
				if res := ask(s, now, settleAt(fmt.Sprint(one.id), amount)); res.Status == engine.OK {
					u.settle(one.at, now, one.tokens-amount)
				}
				continue
			case 2, 3:
				if op.Options&engine.Peek != 0 {
					continue
				}
				id := int64(step)
				reserve := reserveOne(fmt.Sprint(id), op)
				reserve.MaxWait = 3 * l.Longest()
				if res := ask(s, now, reserve); res.Allowed && res.Granted > 0 {
					reserved = append(reserved, open{id, res.Granted, start})
					u.take(now, res.Granted)
				}
				continue
			}
			granted := op.Tokens
			switch {
			case granted <= free, op.Options&engine.Force != 0:
			case op.Options&engine.UpTo != 0 && free > 0:
				granted = free
			default:
				granted = 0
			}
			res := ask(s, now, op)
			if res.Granted != granted || res.Limit != limit {
				t.Fatalf("%s: %+v, want %d of %d granted", at, res, granted, limit)
			}
			if limit > l.Capacity {
				rolled++
			} else if len(u.starts) > 1 && u.starts[len(u.starts)-1] < start {
				forgotten++
			}
			if op.Options&engine.Peek == 0 {
				u.take(now, granted)
			}
			if !res.Allowed {
				waited++
				checkWait(t, at, s, now, op, res)
			}
		}
		s.Close()
	}
	if rolled < 500 || forgotten < 100 || waited < 500 {
		t.Errorf("%d decisions with tokens rolled over, %d after all was forgotten, %d waits", rolled, forgotten, waited)
	}
}

// settle gives tokens back to a window, which counts if it is open or the newest with usage.
func (u *rolledUse) settle(start, now, tokens int64) {
	present, _ := algorithm.WindowAt(now, &u.limit)
	if start == present {
		u.used[start] -= min(tokens, u.used[start])
		return
	}
	n := len(u.starts)
	if n > 0 && u.starts[n-1] == present {
		n--
	}
	if n > 0 && u.starts[n-1] == start {
		u.used[start] -= min(tokens, u.used[start])
	}
}

// checkWait asks for a denied request again, at the end of its wait and just before.
func checkWait(t *testing.T, at string, s *Store, now int64, op engine.Op, res engine.Result) {
	t.Helper()
	op.Options |= engine.Peek
	if res.Wait == engine.NeverWait {
		for range 4 {
			if _, now = algorithm.WindowAt(now, &op.Limit); ask(s, now, op).Allowed {
				t.Fatalf("%s: %+v, but it is granted later", at, res)
			}
		}
		return
	}
	if early := ask(s, now+res.Wait-1, op); early.Allowed {
		t.Fatalf("%s: a wait of %d is longer than need be", at, res.Wait)
	}
	if then := ask(s, now+res.Wait, op); !then.Allowed {
		t.Fatalf("%s: denied with a wait of %d, and then again: %+v", at, res.Wait, then)
	}
}

// Whatever the numbers of segments and the limits that follow each other, no window ever holds more than the limit under
// which a request is granted.
func TestSegmentsNeverExceedTheLimit(t *testing.T) {
	for seed := range uint64(testsize.Pick(200, 2000)) {
		r := rand.New(rand.NewPCG(seed, 66))
		l := limits.Limit{Algorithm: limits.SlidingSegments, Rate: limits.Rate{Period: 10 * sec}}
		s, now, grants := New(Config{Shards: 1}), epoch, []grant(nil)
		for range 300 {
			if now += r.Int64N(sec); r.IntN(30) == 0 {
				now += r.Int64N(9 * sec)
			}
			if l.Segments == 0 || r.IntN(20) == 0 {
				l.Segments, l.Capacity = uint8(2+r.IntN(limits.MaxSegments-1)), 1+r.Int64N(60)
			}
			res := ask(s, now, engine.Op{Key: []byte("k"), Limit: l, Tokens: 1 + r.Int64N(20), Options: []engine.Option{0, engine.UpTo}[r.IntN(2)]})
			if res.Granted == 0 {
				continue
			}
			grants = append(grants, grant{now, res.Granted})
			total := int64(0)
			for i := len(grants) - 1; i >= 0 && grants[i].at > now-l.Rate.Period; i-- {
				total += grants[i].tokens
			}
			if total > l.Capacity {
				t.Fatalf("seed %d: %d tokens in a window of %d", seed, total, l.Capacity)
			}
		}
		s.Close()
	}
}

// A window whose tokens all went back stays only for what it leaves to the next. A request without ROLLOVER ends that,
// and leaves a state that a copy accepts.
func TestEndOfRolloverAfterUnusedWindow(t *testing.T) {
	l := limits.Limit{Algorithm: limits.FixedWindow, Capacity: 10, Span: limits.EachMinute, History: 2}
	rolling := l
	rolling.Rollover = 50
	s, now := New(Config{Shards: 1}), epoch
	ask(s, now, reserveOne("id", engine.Op{Key: []byte("k"), Limit: rolling, Tokens: 5}))
	now += 60 * sec
	ask(s, now, settleAt("id", 0))
	if res := ask(s, now, engine.Op{Key: []byte("k"), Limit: rolling, Tokens: 1}); res.Limit != 15 {
		t.Fatalf("%+v, but 5 tokens rolled over", res)
	}
	if res := ask(s, now, engine.Op{Key: []byte("k"), Limit: l, Tokens: 1}); res.Limit != 10 || res.Remaining != 8 {
		t.Fatalf("%+v without ROLLOVER", res)
	}
	s = copiedTo(s, Config{Shards: 1}, now)
	defer s.Close()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if res := ask(s, now, engine.Op{Key: []byte("k"), Limit: l, Tokens: 1}); res.Remaining != 7 {
		t.Fatalf("%+v after a copy", res)
	}
}

// What a window without ROLLOVER has left never rolls over, whether or not something changed the key after its end.
func TestRolloverBeginsWithAWindow(t *testing.T) {
	l := limits.Limit{Algorithm: limits.FixedWindow, Capacity: 10, Span: limits.EachMinute, History: 2}
	rolling := l
	rolling.Rollover = 50
	for _, settles := range []bool{false, true} {
		s, now := New(Config{Shards: 1}), epoch
		ask(s, now, reserveOne("id", engine.Op{Key: []byte("k"), Limit: l, Tokens: 5}))
		now += 60 * sec
		if settles {
			ask(s, now, settleAt("id", 4))
		}
		if res := ask(s, now, engine.Op{Key: []byte("k"), Limit: rolling, Tokens: 1}); res.Limit != 10 {
			t.Errorf("settled %t: %+v", settles, res)
		}
		now += 60 * sec
		if res := ask(s, now, engine.Op{Key: []byte("k"), Limit: rolling, Tokens: 1}); res.Limit != 15 {
			t.Errorf("settled %t, in the next window: %+v", settles, res)
		}
		s.Close()
	}
}
