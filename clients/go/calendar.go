package stint

import "time"

// Periods of the calendar that can have a zone and a beginning, besides [Day], [Week] and [Month].
const (
	Quarter Period = "@quarter"
	Year    Period = "@year"
)

// calendar has the periods of the calendar with their usual lengths.
var calendar = map[Period]time.Duration{
	Minute: time.Minute, Hour: time.Hour, Day: 24 * time.Hour, Week: 7 * 24 * time.Hour, Month: 30 * 24 * time.Hour,
	Quarter: 91 * 24 * time.Hour, Year: 365 * 24 * time.Hour,
}

// In returns the limit with the windows of a time zone, such as Europe/Berlin, in place of UTC. It is for Window with
// Day, Week, Month, Quarter or Year; other limits are returned as they are. The server knows the names of the IANA
// database.
func (l Limit) In(zone string) Limit {
	if l.hasAnchor() {
		l.zone = zone
	}
	return l
}

// From returns the limit with windows from another beginning: "6" or "13:40" is the time of a Day, "sunday" the day of
// a Week, "17" the day of a Month, both also with a time, as in "17T06:00", and "04-06" the date of a Year, or of one
// of its Quarters. A month without that day has it on its last. Other limits are returned as they are.
func (l Limit) From(beginning string) Limit {
	if l.hasAnchor() {
		l.from = beginning
	}
	return l
}

func (l Limit) hasAnchor() bool {
	return l.algorithm == fixedWindow && calendar[l.window] >= calendar[Day]
}
