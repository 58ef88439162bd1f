package algorithm

import (
	"testing"

	"github.com/stintdb/stint/engine/limits"
)

// A member that has taken much leaves room for the others, by weight. One that has taken nothing gets what is there.
func TestFairShare(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.FairShare, Capacity: 100, Rate: limits.Rate{Tokens: 10, Period: int64(s)}}, []step{
		{at: 0, who: "greedy", tokens: 50, want: "granted, 38 left, full in 5s"},
		{at: 0, who: "greedy", tokens: 50, want: "denied, 38 left, wait 1.111111165s"}, // once 100/9 tokens are back
		{at: 0, who: "greedy", tokens: 38, want: "granted, 0 left, full in 8.8s"},
		{at: 0, who: "greedy", tokens: 1, want: "denied, 0 left, wait 11.111165ms"},
		{at: 0, who: "modest", tokens: 5, want: "granted, 5 left, full in 9.3s"},
		{at: 0, who: "modest", tokens: 8, want: "denied, 5 left, wait 247.058869ms"}, // once 21/8.5 are back, half of them to it
		{at: 0, who: "another", tokens: 7, want: "granted, 0 left, full in 10s"},
		{at: 0, who: "late", tokens: 1, want: "denied, 0 left, wait 100ms"},
		{at: 3 * s, who: "late", tokens: 10, want: "granted, 16 left, full in 8s"},
		{at: 3 * s, who: "greedy", tokens: 20, want: "denied, 10 left, wait 1.058823586s"},
		{at: 3 * s, who: "late", tokens: 101, want: "denied, 16 left, never"},
		{at: 20 * s, who: "greedy", tokens: 20, want: "granted, 68 left, full in 2s"}, // all is back
	})
}

// A member of twice the weight may take twice as much of the rest.
func TestFairShareByWeight(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.FairShare, Capacity: 170, Rate: limits.Rate{Tokens: 10, Period: int64(s)}}, []step{
		{at: 0, who: "double", weight: 2, tokens: 100, want: "granted, 60 left, full in 10s"},
		{at: 0, who: "single", tokens: 60, want: "granted, 2 left, full in 16s"},
		{at: 0, who: "double", weight: 2, tokens: 4, want: "denied, 3 left, wait 48.00005ms"},
		{at: 0, who: "double", weight: 2, tokens: 3, want: "granted, 0 left, full in 16.3s"},
	})
}
