// Package rates reads, writes and compares what limits are made of: rates, durations, and the windows of the calendar. A number is kept
// exactly, or rounded down where it is too long.
package rates
