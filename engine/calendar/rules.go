package calendar

import (
	"fmt"
	"math"
	"time"
)

// span is a time in which the clocks of a zone stay in one distance from UTC. All is in seconds.
type span struct{ from, until, offset int64 }

const (
	earliest = math.MinInt64
	latest   = math.MaxInt64
	// mostOffset is more than the clocks of any zone differ from UTC.
	mostOffset = 24 * 3600
)

// rules are the offsets of a zone.
type rules struct {
	spans  []span  // the last one ends never, or where the yearly rule says
	yearly *yearly // nil if the clocks stay as they are
}

// yearly is the rule of a zone that changes its clocks twice a year.
type yearly struct {
	changes [2]change // in the order of the year
}

// change is a change of the clocks on a weekday of a month.
type change struct {
	month, week, weekday int   // week is 5 for the last of the month; weekday is 0 for Sunday
	second               int64 // of that day in UTC, perhaps below 0 or beyond the day
	offset               int64 // that the clocks have from then on
}

// parseYearly reads two changes, such as M3.5.0@3600:7200,M10.5.0@3600:3600.
func parseYearly(text string) (*yearly, error) {
	y := &yearly{}
	a, b := &y.changes[0], &y.changes[1]
	_, err := fmt.Sscanf(text, "M%d.%d.%d@%d:%d,M%d.%d.%d@%d:%d", &a.month, &a.week, &a.weekday, &a.second, &a.offset, &b.month, &b.week, &b.weekday, &b.second, &b.offset)
	return y, err
}

// in is the time of the change in a year.
func (c *change) in(year int) int64 {
	first := time.Date(year, time.Month(c.month), 1, 0, 0, 0, 0, time.UTC)
	day := (c.weekday-int(first.Weekday())+7)%7 + 7*(c.week-1)
	if first.AddDate(0, 0, day).Month() != first.Month() { // the fifth, and there are four
		day -= 7
	}
	return first.AddDate(0, 0, day).Unix() + c.second
}

// at is the span that holds a time.
func (r *rules) at(seconds int64) span {
	low, high := 0, len(r.spans)-1
	for low < high { // the first that ends later
		if middle := (low + high) / 2; r.spans[middle].until > seconds {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if s := r.spans[low]; low < len(r.spans)-1 || r.yearly == nil {
		return s
	}
	return r.yearly.at(seconds, r.spans[low])
}

// at is the span that holds a time in or after the last span of the table.
func (y *yearly) at(seconds int64, last span) span {
	s, next := last, 0
	for year := time.Unix(seconds, 0).UTC().Year() - 1; ; year++ {
		for ; next < len(y.changes); next++ {
			c := &y.changes[next]
			when := c.in(year)
			if when > seconds {
				s.until = when
				return s
			}
			if when > last.from {
				s.from, s.offset = when, c.offset
			}
		}
		next = 0
	}
}

// firstShowing is the first second at which the clocks show a time or a later one. The time is written as if the zone
// was UTC.
func (r *rules) firstShowing(clock int64) int64 {
	for s := r.at(clock - mostOffset); ; s = r.at(s.until) {
		if t := max(s.from, clock-s.offset); t < s.until {
			return t
		}
	}
}
