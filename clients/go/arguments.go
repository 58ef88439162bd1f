package stint

import (
	"strconv"
	"time"
)

// appendArguments adds the arguments after the key in the limit's command, and in a spec of RL.ALL.
func (l Limit) appendArguments(to []any) []any {
	if l.algorithm == gcra {
		return append(to, l.tokens-1, l.count, int64(l.period/time.Second))
	}
	switch l.algorithm {
	case fairShare, concurrency:
		return append(to, l.tokens, l.second(), l.member)
	case balance:
		return to
	case penalty:
		return append(to, l.tokens, l.second(), milliseconds(l.ban))
	case adaptive:
		return append(to, l.tokens, perPeriod(l.least, l.period), l.second())
	}
	return append(to, l.tokens, l.second())
}

// appendOptions adds the options of the limit, which stand after the tokens of its command, and after its spec.
func (l Limit) appendOptions(to []any) []any {
	if l.algorithm == fairShare && l.weight != 1 {
		to = append(to, "WEIGHT", l.weight)
	}
	if l.longestBan != l.ban {
		to = append(to, "DOUBLING", milliseconds(l.longestBan))
	}
	if l.zone != "" {
		to = append(to, "TZ", l.zone)
	}
	if l.from != "" {
		to = append(to, "FROM", l.from)
	}
	if l.history != 0 {
		to = append(to, "HISTORY", l.history)
	}
	if l.rollover != 0 {
		to = append(to, "ROLLOVER", strconv.Itoa(l.rollover)+"%")
	}
	if l.segments != 0 {
		to = append(to, "SEGMENTS", l.segments)
	}
	if l.hasWarn() {
		to = append(to, "WARN", strconv.Itoa(l.warn)+"%")
	}
	if l.spreads() {
		to = append(to, "SPREAD")
	}
	return to
}

// second is the argument after the number of tokens: the rate, or the window.
func (l Limit) second() string {
	switch l.algorithm {
	case tokenBucket, leakyQueue, fairShare, adaptive:
		return perPeriod(l.count, l.period)
	case fixedWindow:
		return string(l.window)
	default:
		return milliseconds(l.period)
	}
}

// perPeriod is a rate as the server reads it.
func perPeriod(count int64, period time.Duration) string {
	var space [48]byte
	text := append(strconv.AppendInt(space[:0], count, 10), '/')
	text = strconv.AppendInt(text, period.Milliseconds(), 10)
	return string(append(text, "ms"...))
}

func milliseconds(d time.Duration) string {
	if d%time.Millisecond != 0 {
		return d.String() // which check refuses
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
