package stinttest

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// A limit is one as its command has it. Times are in nanoseconds.
type limit struct {
	spec   string // the word of RL.ALL
	tokens int64  // the most at once
	count  int64  // that come back in period
	period int64
	window string // of FW
	least  int64  // of AD: tokens that come back in period at the lowest rate

	zone    *time.Location // of windows of the calendar, nil for UTC
	from    string         // their beginning, "" for the usual one
	history int64          // the number of closed windows that are kept
	warn    int64          // percent
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
		l.window = strings.ToLower(words[1])
		if l.period = int64(clockWindows[l.window]); l.period == 0 && !isCalendar(l.window) {
			l.period, err = duration(strings.TrimPrefix(l.window, "@"))
		}
	}
	return l, err
}

// options takes the options of a limit from the words behind it, and returns the others.
func (l *limit) options(words []string) (rest []string, err error) {
	for len(words) > 1 && err == nil {
		switch value := words[1]; words[0] {
		case "TZ":
			err = l.setZone(value)
		case "FROM":
			err = l.setFrom(value)
		case "HISTORY":
			l.history, err = numberUpTo(stint.MaxHistory, value)
		case "WARN":
			l.warn, err = numberUpTo(100, strings.TrimSuffix(value, "%"))
		default:
			return words, nil
		}
		words = words[2:]
	}
	return words, err
}

// warnAt is the number of tokens from which on the limit warns.
func (l limit) warnAt() int64 { return (l.tokens*l.warn + 99) / 100 }

// withWarning adds the field of a limit that warns to the others.
func (l limit) withWarning(remaining int64, fields ...int64) []int64 {
	switch {
	case l.warn == 0:
		return fields
	case l.tokens-remaining >= l.warnAt():
		return append(fields, 1)
	}
	return append(fields, 0)
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
