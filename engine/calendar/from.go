package calendar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// From is where in the zone's calendar the windows of a unit begin: the hour of a day, the day of a week counted from Monday on, the
// day of a month, or 32 times the month and the day of a quarter or a year. It is 0 for the usual beginning.
type From uint16

const perMonth = 32 // of a From, more than a month has days

// Errors of [ParseFrom], each for a unit.
var (
	errHour    = errors.New("must be an hour of @day, 0 to 23")
	errWeekday = errors.New("must be a day of @week, one of monday tuesday wednesday thursday friday saturday sunday")
	errDay     = errors.New("must be a day of @month, 1 to 31")
	errDate    = errors.New("must be a month and a day of @quarter or @year, such as 04-06")
)

var weekdays = [...]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// ParseFrom reads the beginning of a unit as clients write it.
func ParseFrom(unit Unit, text string) (From, error) {
	switch unit {
	case Day:
		return parseNumber(text, 0, 23, errHour)
	case Week:
		for i, name := range weekdays {
			if strings.EqualFold(text, name) {
				return From(i), nil
			}
		}
		return 0, errWeekday
	case Month:
		day, err := parseNumber(text, 1, 31, errDay)
		if day == 1 {
			return 0, err
		}
		return day, err
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
		return strconv.Itoa(int(f))
	case Week:
		return weekdays[f]
	case Month:
		return strconv.Itoa(int(max(1, f)))
	}
	month, day := f.date(unit)
	if day > int(daysOf(From(month))) {
		month += 3 // a later month of a quarter's has the day
	}
	return fmt.Sprintf("%02d-%02d", month, day)
}

// valid reports whether it is a beginning of the unit, and the only way to state it.
func (f From) valid(unit Unit) bool {
	switch unit {
	case Day:
		return f < 24
	case Week:
		return int(f) < len(weekdays)
	case Month:
		return f != 1 && f <= 31
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

// hour is that of a day's beginning.
func (f From) hour() int { return int(f) }

// weekday is that of a week's beginning as package time counts it, from Sunday on.
func (f From) weekday() int { return (int(f) + 1) % len(weekdays) }

// date is that of the beginning of a unit made of months. For a month, any will do: it is January.
func (f From) date(unit Unit) (month, day int) {
	switch {
	case f == 0:
		return 1, 1
	case unit == Month:
		return 1, int(f)
	}
	return int(f / perMonth), int(f % perMonth)
}
