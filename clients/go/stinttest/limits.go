package stinttest

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// A limit as its command has it. Times are in nanoseconds.
type limit struct {
	spec     string // the word of RL.ALL: TB, FW, SW or BAL
	tokens   int64  // the most at once; not of BAL
	count    int64  // that come back in period, of TB
	period   int64  // 0 for windows of the calendar
	window   string // of FW
	rollover int64  // of FW, in percent
	segments int64  // of SW
}

// specs are the limits that the fake knows.
var specs = []string{"TB", "FW", "SW", "BAL"}

// periods are the lengths of the windows that have names. Those of the calendar, in UTC, have none.
var periods = map[string]time.Duration{
	"@minute": time.Minute, "@hour": time.Hour, "@day": 24 * time.Hour, "@week": 0, "@month": 0, "@quarter": 0, "@year": 0,
}

// parse reads the words of a limit, in the forms that the Go client sends, and returns the words behind them.
func parse(spec string, words []string) (l limit, rest []string, err error) {
	l.spec = spec
	if spec == "BAL" {
		return l, words, nil
	}
	if len(words) < 2 {
		return l, nil, fmt.Errorf("ERR wrong number of arguments for %s", spec)
	}
	rest = words[2:]
	if l.tokens, err = number(words[0]); err != nil {
		return l, nil, err
	}
	switch spec {
	case "TB":
		l.count, l.period, err = rate(words[1])
		return l, rest, err
	case "SW":
		l.period, err = duration(words[1])
		return l, rest, err
	}
	l.window = strings.ToLower(words[1])
	if period, hasName := periods[l.window]; hasName {
		l.period = int64(period)
		return l, rest, nil
	}
	l.period, err = duration(strings.TrimPrefix(l.window, "@"))
	return l, rest, err
}

// readOption reads the option of a limit, and returns the words behind it.
func (l *limit) readOption(words []string) (rest []string, err error) {
	is := func(spec, option string) bool { return l.spec == spec && len(words) > 1 && words[0] == option }
	switch {
	case is("FW", "ROLLOVER"):
		l.rollover, err = number(strings.TrimSuffix(words[1], "%"))
	case is("SW", "SEGMENTS"):
		l.segments, err = number(words[1])
	case l.spec == "SW":
		return nil, lacks("SW without SEGMENTS")
	default:
		return words, nil
	}
	return words[2:], err
}

func number(word string) (int64, error) {
	const most = 1_000_000_000_000
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("ERR must be an integer between 0 and %d, got '%s'", most, word)
	}
	return n, nil
}

// rate reads tokens and the time in which they come back.
func rate(word string) (count, period int64, err error) {
	tokens, per, _ := strings.Cut(word, "/")
	if count, err = number(tokens); err != nil {
		return 0, 0, err
	}
	period, err = duration(per)
	return count, period, err
}

func duration(word string) (int64, error) {
	d, err := time.ParseDuration(word)
	if err != nil || d < time.Millisecond || d > 10*365*24*time.Hour {
		return 0, fmt.Errorf("ERR must be a duration between 1ms and 10 years, got '%s'", word)
	}
	return int64(d), nil
}

// interval is the time of one token of a bucket.
func (l limit) interval() *big.Rat { return big.NewRat(l.period, l.count) }

// windowEnd is the end of the window that holds a time. A window without @ begins with its first request.
func (l limit) windowEnd(now int64) int64 {
	switch {
	case !strings.HasPrefix(l.window, "@"):
		return now + l.period
	case l.period > 0:
		return now - now%l.period + l.period
	}
	at := time.Unix(0, now).UTC()
	year, month, day := at.Date()
	switch l.window {
	case "@week":
		day += 7 - (int(at.Weekday())+6)%7 // to the next Monday
	case "@month":
		month, day = month+1, 1
	case "@quarter":
		month, day = month-(month-1)%3+3, 1
	default:
		year, month, day = year+1, 1, 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).UnixNano()
}
