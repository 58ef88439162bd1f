package testmodel

import (
	"strconv"
	"strings"
)

// The algorithms, as TYPE names them.
const (
	gcra          = "gcra"
	tokenBucket   = "token-bucket"
	leakyBucket   = "leaky-bucket"
	leakyQueue    = "leaky-queue"
	fixedWindow   = "fixed-window"
	slidingWindow = "sliding-window"
	slidingLog    = "sliding-log"
	concurrency   = "concurrency"
	balance       = "balance"

	slidingSegments = "sliding-segments" // SW with SEGMENTS
)

// limit is the limit of a request.
type limit struct {
	algorithm  string
	most       int64    // that can be granted at once
	rate       fraction // of meters
	window     string   // of a fixed window: its name if it is not a plain duration, such as @60s or @day
	zone       string   // of a window by the calendar, "" for UTC
	from       string   // its beginning, "" for the usual one
	history    int      // closed windows that are kept
	rollover   int64    // percent of what a window leaves to the next, 0 for nothing
	segments   int64    // of a sliding window, 0 for none
	length     int64    // of a window or a lease, in nanoseconds
	ban        int64    // of a penalty: its length in nanoseconds
	longestBan int64    // and that of the longest that doubling makes of it
	warn       int64    // percent, 0 for none
}

// form is the syntax of a limit: the words after the key.
type form struct {
	word      string // in RL.ALL and policies
	algorithm string
	words     int    // with the holder
	names     string // of the words
	read      func(words []string) (limit, error)
}

var forms = []form{
	{"CL", gcra, 3, "max_burst count period", readThrottle},
	{"TB", tokenBucket, 2, "capacity rate", readBucket},
	{"LB", leakyBucket, 2, "capacity rate", readBucket},
	{"LQ", leakyQueue, 2, "capacity rate", readQueue},
	{"FW", fixedWindow, 2, "limit window", readFixed},
	{"SW", slidingWindow, 2, "limit window", readSliding},
	{"SL", slidingLog, 2, "limit window", readLog},
	{"CC", concurrency, 3, "limit ttl holder", readLeases},
	{"BAL", balance, 0, "", func([]string) (l limit, err error) { return l, nil }},
	{"PENALTY", penalty, 3, "denials window ban", readPenalty},
}

func formOf(algorithm string) *form {
	if algorithm == slidingSegments {
		algorithm = slidingWindow
	}
	for i := range forms {
		if forms[i].algorithm == algorithm {
			return &forms[i]
		}
	}
	panic("testmodel: no algorithm " + algorithm)
}

func (f *form) limit(words []string) (limit, error) {
	l, err := f.read(words)
	l.algorithm = f.algorithm
	if err != nil {
		return l, err
	}
	if l.rate.tokens > 0 && times(ratio(l.most), l.rate.nanos()).Cmp(ratio(mostFill)) > 0 {
		name := "capacity"
		if f.algorithm == gcra {
			name = "max_burst"
		}
		return l, argument(name, "at this rate an empty limiter would take more than 100 years to fill, the most that can be kept", words[0])
	}
	return l, nil
}

func readThrottle(words []string) (l limit, err error) {
	if l.most, err = between("max_burst", words[0], 0, mostTokens-1); err != nil {
		return l, err
	}
	l.most++
	if l.rate.tokens, err = between("count", words[1], 1, mostTokens); err != nil {
		return l, err
	}
	seconds, err := between("period", words[2], 1, mostDuration/second)
	l.rate.period = seconds * second
	return l, err
}

func readBucket(words []string) (l limit, err error) {
	if l.most, err = between("capacity", words[0], 1, mostTokens); err == nil {
		l.rate, err = readRate(words[1])
	}
	return l, err
}

func readQueue(words []string) (l limit, err error) {
	if l.most, err = between("capacity", words[0], 0, mostTokens-1); err == nil {
		l.most++
		l.rate, err = readRate(words[1])
	}
	return l, err
}

const windowMust = "must be a duration between 1ms and 10 years in whole nanoseconds, such as 60s, @ and a duration to align it to the clock, or one of @minute @hour @day @week @month @quarter @year"

func readFixed(words []string) (l limit, err error) {
	if l.most, err = between("limit", words[0], 1, mostTokens); err != nil {
		return l, err
	}
	switch name := strings.ToLower(words[1]); name {
	case "@minute", "@hour", "@day", "@week", "@month", "@quarter", "@year":
		l.window = name
		return l, nil
	}
	text, aligned := strings.CutPrefix(words[1], "@")
	length, ok := nanoseconds(text)
	if !ok {
		return l, argument("window", windowMust, words[1])
	}
	if l.length = length; aligned {
		l.window = "@"
	}
	return l, nil
}

func readSliding(words []string) (l limit, err error) {
	if l.most, err = between("limit", words[0], 1, mostTokens); err == nil {
		l.length, err = duration("window", words[1])
	}
	return l, err
}

const mostLog = 100_000

func readLog(words []string) (l limit, err error) {
	if n, ok := wholeNumber(words[0]); ok && n > mostLog {
		return l, refuse("ERR limit: a sliding log keeps a time for every request, so its limit is at most %d (--max-sliding-log), got '%s'; SW.ACQUIRE needs no log and takes more", mostLog, words[0])
	}
	if l.most, err = between("limit", words[0], 1, mostLog); err == nil {
		l.length, err = duration("window", words[1])
	}
	return l, err
}

func readLeases(words []string) (l limit, err error) {
	if l.most, err = between("limit", words[0], 1, 10_000); err == nil {
		l.length, err = duration("ttl", words[1])
	}
	return l, err
}

// parameters are the limit's, by the names its command gives them.
func (l limit) parameters() [][2]string {
	if l.warn > 0 {
		plain := l
		plain.warn = 0
		return append(plain.parameters(), [2]string{"warn", strconv.FormatInt(l.warn, 10) + "%"})
	}
	switch l.algorithm {
	case gcra:
		return [][2]string{{"max_burst", strconv.FormatInt(l.most-1, 10)}, {"count", strconv.FormatInt(l.rate.tokens, 10)}, {"period", strconv.FormatInt(l.rate.period/second, 10)}}
	case leakyQueue:
		return [][2]string{{"capacity", strconv.FormatInt(l.most-1, 10)}, {"rate", l.rate.String()}}
	case tokenBucket, leakyBucket:
		return [][2]string{{"capacity", strconv.FormatInt(l.most, 10)}, {"rate", l.rate.String()}}
	case balance:
		return nil
	case penalty:
		all := [][2]string{{"denials", strconv.FormatInt(l.most, 10)}, {"window", durationText(l.length)}, {"ban", durationText(l.ban)}}
		if l.longestBan != l.ban {
			all = append(all, [2]string{"doubling", durationText(l.longestBan)})
		}
		return all
	case concurrency:
		return [][2]string{{"limit", strconv.FormatInt(l.most, 10)}, {"ttl", durationText(l.length)}}
	}
	window := l.window
	if l.length > 0 {
		window += durationText(l.length)
	}
	all := [][2]string{{"limit", strconv.FormatInt(l.most, 10)}, {"window", window}}
	if l.zone != "" {
		all = append(all, [2]string{"tz", l.zone})
	}
	if l.from != "" {
		all = append(all, [2]string{"from", l.from})
	}
	if l.history > 0 {
		all = append(all, [2]string{"history", strconv.Itoa(l.history)})
	}
	if l.rollover > 0 {
		all = append(all, [2]string{"rollover", strconv.FormatInt(l.rollover, 10) + "%"})
	}
	if l.segments > 0 {
		all = append(all, [2]string{"segments", strconv.FormatInt(l.segments, 10)})
	}
	return all
}
