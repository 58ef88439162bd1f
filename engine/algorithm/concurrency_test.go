package algorithm

import (
	"testing"

	"github.com/stintdb/stint/engine/limits"
)

// A lease ends after its time unless its holder renews it, which takes no other place.
func TestConcurrency(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.Concurrency, Capacity: 2, Rate: limits.Rate{Tokens: 2, Period: int64(10 * s)}}, []step{
		{at: 0, who: "a", tokens: 1, want: "granted, 1 left, full in 10s"},
		{at: 4 * s, who: "b", tokens: 1, want: "granted, 0 left, full in 10s"},
		{at: 5 * s, who: "c", tokens: 1, want: "denied, 0 left, wait 5s"},
		{at: 8 * s, who: "a", tokens: 1, want: "granted, 0 left, full in 10s"},
		{at: 12 * s, who: "c", tokens: 1, want: "denied, 0 left, wait 2s"},
		{at: 14 * s, who: "c", tokens: 1, want: "granted, 0 left, full in 10s"},
	})
}
