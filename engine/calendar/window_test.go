package calendar

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// The windows that tests compare: those that end in the last ten years, and the next.
var (
	testedFrom  = time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)
	testedUntil = time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)
)

// beginnings are those of the units that tests compare: the usual one, one for every quick run, and more for a full
// one.
var beginnings = map[Unit][]string{
	Day: {"0", "02:30", "13:40", "00:15", "2", "1", "3", "17", "23"}, Week: {"monday", "sundayT01:30", "sunday", "thursday", "sundayT02:05"}, Month: {"1", "31T02:30", "17T06:00", "1T00:30", "31", "17", "29", "30"},
	Quarter: {"01-01", "05-31", "02-17", "11-30", "03-31"}, Year: {"01-01", "02-29", "04-06", "12-31"},
}

// TestWindows compares every window of every zone with those that the test makes from Go's database. Of zones with the
// same rules, it compares one.
func TestWindows(t *testing.T) {
	zones, windows, seen := goZones(t), 0, map[string]bool{}
	times := map[Unit]map[string][]time.Time{}
	for unit, froms := range beginnings {
		times[unit] = map[string][]time.Time{}
		for _, from := range froms[:testsize.Pick(2, len(froms))] {
			times[unit][from] = clockTimes(unit, from)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		periods := periodsOf(zones[name].location, testedFrom.AddDate(-2, 0, 0), testedUntil.AddDate(2, 0, 0))
		if key := fmt.Sprint(periods); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		for unit, froms := range times {
			for from, clocks := range froms {
				windows += compareWindows(t, periods, name, unit, from, clocks)
			}
		}
	}
	if len(seen) < 100 || windows < 1_000_000 {
		t.Errorf("only %d windows of %d zones", windows, len(seen))
	}
	t.Logf("%d windows of %d zones", windows, len(seen))
}

// compareWindows compares the windows of a zone from one beginning, when its clocks show times, and returns their
// number.
func compareWindows(t *testing.T, periods []period, zone string, unit Unit, text string, times []time.Time) int {
	t.Helper()
	from, err := ParseFrom(unit, text)
	if err != nil {
		t.Fatal(err)
	}
	number, known := ParseZone([]byte(zone))
	a := Anchor{number, from}
	if !known || !a.Valid(unit) {
		t.Fatal(zone, unit, text)
	}
	begins := beginsOf(periods, times)
	for i := 1; i < len(begins); i++ {
		start, end := begins[i-1].UnixNano(), begins[i].UnixNano()
		for _, now := range []int64{start, (start + end) / 2, end - 1} {
			if s, e := a.Window(unit, now); s != start || e != end {
				t.Fatalf("%s, unit %d from %s: at %s the window is %s to %s, expected %s to %s", zone, unit, text, clock(now), clock(s), clock(e), clock(start), clock(end))
			}
		}
	}
	return len(begins) - 1
}

func clock(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339Nano) }

// period is a time in which a zone's clocks are not changed.
type period struct {
	from, until time.Time
	offset      time.Duration
}

// periodsOf finds the periods of a zone between two times, by the offsets that package time has for each day.
// (Time.ZoneBounds does not always come to an end.)
func periodsOf(location *time.Location, from, until time.Time) (periods []period) {
	offsetAt := func(at time.Time) time.Duration {
		_, offset := at.In(location).Zone()
		return time.Duration(offset) * time.Second
	}
	last := period{from: from, offset: offsetAt(from)}
	for at := from; at.Before(until); at = at.Add(24 * time.Hour) {
		next := at.Add(24 * time.Hour)
		if offsetAt(next) == last.offset {
			continue
		}
		seconds := sort.Search(24*3600, func(n int) bool { return offsetAt(at.Add(time.Duration(n)*time.Second)) != last.offset })
		last.until = at.Add(time.Duration(seconds) * time.Second)
		periods = append(periods, last)
		last = period{from: last.until, offset: offsetAt(last.until)}
	}
	last.until = until.AddDate(9, 0, 0)
	return append(periods, last)
}

// clockTimes are the times of the clocks at which windows begin, by counting days.
func clockTimes(unit Unit, from string) (times []time.Time) {
	for day := testedFrom.AddDate(-1, 0, 0); day.Before(testedUntil.AddDate(1, 0, 0)); day = day.AddDate(0, 0, 1) {
		begins, onDay, clock := false, from, ""
		if unit == Day {
			onDay, clock = "", from
		} else if unit < Quarter {
			onDay, clock, _ = strings.Cut(from, "T")
		}
		hour, minute := 0, 0
		fmt.Sscanf(clock, "%d:%d", &hour, &minute)
		switch unit {
		case Day:
			begins = true
		case Week:
			begins = day.Weekday() == map[string]time.Weekday{"monday": time.Monday, "sunday": time.Sunday, "thursday": time.Thursday}[onDay]
		case Month:
			number := 0
			fmt.Sscan(onDay, &number)
			begins = isDayOfMonth(day, number)
		default:
			month, onDay := 0, 0
			fmt.Sscanf(from, "%d-%d", &month, &onDay)
			months := (int(day.Month()) - month + 12) % 12
			begins = isDayOfMonth(day, onDay) && (months == 0 || unit == Quarter && months%3 == 0)
		}
		if begins {
			times = append(times, day.Add(time.Duration(hour)*time.Hour+time.Duration(minute)*time.Minute))
		}
	}
	return times
}

// isDayOfMonth reports whether a day is one of a month, or the last of a month without it.
func isDayOfMonth(day time.Time, wanted int) bool {
	isLast := day.AddDate(0, 0, 1).Day() == 1
	return day.Day() == wanted || isLast && day.Day() < wanted
}

// beginsOf finds the first instants at which a zone's clocks show these times or later ones.
func beginsOf(periods []period, times []time.Time) (begins []time.Time) {
	at := 0
	for _, clock := range times {
		for ; !periods[at].until.Add(periods[at].offset).After(clock); at++ {
		}
		begin := clock.Add(-periods[at].offset)
		if begin.Before(periods[at].from) {
			begin = periods[at].from
		}
		if begin.Before(testedFrom) || begin.After(testedUntil) || len(begins) > 0 && begin.Equal(begins[len(begins)-1]) {
			continue
		}
		begins = append(begins, begin)
	}
	return begins
}
