package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// warnedUse is the use of a limit counted in the plainest way, and whether it has warned.
type warnedUse struct {
	limit      limits.Limit
	start      int64 // of the window; of a bucket the last time
	prev, used int64
	warned     bool
	grants     []warnedGrant // of a log, and the leases that are held
}

// warnedGrant is tokens that count until a time, or a lease.
type warnedGrant struct {
	until, tokens int64
	holder        string
}

func (u *warnedUse) hasWindows() bool {
	return u.limit.Algorithm == limits.FixedWindow || u.limit.Algorithm == limits.SlidingWindow
}

// at brings the use to a time. Times are whole seconds, and a bucket gets back a token in each.
func (u *warnedUse) at(now int64) {
	switch width := u.limit.Rate.Period; {
	case u.limit.Algorithm == limits.SlidingLog, u.limit.Algorithm == limits.SlidingSegments, u.limit.Algorithm == limits.Concurrency:
		u.grants = slices.DeleteFunc(u.grants, func(g warnedGrant) bool { return g.until <= now })
		u.count()
	case !u.hasWindows():
		u.used = max(0, u.used-(now-u.start)/sec)
		u.start = now
	default:
		start := now - now%width
		if u.limit.Span == limits.FromFirst && u.limit.Algorithm == limits.FixedWindow {
			if start = u.start; now >= u.start+width || u.used == 0 {
				start = now
				u.warned = u.warned && now == u.start && u.used > 0
			}
		}
		if start != u.start {
			if u.prev = 0; start == u.start+width {
				u.prev = u.used
			}
			u.start, u.used, u.warned = start, 0, false
		}
	}
}

// count has the grants make up the use.
func (u *warnedUse) count() {
	u.used = 0
	for _, g := range u.grants {
		u.used += g.tokens
	}
}

// grant adds granted tokens.
func (u *warnedUse) grant(now int64, op *engine.Op, granted int64) {
	switch u.limit.Algorithm {
	case limits.Concurrency:
		u.release(op)
		fallthrough
	case limits.SlidingLog:
		u.grants = append(u.grants, warnedGrant{now + u.limit.Rate.Period, granted, string(op.Who)})
		u.count()
	case limits.SlidingSegments:
		width := u.limit.Segment()
		u.grants = append(u.grants, warnedGrant{now - now%width + int64(u.limit.Segments+1)*width, granted, ""})
		u.count()
	default:
		u.used += granted
	}
}

// release ends a lease.
func (u *warnedUse) release(op *engine.Op) {
	u.grants = slices.DeleteFunc(u.grants, func(g warnedGrant) bool { return g.holder == string(op.Who) })
	u.count()
}

// giveBack takes tokens off, the newest first.
func (u *warnedUse) giveBack(tokens int64) {
	u.used -= tokens
	for i := len(u.grants) - 1; i >= 0 && tokens > 0; i-- {
		back := min(tokens, u.grants[i].tokens)
		u.grants[i].tokens -= back
		tokens -= back
	}
}

// taken is the tokens that count, rounded up.
func (u *warnedUse) taken(now int64) int64 {
	if u.limit.Algorithm != limits.SlidingWindow {
		return u.used
	}
	width := u.limit.Rate.Period / sec
	return u.used + (u.prev*(width-(now-u.start)/sec)+width-1)/width
}

// rearm lets a limiter without windows warn again before a request.
func (u *warnedUse) rearm() {
	if !u.hasWindows() && 2*u.used < u.limit.WarnAt() {
		u.warned = false
	}
}

// crosses notes that tokens were taken by a request that warns.
func (u *warnedUse) crosses(now int64) bool {
	if u.warned || u.taken(now)*100 < u.limit.Capacity*int64(u.limit.Warn) {
		return false
	}
	u.warned = true
	return true
}

// A limiter warns exactly when its use reaches the threshold for the first time in a window: also if tokens are
// refunded, forced, denied or only looked at, or asked for without WARN, and with the state copied to another store at
// any time.
func TestWarnsOnce(t *testing.T) {
	crossed, again := 0, 0
	for seed := range uint64(testsize.Pick(300, 3000)) {
		r := rand.New(rand.NewPCG(seed, 38))
		var got, want []string
		config := Config{Shards: 4, Warned: func(w *engine.Warning) { got = append(got, fmt.Sprint(string(w.Key), w.Used, w.At, w.Limit.Warn)) }}
		s := New(config)
		limit := []limits.Limit{
			{Algorithm: limits.FixedWindow, Span: limits.Aligned, Rate: limits.Rate{Period: 10 * sec}},
			{Algorithm: limits.FixedWindow, Rate: limits.Rate{Period: 10 * sec}},
			{Algorithm: limits.SlidingWindow, Rate: limits.Rate{Period: 10 * sec}},
			{Algorithm: limits.TokenBucket, Rate: limits.Rate{Tokens: 1, Period: sec}},
			{Algorithm: limits.GCRA, Rate: limits.Rate{Tokens: 1, Period: sec}},
			{Algorithm: limits.LeakyQueue, Rate: limits.Rate{Tokens: 1, Period: sec}},
			{Algorithm: limits.SlidingLog, Rate: limits.Rate{Period: 10 * sec}},
			{Algorithm: limits.Concurrency, Rate: limits.Rate{Period: 10 * sec}},
			{Algorithm: limits.SlidingSegments, Segments: 5, Rate: limits.Rate{Period: 10 * sec}},
		}[r.IntN(9)]
		limit.Capacity, limit.Warn = 1+r.Int64N(20), uint8(1+r.IntN(limits.MaxWarn))
		if limit.Algorithm == limits.FixedWindow && seed%2 == 0 {
			limit.History = uint8(1 + r.IntN(3))
		}
		uses := [3]warnedUse{{limit: limit}, {limit: limit}, {limit: limit}}
		for now, step := epoch, 0; step < 200; step++ {
			now += []int64{0, 0, 0, sec, 3 * sec}[r.IntN(5)]
			if r.IntN(50) == 0 {
				s = copiedTo(s, config, now)
			}
			i := r.IntN(len(uses))
			u, op := &uses[i], engine.Op{Key: fmt.Append(nil, i), Limit: limit, Tokens: 1 + r.Int64N(limit.Capacity)}
			u.at(now)
			isLease := u.limit.Algorithm == limits.Concurrency
			if isLease {
				op.Who, op.Tokens = fmt.Append(nil, r.Int64N(limit.Capacity+2)), 1
			}
			switch r.IntN(8) {
			case 0:
				op = engine.Op{Verb: engine.Refund, Key: op.Key, Tokens: op.Tokens, Who: op.Who}
				if isLease {
					op.Verb = engine.Release
				}
			case 1:
				op.Options = engine.Peek
			case 2:
				op.Options = engine.Force
			case 3:
				op.Options = engine.UpTo
			}
			if warns := r.IntN(4) > 0 || !u.hasWindows(); !warns {
				op.Limit.Warn = 0
			}
			u.rearm()
			before := u.taken(now)
			res := ask(s, now, op)
			switch {
			case op.Verb == engine.Refund && u.limit.Algorithm == limits.SlidingWindow:
				if back := min(res.Granted, u.used); back == op.Tokens {
					u.used -= back
				} else { // the window before gives back the rest
					u.used = 0
					width := limit.Rate.Period / sec
					u.prev = (before - res.Granted) * width / max(1, width-(now-u.start)/sec)
				}
			case op.Verb == engine.Refund:
				u.giveBack(res.Granted)
			case op.Verb == engine.Release:
				u.release(&op)
			case op.Options&engine.Peek == 0 && res.Granted > 0:
				u.grant(now, &op, res.Granted)
				if op.Limit.Warn != 0 && u.crosses(now) {
					want = append(want, fmt.Sprint(string(op.Key), u.taken(now), now, op.Limit.Warn))
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, %+v: warned\n%q, want\n%q", seed, limit, got, want)
		}
		crossed += len(want)
		again += max(0, len(want)-len(uses))
		s.Close()
	}
	if crossed < 500 || again < 100 {
		t.Errorf("%d warnings, %d of a window behind another", crossed, again)
	}
}

// copiedTo moves all keys to an empty store like a snapshot.
func copiedTo(s *Store, config Config, now int64) *Store {
	to := New(config)
	s.Snapshot().Scan(now, func(e keyspace.Entry) {
		if err := to.Load(now, e); err != nil {
			panic(err)
		}
	})
	s.Close()
	return to
}

// Tokens of loans count when they are charged: by the holder's next operation, its end, or a void. They are warned of
// once too.
func TestWarnsOnceOfLentTokens(t *testing.T) {
	for _, limit := range []limits.Limit{
		{Algorithm: limits.FixedWindow, Span: limits.Aligned, Rate: limits.Rate{Period: 100 * sec}},
		{Algorithm: limits.FixedWindow, Span: limits.Aligned, Rate: limits.Rate{Period: 100 * sec}, History: 2},
		{Algorithm: limits.TokenBucket, Rate: limits.Rate{Tokens: 1, Period: 100 * sec}},
		{Algorithm: limits.LeakyBucket, Rate: limits.Rate{Tokens: 1, Period: 100 * sec}},
	} {
		var got []int64
		s := New(Config{Shards: 4, Warned: func(w *engine.Warning) { got = append(got, w.Used) }})
		defer s.Close()
		limit.Capacity, limit.Warn = 100, 80
		key, number := []byte("k"), uint64(0)
		lend := func(verb engine.Verb, tokens, left int64) int64 {
			number++
			op := engine.Op{Verb: verb, Key: key, Who: []byte("holder"), Loan: &engine.Loan{Number: number, Previous: number - 1, Left: left}}
			if verb == engine.Lend {
				op.Limit, op.Tokens = limit, tokens
			}
			return ask(s, epoch, op).Granted
		}
		want := func(when string, used ...int64) {
			t.Helper()
			if !slices.Equal(got, used) {
				t.Errorf("%v, %s: warned at %d, want %d", limit.Algorithm, when, got, used)
			}
		}
		if n := lend(engine.Lend, 10, 0); n != 10 {
			t.Fatalf("%v: %d tokens were lent", limit.Algorithm, n)
		}
		ask(s, epoch, engine.Op{Key: key, Limit: limit, Tokens: 75})
		want("while tokens are lent")
		if n := lend(engine.Lend, 1, 3); n != 1 { // 7 were spent
			t.Fatalf("%v: %d tokens were lent", limit.Algorithm, n)
		}
		want("once they are spent", 82)
		lend(engine.Lend, 1, 0)
		ask(s, epoch, engine.Op{Key: key, Limit: limit, Tokens: 1})
		want("as more are spent", 82)
		ask(s, epoch, engine.Op{Verb: engine.Void, Key: key, Who: []byte("holder"), Options: engine.Force})
		ask(s, epoch, engine.Op{Key: key, Limit: limit, Tokens: 1})
		want("once the loan is void", 82)
	}
}
