package stint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Adaptive makes a token bucket follow its backend (AD.ACQUIRE): its rate is between least tokens a period and the rate
// of the limit, where it begins, and moves with the reports of [Limiter.Report]. Other limits are returned as they are.
//
// [LocalShare] takes its share of the lowest rate, because it cannot know the present one.
func (l Limit) Adaptive(least int64) Limit {
	if l.algorithm == tokenBucket {
		l.algorithm, l.least = adaptive, least
	}
	return l
}

// Least is the lowest rate of an adaptive limit, in tokens a [Limit.Period]; 0 for other limits.
func (l Limit) Least() int64 { return l.least }

// checkLeast refuses rates that the server refuses.
func (l Limit) checkLeast() error {
	if l.least < 1 || l.least > l.count {
		return fmt.Errorf("%w: AD.ACQUIRE: the lowest rate must be above 0 and at most the highest, %d, got %d", ErrInvalid, l.count, l.least)
	}
	return nil
}

// Defaults of a [Report].
const (
	DefaultEvery = time.Second
	DefaultDown  = 80.0
	DefaultUp    = 5.0
)

// MaxReported is the largest number of calls in a [Report].
const MaxReported int64 = 1_000_000_000_000_000_000

// A Report is the news of some calls of a backend, for [Limiter.Report]. Fields that are 0 have the defaults.
type Report struct {
	// Good and Bad are the numbers of calls that went well, and of those that asked for a lower rate: 429, 503, an
	// answer that came too late.
	Good, Bad int64
	// Every is the time between two changes of the rate, DefaultEvery.
	Every time.Duration
	// Down is the percentage of the rate that is left after bad calls, DefaultDown; Up is the part of the highest
	// rate that is added after good calls alone, DefaultUp. Both have at most three decimals.
	Down, Up float64
	// Pause, if it is above 0, is a time in which nothing is granted to anybody, such as a Retry-After. The longest
	// wins. It is rounded up to milliseconds.
	Pause time.Duration
}

// A Pace is the state of an adaptive limit: its rate in tokens a second, rounded down to nine decimals, and the rest of
// its pause.
type Pace struct {
	PerSecond float64
	Pause     time.Duration
}

// Report tells an adaptive limit about calls of its backend (AD.REPORT). Report sums, each second or so, rather than
// each call. An empty report changes nothing, so it shows the state. known is false if the key has no limiter: nothing
// was granted in the last ten minutes.
//
// A report sent twice counts once, so the limiter repeats it when a reply is lost.
func (l *Limiter) Report(ctx context.Context, key string, r Report) (pace Pace, known bool, err error) {
	if err := r.Check(); err != nil {
		return Pace{}, false, err
	}
	reply, err := l.askUntilAnswered(ctx, r.command(shortKey(key)))
	if errors.Is(err, redis.Nil) {
		return Pace{}, false, nil
	}
	if err != nil {
		return Pace{}, false, err
	}
	values, _ := reply.([]any)
	if len(values) != 2 {
		return Pace{}, false, fmt.Errorf("%w (%v)", errReply, reply)
	}
	text, isText := values[0].(string)
	pause, isNumber := values[1].(int64)
	perSecond, err := strconv.ParseFloat(text, 64)
	if !isText || !isNumber || err != nil {
		return Pace{}, false, fmt.Errorf("%w (%v)", errReply, reply)
	}
	return Pace{PerSecond: perSecond, Pause: wait(pause, time.Millisecond)}, true, nil
}

// Check returns an error, ErrInvalid, if a field is out of its range. Report calls it.
func (r Report) Check() error {
	switch {
	case r.Good < 0 || r.Good > MaxReported:
		return fmt.Errorf("%w: a report's good calls must be between 0 and %d, got %d", ErrInvalid, MaxReported, r.Good)
	case r.Bad < 0 || r.Bad > MaxReported:
		return fmt.Errorf("%w: a report's bad calls must be between 0 and %d, got %d", ErrInvalid, MaxReported, r.Bad)
	case r.Every < 0 || r.Every%time.Millisecond != 0:
		return fmt.Errorf("%w: a report's Every must be a whole number of milliseconds, or 0 for %v, got %v", ErrInvalid, DefaultEvery, r.Every)
	case r.Down != 0 && !(thousandths(r.Down) > 0 && thousandths(r.Down) < 100_000):
		return fmt.Errorf("%w: a report's Down must be above 0 and below 100 percent, got %v", ErrInvalid, r.Down)
	case r.Up != 0 && !(thousandths(r.Up) > 0 && thousandths(r.Up) <= 100_000):
		return fmt.Errorf("%w: a report's Up must be above 0 and at most 100 percent, got %v", ErrInvalid, r.Up)
	case r.Pause < 0:
		return fmt.Errorf("%w: a report's Pause must not be below 0, got %v", ErrInvalid, r.Pause)
	}
	return nil
}

// thousandths is a percentage in the unit that the server keeps.
func thousandths(percent float64) float64 { return math.Round(percent * 1000) }

func (r Report) command(key serverKey) []any {
	arguments := []any{"AD.REPORT", string(key), r.Good, r.Bad}
	if r.Every > 0 {
		arguments = append(arguments, "EVERY", milliseconds(r.Every))
	}
	if r.Down != 0 {
		arguments = append(arguments, "DOWN", string(KeepPercent(r.Down)))
	}
	if r.Up != 0 {
		arguments = append(arguments, "UP", string(KeepPercent(r.Up)))
	}
	if r.Pause > 0 {
		up := r.Pause / time.Millisecond * time.Millisecond
		if up < r.Pause {
			up += time.Millisecond
		}
		arguments = append(arguments, "PAUSE", milliseconds(up))
	}
	return arguments
}
