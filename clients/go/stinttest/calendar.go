package stinttest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the machine may have no zones
)

const timeOfDay = `(t([01]?\d|2[0-3]):[0-5]\d)?`

// beginnings have the forms of FROM, by the windows that take it and a zone.
var beginnings = map[string]*regexp.Regexp{
	"@day": regexp.MustCompile(`^([01]?\d|2[0-3])(:[0-5]\d)?$`), "@week": regexp.MustCompile(`^(mon|tues|wednes|thurs|fri|satur|sun)day` + timeOfDay + `$`),
	"@month": regexp.MustCompile(`^(0?[1-9]|[12]\d|3[01])` + timeOfDay + `$`), "@quarter": regexp.MustCompile(`^\d{1,2}-\d{1,2}$`), "@year": regexp.MustCompile(`^\d{1,2}-\d{1,2}$`),
}

// months are those of a window of the calendar.
var months = map[string]int{"@month": 1, "@quarter": 3, "@year": 12}

// clockWindows are as long as their names say.
var clockWindows = map[string]time.Duration{"@minute": time.Minute, "@hour": time.Hour}

var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

func isCalendar(window string) bool { return beginnings[window] != nil }

// setZone takes the value of TZ.
func (l *limit) setZone(name string) (err error) {
	if l.zone, err = time.LoadLocation(name); err != nil || !isCalendar(l.window) {
		return fmt.Errorf("ERR TZ: the fake server knows no zone '%s' of %s", name, l.window)
	}
	return nil
}

// setFrom takes the value of FROM.
func (l *limit) setFrom(text string) error {
	l.from = strings.ToLower(text)
	if form := beginnings[l.window]; form == nil || !form.MatchString(l.from) {
		return fmt.Errorf("ERR FROM: no beginning of %s, got '%s'", l.window, text)
	}
	return nil
}

// span is the window that holds a time. One that begins with the first request begins then.
func (l limit) span(now int64) (start, end int64) {
	switch {
	case isCalendar(l.window):
		return l.calendarSpan(now)
	case strings.HasPrefix(l.window, "@"):
		start = now - now%l.period
	default:
		start = now
	}
	return start, start + l.period
}

// calendarSpan looks among the windows around a time for the one that holds it.
func (l limit) calendarSpan(now int64) (start, end int64) {
	at := time.Unix(0, now).UTC()
	wall := at.Add(l.offset(at))
	for i := -2; ; i++ {
		begin := l.instant(l.beginning(wall, i)).UnixNano()
		if begin > now {
			return start, begin
		}
		start = begin
	}
}

// beginning is the time at which the i-th window behind that of a time of the clock begins. Times of the clock are in UTC.
func (l limit) beginning(wall time.Time, i int) time.Time {
	from, clock := l.from, ""
	if at := strings.LastIndexByte(from, 't'); at >= 0 && strings.Contains(from, ":") { // tuesday has a t too
		from, clock = from[:at], from[at+1:]
	} else if l.window == "@day" {
		from, clock = "", from
	}
	hours, minutes, _ := strings.Cut(clock, ":")
	hour, _ := strconv.Atoi(hours)
	minute, _ := strconv.Atoi(minutes)
	return l.beginningDay(from, wall, i).Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

// beginningDay is the midnight before a beginning.
func (l limit) beginningDay(from string, wall time.Time, i int) time.Time {
	year, month, day := wall.Date()
	switch l.window {
	case "@day":
		return time.Date(year, month, day+i, 0, 0, 0, 0, time.UTC)
	case "@week":
		first := slices.Index(weekdays, cmp.Or(from, "monday"))
		return time.Date(year, month, day-(int(wall.Weekday())-first+7)%7+7*i, 0, 0, 0, 0, time.UTC)
	}
	monthText, dayText, hasMonth := strings.Cut(cmp.Or(from, "1"), "-")
	if !hasMonth {
		monthText, dayText = "1", cmp.Or(from, "1")
	}
	firstMonth, _ := strconv.Atoi(monthText)
	firstDay, _ := strconv.Atoi(dayText)
	since, length := year*12+int(month)-firstMonth, months[l.window] // months since that of the year 0
	begin := time.Month(since - since%length + length*i + firstMonth)
	last := time.Date(0, begin+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(0, begin, min(firstDay, last), 0, 0, 0, 0, time.UTC)
}

func (l limit) offset(at time.Time) time.Duration {
	if l.zone == nil {
		return 0
	}
	_, seconds := at.In(l.zone).Zone()
	return time.Duration(seconds) * time.Second
}

// instant is the first time at which the clocks of the zone show a time or a later one.
func (l limit) instant(wall time.Time) time.Time {
	const day = 24 * time.Hour
	begin := wall.Add(-day)
	before, after := l.offset(begin), l.offset(wall.Add(day))
	if before == after {
		return wall.Add(-before)
	}
	changed := begin.Add(time.Second * time.Duration(sort.Search(int(2*day/time.Second), func(s int) bool {
		return l.offset(begin.Add(time.Duration(s)*time.Second)) != before
	})))
	switch early, late := wall.Add(-before), wall.Add(-after); {
	case early.Before(changed):
		return early
	case late.Before(changed): // the clocks skip it
		return changed
	default:
		return late
	}
}
