// Package engine makes the decisions. It has the exact arithmetic of every rate limiting algorithm and the sharded
// store with one small state per key. It has no clock, no I/O, no goroutines and no log. Time is an argument, so the
// same operations at the same times always give the same answers, on any node and in any test.
//
// A caller passes [Op] values to [Store.Apply] with the time of the decision; each gets one [Result]. A new algorithm
// is a file with its decide function and a row in the table in algorithms.go.
package engine
