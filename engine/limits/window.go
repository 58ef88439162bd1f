package limits

import (
	"errors"
	"strings"
	"time"

	"github.com/stintdb/stint/engine/calendar"
)

// Span is the position of the windows of a fixed window limit. In all but [FromFirst] and [Aligned] the window is a
// period of the calendar and the limit's Period is 0. Of days and longer ones, [Limit.Anchor] says in which zone, and
// from when.
type Span uint8

// The spans.
const (
	FromFirst Span = iota // Period long, from the first granted request on
	Aligned               // Period long, a multiple of Period since the Unix epoch
	EachMinute
	EachHour
	EachDay
	EachWeek // from Monday on
	EachMonth
	EachQuarter
	EachYear
)

var spanWords = [...]string{EachMinute: "@minute", EachHour: "@hour", EachDay: "@day", EachWeek: "@week", EachMonth: "@month", EachQuarter: "@quarter", EachYear: "@year"}

// ErrWindow describes the format of a window.
var ErrWindow = errors.New("must be a duration between 1ms and 10 years in whole nanoseconds, such as 60s, @ and a duration to align it to the clock, or one of @minute @hour @day @week @month @quarter @year")

// ParseWindow reads a window as clients write it. The error is [ErrWindow].
func ParseWindow(text string) (Span, int64, error) {
	aligned, isAligned := strings.CutPrefix(text, "@")
	if isAligned {
		for span, word := range spanWords {
			if word != "" && strings.EqualFold(word, text) {
				return Span(span), 0, nil
			}
		}
		text = aligned
	}
	period, err := ParseDuration(text)
	if err != nil {
		return 0, 0, ErrWindow
	}
	if isAligned {
		return Aligned, period, nil
	}
	return FromFirst, period, nil
}

// FormatWindow writes a window in the form [ParseWindow] reads.
func FormatWindow(span Span, period int64) string {
	switch span {
	case FromFirst:
		return FormatDuration(period)
	case Aligned:
		return "@" + FormatDuration(period)
	}
	return spanWords[span]
}

// Unit is the unit of the calendar whose windows have a zone and a beginning; false for all other spans.
func (s Span) Unit() (calendar.Unit, bool) {
	if s < EachDay || s > EachYear {
		return 0, false
	}
	return calendar.Unit(s - EachDay), true
}

// anchorIsValid reports whether the limit's windows can have its Anchor.
func (l *Limit) anchorIsValid() bool {
	unit, hasAnchor := l.Span.Unit()
	return l.Anchor == calendar.Anchor{} || hasAnchor && l.Anchor.Valid(unit)
}

// HasSameWindows reports whether the windows of two fixed window limits are the same.
func (l *Limit) HasSameWindows(other *Limit) bool {
	return l.Span == other.Span && l.Rate == other.Rate && l.Anchor == other.Anchor
}

// Segment is the length of a segment of a window that is cut into segments, rounded up.
func (l *Limit) Segment() int64 { return (l.Rate.Period + int64(l.Segments) - 1) / int64(l.Segments) }

// Longest is the most time that a window of a fixed window limit takes.
func (l *Limit) Longest() int64 {
	switch l.Span {
	case FromFirst, Aligned:
		return l.Rate.Period
	}
	return int64(longestOf[l.Span])
}

const anyDay = 25 * time.Hour // when clocks are set back

var longestOf = [...]time.Duration{EachMinute: time.Minute, EachHour: time.Hour, EachDay: anyDay, EachWeek: 7 * anyDay, EachMonth: 31 * anyDay, EachQuarter: 92 * anyDay, EachYear: 366 * anyDay}

// maxRemembered bounds the time for which closed windows are kept.
const maxRemembered = 100 * 365 * 24 * int64(time.Hour)

// Remembered is how long after its end a closed window of a limit with a History is kept at least: while as many
// windows are over without another.
func (l *Limit) Remembered() int64 {
	if l.History == 0 {
		return 0
	}
	if each := l.Longest(); each <= maxRemembered/int64(l.History) {
		return each * int64(l.History)
	}
	return maxRemembered
}
