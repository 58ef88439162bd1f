// Package engine has the words of the engine: operations, with which a caller asks; results, with which they are
// answered; and the templates of policies. Package limits has the limits that can be asked for, package algorithm their
// arithmetic, and package store the keys.
//
// Nothing in this folder has a clock, I/O, goroutines or a log. Time is an argument, so the same operations at the same
// times always give the same answers, on any node and in any test.
package engine
