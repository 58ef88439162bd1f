// Package engine has the words of the engine: operations, with which a caller asks, and results, with which they are answered. Package store
// keeps the keys and decides, package limits has the limits that can be asked for.
//
// Nothing below this folder has a clock, I/O, goroutines or a log. Time is an argument, so the same operations at the same times always
// give the same answers, on any node and in any test.
package engine
