package calendar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// From is where in the zone's calendar the windows of a unit begin: the hour of a day, the day of a week counted from
// Monday on, the day of a month, or 32 times the month and the day of a quarter or a year. Above them are 32 times the
// hour, of a week or a month, and 1024 times the minute, of a day too. It is 0 for the usual beginning.
type From uint16

const (
	perMonth  = 32 // of a From, more than a month has days
	perHour   = 32
	perMinute = 1024
)

// Errors of [ParseFrom], each for a unit.
var (
	errHour    = errors.New("must be an hour of @day, 0 to 23, or a time such as 13:40")
	errWeekday = errors.New("must be a day of @week, one of monday tuesday wednesday thursday friday saturday sunday, also with a time, as in mondayT06:00")
	errDay     = errors.New("must be a day of @month, 1 to 31, also with a time, as in 17T06:00")
	errDate    = errors.New("must be a month and a day of @quarter or @year, such as 04-06")
)

var weekdays = [...]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// ParseFrom reads the beginning of a unit as clients write it.
func ParseFrom(unit Unit, text string) (From, error) {
	switch unit {
	case Day:
		hour, minute, err := parseTime(text, errHour)
		return hour + minute*perMinute, err
	case Week:
		dayText, clock, err := parseTimeOfDay(text, errWeekday)
		if err != nil {
			return 0, err
		}
		day, err := parseWeekday(dayText)
		return day + clock, err
	case Month:
		dayText, clock, err := parseTimeOfDay(text, errDay)
		if err != nil {
			return 0, err
		}
		day, err := parseDayOfMonth(dayText)
		return day + clock, err
	}
	monthText, dayText, _ := strings.Cut(text, "-")
	month, err := parseNumber(monthText, 1, 12, errDate)
	if err != nil {
		return 0, err
	}
	day, err := parseNumber(dayText, 1, daysOf(month), errDate)
	if err != nil {
		return 0, err
	}
	if unit == Quarter {
		month = (month-1)%3 + 1
	}
	if month == 1 && day == 1 {
		return 0, nil
	}
	return month*perMonth + day, nil
}

// parseTimeOfDay reads the time after a day's T, if there is one, and returns the text of the day before it.
func parseTimeOfDay(text string, otherwise error) (day string, clock From, err error) {
	at := strings.LastIndexAny(text, "Tt")
	if at < 0 || !strings.Contains(text, ":") { // Tuesday has a T too
		return text, 0, nil
	}
	hour, minute, err := parseTime(text[at+1:], otherwise)
	return text[:at], hour*perHour + minute*perMinute, err
}

func parseWeekday(text string) (From, error) {
	for i, name := range weekdays {
		if strings.EqualFold(text, name) {
			return From(i), nil
		}
	}
	return 0, errWeekday
}

func parseDayOfMonth(text string) (From, error) {
	day, err := parseNumber(text, 1, 31, errDay)
	if day == 1 {
		return 0, err
	}
	return day, err
}

// parseTime reads an hour, or an hour and two digits of a minute.
func parseTime(text string, otherwise error) (hour, minute From, err error) {
	hourText, minuteText, hasMinute := strings.Cut(text, ":")
	if hour, err = parseNumber(hourText, 0, 23, otherwise); err != nil || !hasMinute {
		return hour, 0, err
	}
	if len(minuteText) != 2 {
		return 0, 0, otherwise
	}
	if minute, err = parseNumber(minuteText, 0, 59, otherwise); err != nil {
		return 0, 0, err
	}
	return hour, minute, nil
}

// parseNumber reads a number of one or two digits.
func parseNumber(text string, least, most From, err error) (From, error) {
	n, bad := strconv.ParseUint(text, 10, 8)
	if bad != nil || len(text) > 2 || From(n) < least || From(n) > most {
		return 0, err
	}
	return From(n), nil
}

// daysOf is the most days that a month can have.
func daysOf(month From) From {
	return [...]From{1: 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month]
}

// Text writes the beginning of a unit as [ParseFrom] reads it.
func (f From) Text(unit Unit) string {
	switch unit {
	case Day:
		if f < perMinute {
			return strconv.Itoa(int(f))
		}
		return f.timeText(unit)
	case Week:
		return weekdays[f%perHour] + f.timeAfterDay(unit)
	case Month:
		return strconv.Itoa(int(max(1, f%perHour))) + f.timeAfterDay(unit)
	}
	month, day := f.date(unit)
	if day > int(daysOf(From(month))) {
		month += 3 // a later month of a quarter's has the day
	}
	return fmt.Sprintf("%02d-%02d", month, day)
}

func (f From) timeText(unit Unit) string {
	return fmt.Sprintf("%02d:%02d", f.hour(unit), f.minute(unit))
}

// timeAfterDay is empty at midnight.
func (f From) timeAfterDay(unit Unit) string {
	if f < perHour {
		return ""
	}
	return "T" + f.timeText(unit)
}

// HasTime reports whether it is a time that was no beginning in format version 2: within a day of a week or a month, or
// at a minute.
func (f From) HasTime(unit Unit) bool { return unit <= Month && f >= perHour }

// valid reports whether it is a beginning of the unit, and the only way to state it.
func (f From) valid(unit Unit) bool {
	switch unit {
	case Day:
		return f%perMinute < 24 && f.minute(unit) < 60
	case Week:
		return int(f%perHour) < len(weekdays) && f.hour(unit) < 24 && f.minute(unit) < 60
	case Month:
		return f%perHour != 1 && f.hour(unit) < 24 && f.minute(unit) < 60
	}
	if f == 0 {
		return true
	}
	month, day := f/perMonth, f%perMonth
	switch {
	case month < 1 || month > 12 || day < 1 || f == perMonth+1:
		return false
	case unit == Quarter: // of the months three apart, one has 31 days
		return month <= 3
	}
	return day <= daysOf(month)
}

// hour is the hour of the beginning; quarters and years begin at midnight.
func (f From) hour(unit Unit) int {
	switch unit {
	case Day:
		return int(f % perMinute)
	case Week, Month:
		return int(f % perMinute / perHour)
	}
	return 0
}

// minute is the minute of the beginning.
func (f From) minute(unit Unit) int {
	if unit > Month {
		return 0
	}
	return int(f / perMinute)
}

// weekday is the day on which a week begins, as package time counts it, from Sunday on.
func (f From) weekday() int { return (int(f%perHour) + 1) % len(weekdays) }

// date is the day on which a unit made of months begins. For a month, any will do: it is January.
func (f From) date(unit Unit) (month, day int) {
	switch {
	case f == 0:
		return 1, 1
	case unit == Month:
		return 1, max(1, int(f%perHour))
	}
	return int(f / perMonth), int(f % perMonth)
}
