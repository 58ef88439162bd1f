package algorithm

import (
	"testing"

	"github.com/stintdb/stint/engine/limits"
)

// A window begins with the first request, and all of its tokens come back when it ends.
func TestFixedWindow(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.FixedWindow, Capacity: 3, Rate: limits.Rate{Tokens: 3, Period: int64(10 * s)}}, []step{
		{at: 0, tokens: 2, want: "granted, 1 left, full in 10s"},
		{at: 4 * s, tokens: 2, want: "denied, 1 left, wait 6s"},
		{at: 9 * s, tokens: 1, want: "granted, 0 left, full in 1s"},
		{at: 10 * s, tokens: 3, want: "granted, 0 left, full in 10s"},
		{at: 10 * s, tokens: 4, want: "denied, 0 left, never"},
	})
}

// Of the window before, the part counts that a window ending now still covers.
func TestSlidingWindow(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 10, Rate: limits.Rate{Tokens: 10, Period: int64(10 * s)}}, []step{
		{at: 0, tokens: 10, want: "granted, 0 left, full in 20s"},
		{at: 5 * s, tokens: 1, want: "denied, 0 left, wait 6s"},
		{at: 12 * s, tokens: 1, want: "granted, 1 left, full in 18s"},
		{at: 15 * s, tokens: 5, want: "denied, 4 left, wait 1s"},
		{at: 40 * s, tokens: 10, want: "granted, 0 left, full in 20s"},
	})
}

// Each request counts for exactly one period.
func TestSlidingLog(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.SlidingLog, Capacity: 3, Rate: limits.Rate{Tokens: 3, Period: int64(10 * s)}}, []step{
		{at: 0, tokens: 1, want: "granted, 2 left, full in 10s"},
		{at: 4 * s, tokens: 2, want: "granted, 0 left, full in 10s"},
		{at: 9 * s, tokens: 1, want: "denied, 0 left, wait 1s"},
		{at: 10 * s, tokens: 1, want: "granted, 0 left, full in 10s"},
		{at: 10 * s, tokens: 2, want: "denied, 0 left, wait 4s"},
		{at: 14 * s, tokens: 2, want: "granted, 0 left, full in 10s"},
	})
}
