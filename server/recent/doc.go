// Package recent keeps the requests on policies of the last minutes, in bounded memory.
//
// A [Record] has a list of chunks for each policy. When a list is full, it keeps every request of half of the callers
// and leaves out the others, so that limits can be replayed exactly for the callers it has. With few callers the oldest
// requests go instead, and the record is shorter than the window.
package recent
