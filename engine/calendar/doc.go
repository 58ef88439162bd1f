// Package calendar knows the windows of the calendar: days, weeks, months, quarters and years, in any time zone and
// from any beginning.
//
// The rules of the time zones are a table in this package, so every program of one version computes the same, whatever
// the machine has in /usr/share/zoneinfo. See decision 0035.
package calendar
