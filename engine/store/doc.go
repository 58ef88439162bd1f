// Package store makes the decisions. It has the exact arithmetic of every rate limiting algorithm, and the sharded store with one small
// state per key.
//
// A caller passes operations to [Store.Apply] with the time of the decision; each gets one result. A new algorithm is a file with its
// decide function, a row in the table in algorithms.go, and one in package limits.
package store
