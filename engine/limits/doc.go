// Package limits has the limits that can be asked for: the algorithms, and the parts of their limits: rates, durations
// and windows of the calendar. It reads and writes them as text, keeps no state, and decides nothing. A number is kept
// exactly, or rounded down where it is too long.
package limits
