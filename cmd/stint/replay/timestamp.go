package replay

import (
	"errors"
	"math"
	"time"
)

var errTime = errors.New("the time cannot be read")

// clock reads times as nanoseconds since the Unix epoch. It keeps the last second that it read, because most lines have
// the second of the line before.
type clock struct {
	zone   *time.Location // of times that name none
	last   [len(commonLayout)]byte
	cached int64
	isSet  bool
}

// commonLayout is the time in logs of nginx and Apache.
const commonLayout = "02/Jan/2006:15:04:05 -0700"

// common reads a time such as 22/Nov/2026:21:24:25 +0000.
func (c *clock) common(text []byte) (int64, error) {
	if len(text) != len(commonLayout) {
		return 0, errTime
	}
	if c.isSet && string(c.last[:]) == string(text) {
		return c.cached, nil
	}
	month := monthOf(text[3:6])
	if month == 0 || text[2] != '/' || text[6] != '/' || text[11] != ':' || text[14] != ':' || text[17] != ':' || text[20] != ' ' {
		return 0, errTime
	}
	d := date{number(text[7:11]), month, number(text[0:2]), number(text[12:14]), number(text[15:17]), number(text[18:20])}
	offset, ok := zoneOffset(text[21:])
	if !d.isValid() || !ok {
		return 0, errTime
	}
	copy(c.last[:], text)
	c.cached, c.isSet = (d.unix()-offset)*int64(time.Second), true
	return c.cached, nil
}

// any reads a time as in RFC 3339, whose zone may be missing, or a number of seconds, milliseconds, microseconds or
// nanoseconds since the Unix epoch, told apart by their size, or the time of nginx and Apache.
func (c *clock) any(text []byte) (int64, error) {
	switch {
	case len(text) >= 19 && text[4] == '-':
		return c.rfc3339(text)
	case len(text) == len(commonLayout) && text[2] == '/':
		return c.common(text)
	}
	return epoch(text)
}

// rfc3339 reads a time such as 2026-11-22T21:24:25.123Z. A blank may stand for T, and a comma for the point.
func (c *clock) rfc3339(text []byte) (int64, error) {
	if len(text) < 19 || text[4] != '-' || text[7] != '-' || text[10] != 'T' && text[10] != 't' && text[10] != ' ' || text[13] != ':' || text[16] != ':' {
		return 0, errTime
	}
	d := date{number(text[0:4]), number(text[5:7]), number(text[8:10]), number(text[11:13]), number(text[14:16]), number(text[17:19])}
	if !d.isValid() {
		return 0, errTime
	}
	rest := text[19:]
	var nanos int64
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
		nanos, rest = fraction(rest[1:])
	}
	if len(rest) == 0 {
		return d.in(c.zone).UnixNano() + nanos, nil
	}
	if rest[0] == ' ' {
		rest = rest[1:]
	}
	offset, ok := zoneOffset(rest)
	if !ok {
		return 0, errTime
	}
	return (d.unix()-offset)*int64(time.Second) + nanos, nil
}

// epoch reads a number. Ten digits before the point are seconds until the year 2286.
func epoch(text []byte) (int64, error) {
	var whole int64
	digits := 0
	for digits < len(text) && isDigit(text[digits]) {
		if digits == 19 {
			return 0, errTime
		}
		whole = whole*10 + int64(text[digits]-'0')
		digits++
	}
	rest := text[digits:]
	if digits == 0 || whole < 0 {
		return 0, errTime
	}
	unit := int64(1)
	switch {
	case digits <= 11:
		unit = int64(time.Second)
	case digits <= 14:
		unit = int64(time.Millisecond)
	case digits <= 17:
		unit = int64(time.Microsecond)
	}
	if unit > 1 && whole > math.MaxInt64/unit {
		return 0, errTime
	}
	nanos := whole * unit
	if len(rest) > 1 && rest[0] == '.' {
		var part int64
		part, rest = fraction(rest[1:])
		nanos += part / (int64(time.Second) / unit)
	}
	if len(rest) > 0 || nanos < 0 {
		return 0, errTime
	}
	return nanos, nil
}

// fraction reads the decimals of a second as nanoseconds, and returns the text after them.
func fraction(text []byte) (nanos int64, rest []byte) {
	scale := int64(time.Second)
	for len(text) > 0 && isDigit(text[0]) {
		scale /= 10
		nanos += int64(text[0]-'0') * scale
		text = text[1:]
	}
	return nanos, text
}

// zoneOffset reads Z, +02:00 or +0200 as seconds east of UTC.
func zoneOffset(text []byte) (seconds int64, ok bool) {
	if len(text) == 1 && (text[0] == 'Z' || text[0] == 'z') {
		return 0, true
	}
	if len(text) != 5 && (len(text) != 6 || text[3] != ':') || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	hours, minutes := number(text[1:3]), number(text[len(text)-2:])
	if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	seconds = int64(hours*3600 + minutes*60)
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

type date struct{ year, month, day, hour, minute, second int }

func (d date) isValid() bool {
	return d.year >= 1970 && d.year < 2262 && d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= 31 &&
		d.hour >= 0 && d.hour < 24 && d.minute >= 0 && d.minute < 60 && d.second >= 0 && d.second <= 60
}

func (d date) in(zone *time.Location) time.Time {
	return time.Date(d.year, time.Month(d.month), d.day, d.hour, d.minute, d.second, 0, zone)
}

func (d date) unix() int64 { return d.in(time.UTC).Unix() }

// number reads digits; it is -1 for anything else.
func number(text []byte) (n int) {
	for _, c := range text {
		if !isDigit(c) {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func monthOf(text []byte) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for m := range 12 {
		if names[3*m:3*m+3] == string(text) {
			return m + 1
		}
	}
	return 0
}
