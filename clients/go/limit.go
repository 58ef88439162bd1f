package stint

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A Limit is the number of tokens that may be taken, and the rate or window in which they come back. The zero Limit is
// not valid; make one with [PerSecond] and its siblings, [Per], [Window], [SlidingWindow], [SlidingLog], [GCRA],
// [Concurrency], [Balance] or [Penalty].
// Limits are values: they can be compared, copied and kept in variables.
//
// Numbers of tokens are from 1 to 1,000,000,000,000, durations whole milliseconds from 1 ms to 10 years. A call with a
// limit outside these ranges returns an error.
type Limit struct {
	algorithm algorithm
	tokens    int64         // capacity of a bucket, limit of a window, max_burst + 1
	count     int64         // tokens that come back in period; of a window, all of them
	period    time.Duration // nominal for the windows of the calendar
	window    Period        // of Window
	least     int64         // of Adaptive: tokens that come back in period at the lowest rate
	weight    int64         // of Member
	member    string        // of Member; the holder of Concurrency
	zone      string        // of In
	from      string        // of From
	history   int           // of History
	warn      int           // of Warn, in percent
	spread    bool          // of Spread
	segments  int           // of Segments
	rollover  int           // of Rollover, in percent

	ban, longestBan time.Duration // of Penalty
}

type algorithm uint8

const (
	none algorithm = iota
	tokenBucket
	leakyQueue
	gcra
	fixedWindow
	slidingWindow
	slidingLog
	fairShare
	adaptive
	concurrency
	balance
	penalty
)

// words are the algorithms' commands and, in RL.ALL, specs. Of commands that lack options which others have, also their
// options, and a sentence on the way out.
var words = [...]struct {
	command, spec, options, instead string
	noKeep, noWarn                  bool
}{
	tokenBucket:   {command: "TB.ACQUIRE", spec: "TB"},
	leakyQueue:    {command: "LB.QUEUE", spec: "LQ", noKeep: true},
	gcra:          {command: "CL.THROTTLE", spec: "CL", instead: "take Per(…).Burst(…) on another key", noWarn: true},
	fixedWindow:   {command: "FW.ACQUIRE", spec: "FW"},
	slidingWindow: {command: "SW.ACQUIRE", spec: "SW"},
	slidingLog:    {command: "SL.ACQUIRE", spec: "SL"},
	fairShare:     {command: "FS.ACQUIRE", spec: "FS", options: "PEEK", instead: "ask for tokens with Allow", noKeep: true, noWarn: true},
	adaptive:      {command: "AD.ACQUIRE", spec: "AD", options: "PEEK MAXWAIT", instead: "ask for tokens with Allow", noKeep: true, noWarn: true},
	concurrency:   {command: "CC.ACQUIRE", spec: "CC", options: "PEEK", instead: "ask for a place with Allow or Place", noKeep: true},
	balance:       {command: "BAL.ACQUIRE", spec: "BAL", options: "PEEK UPTO FORCE", instead: "ask for credits with Allow", noKeep: true, noWarn: true},
	penalty:       {command: "PENALTY", spec: "PENALTY", noKeep: true, noWarn: true}, // which is no command: see command
}

// PerSecond is a token bucket that is refilled with n tokens a second. It holds n tokens, or as many as Burst says.
func PerSecond(n int64) Limit { return Per(n, time.Second) }

// PerMinute is a token bucket that is refilled with n tokens a minute. It holds n tokens, or as many as Burst says.
func PerMinute(n int64) Limit { return Per(n, time.Minute) }

// PerHour is a token bucket that is refilled with n tokens an hour. It holds n tokens, or as many as Burst says.
func PerHour(n int64) Limit { return Per(n, time.Hour) }

// PerDay is a token bucket that is refilled with n tokens in 24 hours. It holds n tokens, or as many as Burst says. For
// n in each calendar day, use Window(n, Day).
func PerDay(n int64) Limit { return Per(n, 24*time.Hour) }

// Per is a token bucket (TB.ACQUIRE) that is refilled evenly with n tokens in every period. It holds n tokens, or those
// of Burst. Over any span of time it grants at most its capacity and the refill of that span, so PerSecond(10) may
// grant nearly 20 within a second after a pause.
func Per(n int64, period time.Duration) Limit {
	return Limit{algorithm: tokenBucket, tokens: n, count: n, period: period}
}

// Burst returns the limit with another capacity: the most tokens that can be taken at once. It is for token buckets;
// other limits are returned as they are.
func (l Limit) Burst(capacity int64) Limit {
	if l.algorithm == tokenBucket {
		l.tokens = capacity
	}
	return l
}

// Queue turns a token bucket's rate into a queue (LB.QUEUE, nginx's limit_req): tokens go out one by one, evenly
// spaced, and the queue holds at most waiting requests. Use it with [Limiter.Wait]; with Allow, wait for [Result].Wait
// before acting. Other limits are returned as they are.
func (l Limit) Queue(waiting int64) Limit {
	if l.algorithm == tokenBucket {
		l.algorithm, l.tokens = leakyQueue, waiting
	}
	return l
}

// GCRA is the limit of CL.THROTTLE, for keys that are shared with programs written for redis-cell: maxBurst+1 tokens,
// and count more in every period, of whole seconds. Its times are rounded up to seconds. It makes the same decisions as
// Per(count, period).Burst(maxBurst+1), but one key cannot be used with both.
func GCRA(maxBurst, count int64, period time.Duration) Limit {
	return Limit{algorithm: gcra, tokens: maxBurst + 1, count: count, period: period}
}

// A Period is the length and the start of a fixed window: a calendar period below, or one made by [Starting] or
// [Aligned].
type Period string

// Periods of the calendar, in UTC but for those of [Limit.In]. Weeks begin on Monday, but for those of [Limit.From].
const (
	Minute Period = "@minute"
	Hour   Period = "@hour"
	Day    Period = "@day"
	Week   Period = "@week"
	Month  Period = "@month"
)

// Starting is a window of length d that starts with the first request it grants, as INCR and EXPIRE do in Redis.
func Starting(d time.Duration) Period { return Period(milliseconds(d)) }

// Aligned is a window of length d counted from the Unix epoch: Aligned(15*time.Minute) is each quarter of an hour.
func Aligned(d time.Duration) Period { return Period("@" + milliseconds(d)) }

// length is the window's length, that of the calendar's periods as [calendar] has it, or 0 if the period is malformed.
func (p Period) length() time.Duration {
	if d, ok := calendar[p]; ok {
		return d
	}
	if len(p) > 0 && p[0] == '@' {
		p = p[1:]
	}
	d, err := time.ParseDuration(string(p))
	if err != nil {
		return 0
	}
	return d
}

// Window is a fixed window (FW.ACQUIRE): n tokens in each period. All are available again when the next period begins,
// so up to 2n can be taken in quick succession around the border of two windows.
func Window(n int64, period Period) Limit {
	return Limit{algorithm: fixedWindow, tokens: n, count: n, period: period.length(), window: period}
}

// SlidingWindow is a sliding window estimated from two counters (SW.ACQUIRE): about n tokens in any span of length d.
func SlidingWindow(n int64, d time.Duration) Limit {
	return Limit{algorithm: slidingWindow, tokens: n, count: n, period: d}
}

// SlidingLog is an exact sliding window (SL.ACQUIRE): at most n tokens in any span of length d. The server stores a
// time for each, and bounds n by a setting, 100,000 by default.
func SlidingLog(n int64, d time.Duration) Limit {
	return Limit{algorithm: slidingLog, tokens: n, count: n, period: d}
}

// Tokens is the largest number that can be taken at once: a bucket's capacity, a window's limit, or the length of a
// queue plus one. That of a [Balance] is not known, and 0; that of a [Penalty] is its denials.
func (l Limit) Tokens() int64 {
	if l.algorithm == leakyQueue {
		return l.tokens + 1
	}
	return l.tokens
}

// Period is the period of the rate: Per's period, or a window's length, with 30 days for a calendar month.
func (l Limit) Period() time.Duration { return l.period }

// FillTime is the time until all tokens are back: a window's length, or the time in which an empty bucket fills up. It
// is rounded up to nanoseconds, and at most 146 years.
func (l Limit) FillTime() time.Duration {
	if l.count < 1 || l.period < 1 || l.tokens < 1 {
		return 0
	}
	if l.window != "" {
		return l.period
	}
	return time.Duration(ceilMulDiv(l.Tokens(), int64(l.period), l.count))
}

// MoreAfter is the time from an answer under this limit until there are more tokens to take: the next token of a
// bucket, the first one after a debt, the next place in a queue, the next window; 0 when all tokens are there. After a
// denial it is never later than RetryAfter. It is not known, and ok is false, for sliding windows and logs, members of
// a fair share, adaptive and concurrency limits unless they denied the request, and when the limiter's fallback decided.
func (l Limit) MoreAfter(r Result) (after time.Duration, ok bool) {
	denied := !r.Allowed && r.RetryAfter != Never
	switch {
	case r.Source == Fallback || r.Source == Local && !denied:
		return 0, false
	case r.Source == Local:
		return r.RetryAfter, true
	case l.algorithm == slidingWindow, l.algorithm == slidingLog, l.algorithm == fairShare, l.algorithm == adaptive, l.algorithm == concurrency, l.algorithm == penalty, l.algorithm != fixedWindow && l.count < 1:
		return max(0, r.RetryAfter), denied
	}
	after = r.ResetAfter
	if l.algorithm != fixedWindow {
		missing := max(0, r.Limit-max(0, r.Remaining)-1) // tokens that come back after the next
		after = max(0, after-time.Duration(ceilMulDiv(missing, int64(l.period), l.count)))
	}
	if denied {
		after = min(after, r.RetryAfter)
	}
	return after, true
}

// String is the limit in the syntax of RL.ALL without its key, such as "TB 20 10/1000ms".
func (l Limit) String() string {
	if l.algorithm == none {
		return "no limit"
	}
	text := words[l.algorithm].spec
	for _, argument := range l.appendOptions(l.appendArguments(nil)) {
		text += fmt.Sprint(" ", argument)
	}
	return text
}

// Corrects reports whether [Limiter.AtMost] can lower the limit: it is a bucket or a window without Segments and
// Rollover.
func (l Limit) Corrects() bool {
	return l.algorithm != none && l.keeps() && l.segments == 0 && l.rollover == 0
}

// check refuses limits that the protocol cannot express. The server checks ranges.
func (l Limit) check() error {
	unit, parameter := time.Millisecond, "period"
	switch l.algorithm {
	case none:
		return fmt.Errorf("%w: the zero Limit; make one with PerSecond, Window, …", ErrInvalid)
	case balance:
		return nil
	case gcra:
		unit = time.Second
	case fixedWindow:
		if l.period == 0 {
			return fmt.Errorf("%w: %s: the window must be Day or another period of the calendar, Starting(…) or Aligned(…), got %q",
				ErrInvalid, words[l.algorithm].command, string(l.window))
		}
		parameter = "window"
	case slidingWindow, slidingLog, penalty:
		parameter = "window"
	case concurrency:
		parameter = "ttl"
	}
	if l.period <= 0 || l.period%unit != 0 {
		return fmt.Errorf("%w: %s: the %s must be a whole number of %v above zero, got %v", ErrInvalid, words[l.algorithm].command, parameter, unit, l.period)
	}
	switch l.algorithm {
	case fairShare:
		return l.checkMember()
	case adaptive:
		return l.checkLeast()
	case penalty:
		return l.checkBan()
	case concurrency:
		if l.member == "" {
			return fmt.Errorf("%w: CC.ACQUIRE: a concurrency limit needs the name of a holder", ErrInvalid)
		}
	}
	return l.checkOptions()
}

// ceilMulDiv is a × b / c, rounded up and at most MaxInt64/2. The numbers must be above zero.
func ceilMulDiv(a, b, c int64) int64 {
	const most = math.MaxInt64 / 2
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return most
	}
	quotient, rest := bits.Div64(high, low, uint64(c))
	if rest > 0 {
		quotient++
	}
	return int64(min(quotient, most))
}
