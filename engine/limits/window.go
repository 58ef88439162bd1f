package limits

import (
	"errors"
	"strings"
)

// Span is the position of the windows of a fixed window limit. In all but [FromFirst] and [Aligned] the window is a
// period of the calendar in UTC and the limit's Period is 0.
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
)

var spanWords = [...]string{EachMinute: "@minute", EachHour: "@hour", EachDay: "@day", EachWeek: "@week", EachMonth: "@month"}

// ErrWindow describes the format of a window.
var ErrWindow = errors.New("must be a duration between 1ms and 10 years in whole nanoseconds, such as 60s, @ and a duration to align it to the clock, or one of @minute @hour @day @week @month")

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
