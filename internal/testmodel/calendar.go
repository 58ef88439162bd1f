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

// zones are the zones that random calls name.
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
	return refuse("ERR %s: needs FW and a window @day, @week, @month, @quarter or @year, got '%s'", option, l.lastWord())
}

// lastWord is the last parameter of a limit that is no option, or its own word.
func (l *limit) lastWord() string {
	plain := *l
	plain.warn, plain.history, plain.rollover, plain.segments = 0, 0, 0, 0
	all := append([][2]string{{"", formOf(l.algorithm).word}}, plain.parameters()...)
	return all[len(all)-1][1]
}

// readFrom reads the beginning of a window, "" for the usual one.
func (l *limit) readFrom(text string) error {
	if err := l.mustBeOfCalendar("FROM"); err != nil {
		return err
	}
	must := ""
	day, minutes, isTime := dayAndMinutes(text)
	switch l.window {
	case "@day":
		if minutes, isTime = minutesOf(text); !isTime {
			must = "must be an hour of @day, 0 to 23, or a time such as 13:40"
		}
		if l.from = strings.TrimPrefix(strconv.Itoa(minutes/60), "0"); minutes%60 > 0 {
			l.from = clockText(minutes)
		}
	case "@week":
		if !isTime || !slices.Contains(weekdays, strings.ToLower(day)) {
			must = "must be a day of @week, one of monday tuesday wednesday thursday friday saturday sunday, also with a time, as in mondayT06:00"
		}
		l.from = strings.ToLower(day)
		if minutes > 0 {
			l.from += "T" + clockText(minutes)
		} else if l.from == "monday" {
			l.from = ""
		}
	case "@month":
		number, err := strconv.Atoi(day)
		if !isTime || err != nil || len(day) > 2 || strings.ContainsAny(day, "+-") || number < 1 || number > 31 {
			must = "must be a day of @month, 1 to 31, also with a time, as in 17T06:00"
		}
		l.from = strconv.Itoa(number)
		if minutes > 0 {
			l.from += "T" + clockText(minutes)
		} else if number == 1 {
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

// dayAndMinutes divides a day and a time such as 17T06:00.
func dayAndMinutes(text string) (day string, minutes int, ok bool) {
	at := strings.LastIndexAny(text, "tT")
	if at < 0 || !strings.Contains(text, ":") {
		return text, 0, true
	}
	minutes, ok = minutesOf(text[at+1:])
	return text[:at], minutes, ok && strings.Contains(text[at:], ":")
}

// minutesOf is the minutes of a day until an hour such as 13, or a time such as 13:40.
func minutesOf(text string) (minutes int, ok bool) {
	layout := "15:04"
	if !strings.Contains(text, ":") {
		text += ":00"
	}
	at, err := time.Parse(layout, text)
	return 60*at.Hour() + at.Minute(), err == nil && len(text) <= len(layout)
}

func clockText(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// dateOf is a date as it is shown, "" if there is no such day. The date of a quarter is in the first month that has the
// day.
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

// begins reports whether a window begins on a day, and at which time of it.
func (l limit) begins(day time.Time) (after time.Duration, is bool) {
	if l.window == "@day" {
		minutes, _ := minutesOf(cmp.Or(l.from, "0"))
		return time.Duration(minutes) * time.Minute, true
	}
	from, minutes, _ := dayAndMinutes(l.from)
	after = time.Duration(minutes) * time.Minute
	if l.window == "@week" {
		return after, strings.EqualFold(day.Weekday().String(), cmp.Or(from, "monday"))
	}
	month, date := 1, 1
	if l.window == "@month" {
		fmt.Sscan(from, &date)
	} else {
		fmt.Sscanf(l.from, "%d-%d", &month, &date)
	}
	inMonth := map[string]bool{"@month": true, "@quarter": (int(day.Month())-month+12)%3 == 0, "@year": int(day.Month()) == month}[l.window]
	return after, inMonth && (day.Day() == date || day.Day() < date && day.AddDate(0, 0, 1).Day() == 1)
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
		if after, is := l.begins(day); is {
			if start = firstShowing(location, day.Add(after)); start <= now {
				break
			}
		}
	}
	for day := today.AddDate(0, 0, -2); ; day = day.AddDate(0, 0, 1) {
		if after, is := l.begins(day); is {
			if end = firstShowing(location, day.Add(after)); end > now {
				return start, end
			}
		}
	}
}

// firstShowing is the first of each five minutes at which the clocks of a place show a time or a later one, which is
// written as in UTC.
func firstShowing(location *time.Location, clock time.Time) int64 {
	for at := clock.Add(-15 * time.Hour); ; at = at.Add(5 * time.Minute) {
		_, offset := at.In(location).Zone()
		if !at.Add(time.Duration(offset) * time.Second).Before(clock) {
			return at.UnixNano()
		}
	}
}

// randomAnchor is a random zone and beginning of a window, often none.
func randomAnchor(c *Calls, f *form, limit []string) (options []string) {
	if len(limit) == 0 {
		return nil
	}
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
	from := c.pick("0", "1", "17", "31", "32", "23", "24", "sunday", "04-06", "-1", "017", "x", "24:00", "6:5", "13:40:00", "T06:00", "17T", "17T6", "mondayT24:00")
	if !c.chance(8) {
		switch window {
		case "@day":
			from = c.pick(strconv.Itoa(c.random.IntN(24)), clockText(5*c.random.IntN(12*24)))
		case "@week":
			from = c.pick(weekdays...) + c.pick("", "T"+clockText(5*c.random.IntN(12*24)))
		case "@month":
			from = strconv.Itoa(1+c.random.IntN(31)) + c.pick("", "T"+clockText(5*c.random.IntN(12*24)))
		case "@quarter", "@year":
			from = c.pick("01-01", "4-6", "04-06", "11-30", "05-31", "2-29", "02-30", "12-31")
		}
	}
	return append(options, "FROM", from)
}
