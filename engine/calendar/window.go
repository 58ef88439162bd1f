package calendar

import (
	"encoding/binary"
	"sync/atomic"
	"time"
)

// Unit is the length of a window.
type Unit uint8

// The units.
const (
	Day Unit = iota
	Week
	Month
	Quarter
	Year
)

// months is the length of the units that are made of months.
var months = [...]int{Month: 1, Quarter: 3, Year: 12}

// Anchor says where windows begin. The zero value is the usual one: in UTC, at midnight, on Monday, and on the first
// day of the month and of the year. It is a comparable value, and each beginning has one.
type Anchor struct {
	Zone Zone
	From From
}

// Append appends the anchor to b: the numbers of its zone and of its beginning, as varints.
func (a Anchor) Append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(a.Zone)), uint64(a.From))
}

// Window returns the window that holds a time: [start, end), all in nanoseconds since the Unix epoch.
//
// A window begins at the first instant at which the clocks of the zone show its beginning, or anything later. So if
// they skip midnight, the day begins when they skip it, and if they show midnight twice, at the first.
func (a Anchor) Window(unit Unit, now int64) (start, end int64) {
	last := &table().rows[a.Zone].last[(uint(unit)+uint(a.From))%keptWindows]
	if w := last.Load(); w != nil && w.unit == unit && w.from == a.From && w.start <= now && now < w.end {
		return w.start, w.end
	}
	start, end = a.window(unit, now)
	last.Store(&window{unit, a.From, start, end})
	return start, end
}

// keptWindows bounds the windows that are kept for each zone: new keys ask for the same ones again and again.
const keptWindows = 8

type window struct {
	unit       Unit
	from       From
	start, end int64
}

type lastWindows [keptWindows]atomic.Pointer[window]

// window computes [Anchor.Window].
func (a Anchor) window(unit Unit, now int64) (start, end int64) {
	rules, seconds := a.Zone.rules(), time.Unix(0, now).Unix()
	begin := a.From.before(unit, time.Unix(seconds+rules.at(seconds).offset, 0).UTC())
	start = rules.firstShowing(begin.Unix())
	for {
		begin = a.From.after(unit, begin)
		end = rules.firstShowing(begin.Unix())
		if end > seconds {
			return start * int64(time.Second), end * int64(time.Second)
		}
		start = end // the clocks have shown it, and were set back
	}
}

// before is the beginning of the window that holds a time of the zone's clocks. Such times are written as if the zone
// was UTC.
func (f From) before(unit Unit, t time.Time) time.Time {
	clock := f.clock(unit)
	year, month, day := t.Add(-clock).Date()
	switch unit {
	case Day:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Add(clock)
	case Week:
		return time.Date(year, month, day-(int(t.Add(-clock).Weekday())-f.weekday()+7)%7, 0, 0, 0, 0, time.UTC).Add(clock)
	}
	first, onDay := f.date(unit)
	begin := dateIn(year, month-time.Month((int(month)-first+12)%months[unit]), onDay)
	if t.Add(-clock).Before(begin) {
		begin = dateIn(begin.Year(), begin.Month()-time.Month(months[unit]), onDay)
	}
	return begin.Add(clock)
}

// clock is the time that the zone's clocks show at the beginning, after midnight.
func (f From) clock(unit Unit) time.Duration {
	return time.Duration(f.hour(unit))*time.Hour + time.Duration(f.minute(unit))*time.Minute
}

// after is the beginning of the window after the one that begins then.
func (f From) after(unit Unit, begin time.Time) time.Time {
	switch unit {
	case Day:
		return begin.AddDate(0, 0, 1)
	case Week:
		return begin.AddDate(0, 0, 7)
	}
	_, onDay := f.date(unit)
	return dateIn(begin.Year(), begin.Month()+time.Month(months[unit]), onDay).Add(f.clock(unit))
}

// dateIn is a day of a month, or the last day of one that is shorter.
func dateIn(year int, month time.Month, day int) time.Time {
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
	return last.AddDate(0, 0, min(day, last.Day())-last.Day())
}
