package testmodel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for machines without a database
)

// zones are those that random calls name.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Africa/Cairo", "Australia/Lord_Howe", "Pacific/Apia"}

var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// readZone reads the zone of a window, "" for UTC.
func (l *limit) readZone(text string) error {
	if err := l.mustBeOfCalendar("TZ"); err != nil {
		return err
	}
	for _, zone := range zones {
		if strings.EqualFold(zone, text) {
			l.zone = strings.TrimPrefix(zone, "UTC")
			return nil
		}
	}
	return refuse("ERR TZ: must be a time zone such as Europe/Berlin, got '%s'", text[:min(64, len(text))])
}

func (l *limit) mustBeOfCalendar(option string) error {
	if l.algorithm == fixedWindow && slices.Contains([]string{"@day", "@week", "@month", "@quarter", "@year"}, l.window) {
		return nil
	}
	plain := *l
	plain.warn, plain.history = 0, 0
	all := plain.parameters()
	return refuse("ERR %s: needs FW and a window @day, @week, @month, @quarter or @year, got '%s'", option, all[len(all)-1][1])
}

// readFrom reads the beginning of a window, "" for the usual one.
func (l *limit) readFrom(text string) error {
	if err := l.mustBeOfCalendar("FROM"); err != nil {
		return err
	}
	number, err := strconv.Atoi(text)
	isNumber := err == nil && len(text) <= 2 && text[0] != '-' && text[0] != '+'
	must := ""
	switch l.window {
	case "@day":
		if l.from = strings.TrimPrefix(strconv.Itoa(number), "0"); !isNumber || number > 23 {
			must = "must be an hour of @day, 0 to 23"
		}
	case "@week":
		if l.from = strings.TrimPrefix(strings.ToLower(text), "monday"); !slices.Contains(weekdays, strings.ToLower(text)) {
			must = "must be a day of @week, one of monday tuesday wednesday thursday friday saturday sunday"
		}
	case "@month":
		if l.from = strconv.Itoa(number); !isNumber || number < 1 || number > 31 {
			must = "must be a day of @month, 1 to 31"
		}
		if number == 1 {
			l.from = ""
		}
	default:
		if l.from = l.dateOf(text); l.from == "" {
			must = "must be a month and a day of @quarter or @year, such as 04-06"
		}
		l.from = strings.TrimPrefix(l.from, "01-01")
	}
	if must != "" {
		l.from = ""
		return argument("FROM", must, text)
	}
	return nil
}

// dateOf is a date as it is shown, "" if there is no such day. That of a quarter is in the first month that has the day.
func (l *limit) dateOf(text string) string {
	at, err := time.Parse("2006-1-2", "2028-"+text) // a leap year
	if err != nil {
		return ""
	}
	month := int(at.Month())
	for l.window == "@quarter" && month > 3 {
		month -= 3
	}
	if time.Date(2028, time.Month(month), at.Day(), 0, 0, 0, 0, time.UTC).Day() != at.Day() {
		month += 3
	}
	return fmt.Sprintf("%02d-%02d", month, at.Day())
}

// begins reports whether a window begins on a day, and at which hour.
func (l limit) begins(day time.Time) (hour int, is bool) {
	switch l.window {
	case "@day":
		fmt.Sscan(l.from, &hour)
		return hour, true
	case "@week":
		return 0, strings.EqualFold(day.Weekday().String(), cmp.Or(l.from, "monday"))
	}
	month, date := 1, 1
	if l.window == "@month" {
		fmt.Sscan(l.from, &date)
	} else {
		fmt.Sscanf(l.from, "%d-%d", &month, &date)
	}
	inMonth := map[string]bool{"@month": true, "@quarter": (int(day.Month())-month+12)%3 == 0, "@year": int(day.Month()) == month}[l.window]
	return 0, inMonth && (day.Day() == date || day.Day() < date && day.AddDate(0, 0, 1).Day() == 1)
}

// calendarWindow looks at one day after the other.
func (l limit) calendarWindow(now int64) (start, end int64) {
	location, err := time.LoadLocation(l.zone)
	if err != nil {
		panic(err)
	}
	at := time.Unix(0, now).In(location)
	today := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	for day := today.AddDate(0, 0, 2); ; day = day.AddDate(0, 0, -1) {
		if hour, is := l.begins(day); is {
			if start = firstShowing(location, day.Add(time.Duration(hour)*time.Hour)); start <= now {
				break
			}
		}
	}
	for day := today.AddDate(0, 0, -2); ; day = day.AddDate(0, 0, 1) {
		if hour, is := l.begins(day); is {
			if end = firstShowing(location, day.Add(time.Duration(hour)*time.Hour)); end > now {
				return start, end
			}
		}
	}
}

// firstShowing is the first quarter of an hour at which the clocks of a place show a time or a later one, which is written as in UTC.
func firstShowing(location *time.Location, clock time.Time) int64 {
	for at := clock.Add(-15 * time.Hour); ; at = at.Add(15 * time.Minute) {
		_, offset := at.In(location).Zone()
		if !at.Add(time.Duration(offset) * time.Second).Before(clock) {
			return at.UnixNano()
		}
	}
}

// randomAnchor is a random zone and beginning of a window, often none.
func randomAnchor(c *Calls, f *form, limit []string) (options []string) {
	window := strings.ToLower(limit[len(limit)-1])
	if f.algorithm != fixedWindow || !slices.Contains([]string{"@day", "@week", "@month", "@quarter", "@year"}, window) || c.chance(3) {
		return nil
	}
	if c.chance(2) {
		options = append(options, c.pick("TZ", "TZ", "tz"), c.pick(append(zones, "europe/BERLIN", "Mars/Olympus")...))
	}
	if !c.chance(2) {
		return options
	}
	from := c.pick("0", "1", "17", "31", "32", "23", "24", "sunday", "04-06", "-1", "017", "x")
	if !c.chance(8) {
		switch window {
		case "@day":
			from = strconv.Itoa(c.random.IntN(24))
		case "@week":
			from = c.pick(weekdays...)
		case "@month":
			from = strconv.Itoa(1 + c.random.IntN(31))
		case "@quarter", "@year":
			from = c.pick("01-01", "4-6", "04-06", "11-30", "05-31", "2-29", "02-30", "12-31")
		}
	}
	return append(options, "FROM", from)
}
