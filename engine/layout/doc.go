// Package layout has the layouts of states in memory and on disk that several algorithms share, or that are large: the meter of
// a bucket, and the pool of a fair share with its members. What is decided by them is in package algorithm.
package layout
