// Package algorithm has the exact arithmetic of every way of limiting, on the state of one key. A [Call] is one limit
// asked at one time; the [Table] has a row of functions for each algorithm, which read the call's state, answer in its
// result, and leave the state that is to be kept. They know nothing of keys, memory and locks, which are package
// store's, the only one that imports this one.
package algorithm
