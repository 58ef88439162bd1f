package stinttest

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A limit is one as its command has it. Times are in nanoseconds.
type limit struct {
	spec   string // the word of RL.ALL
	tokens int64  // the most at once
	count  int64  // that come back in period
	period int64
	window string // of FW
	least  int64  // of AD: tokens that come back in period at the lowest rate
}

// A spec is a way to write a limit.
type spec struct {
	word, command string
	words         int // of its arguments
}

// specs has the limits that the fake knows.
var specs = []spec{
	{"TB", "TB.ACQUIRE", 2}, {"LQ", "LB.QUEUE", 2}, {"CL", "CL.THROTTLE", 3},
	{"FW", "FW.ACQUIRE", 2}, {"SW", "SW.ACQUIRE", 2}, {"SL", "SL.ACQUIRE", 2}, {"AD", "AD.ACQUIRE", 3},
}

func specOf(word string) (spec, bool) {
	i := slices.IndexFunc(specs, func(s spec) bool { return s.word == word || s.command == word })
	if i < 0 {
		return spec{}, false
	}
	return specs[i], true
}

// parse reads the arguments of a limit, in the forms that the Go client sends.
func (s spec) parse(words []string) (l limit, err error) {
	if len(words) < s.words {
		return l, fmt.Errorf("ERR wrong number of arguments for %s", s.word)
	}
	l.spec = s.word
	if l.tokens, err = number(words[0]); err != nil {
		return l, err
	}
	switch s.word {
	case "CL":
		l.tokens++
		if l.count, err = number(words[1]); err != nil {
			return l, err
		}
		seconds, err := number(words[2])
		l.period = seconds * int64(time.Second)
		return l, err
	case "AD":
		if l.least, _, err = rate(words[1]); err != nil {
			return l, err
		}
		l.count, l.period, err = rate(words[2])
	case "TB", "LQ":
		l.count, l.period, err = rate(words[1])
		if s.word == "LQ" {
			l.tokens++ // the one that leaves at once
		}
	default:
		l.count = l.tokens
		l.window = words[1]
		if _, isCalendar := calendar[l.window]; !isCalendar {
			l.period, err = duration(strings.TrimPrefix(l.window, "@"))
		}
	}
	return l, err
}

func number(word string) (int64, error) { return numberUpTo(1_000_000_000_000, word) }

func numberUpTo(most int64, word string) (int64, error) {
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

// interval is the time of one token.
func (l limit) interval() *big.Rat { return big.NewRat(l.period, l.count) }

// calendar has the ends of the calendar's windows.
var calendar = map[string]func(time.Time) time.Time{
	"@minute": func(t time.Time) time.Time { return t.Truncate(time.Minute).Add(time.Minute) },
	"@hour":   func(t time.Time) time.Time { return t.Truncate(time.Hour).Add(time.Hour) },
	"@day":    func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC) },
	"@week": func(t time.Time) time.Time {
		sinceMonday := (int(t.Weekday()) + 6) % 7
		return time.Date(t.Year(), t.Month(), t.Day()+7-sinceMonday, 0, 0, 0, 0, time.UTC)
	},
	"@quarter": func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month()-(t.Month()-1)%3+3, 1, 0, 0, 0, 0, time.UTC)
	},
	"@year":  func(t time.Time) time.Time { return time.Date(t.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC) },
	"@month": func(t time.Time) time.Time { return time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC) },
}

// end is the end of the window that a request at a time belongs to.
func (l limit) end(now int64) int64 {
	if end, ok := calendar[l.window]; ok {
		return end(time.Unix(0, now).UTC()).UnixNano()
	}
	if strings.HasPrefix(l.window, "@") {
		return (now/l.period + 1) * l.period
	}
	return now + l.period
}
