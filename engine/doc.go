// Package engine decides. It holds the exact arithmetic of every rate limiting algorithm and the sharded store that
// keeps one small state per key, and nothing else: no clock, no I/O, no goroutine of its own, no log. Time is an
// argument, so the same operations at the same times always give the same answers, on any node and in any test.
//
// A caller fills [Op] values and hands them to [Store.Apply] with the time of the decision; each is answered by one
// [Result]. A new algorithm is a file with its decide function and a row in the table in algorithms.go.
package engine
