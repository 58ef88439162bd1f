package algorithm

import (
	"testing"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

const s = time.Second

func TestTokenBucket(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: int64(2 * s)}}, []step{
		{at: 0, tokens: 3, want: "granted, 2 left, full in 6s"},
		{at: 0, tokens: 3, want: "denied, 2 left, wait 2s"},
		{at: 1 * s, tokens: 2, want: "granted, 0 left, full in 9s"}, // half a token has come
		{at: 1 * s, tokens: 1, want: "denied, 0 left, wait 1s"},
		{at: 2 * s, tokens: 1, want: "granted, 0 left, full in 10s"},
		{at: 20 * s, tokens: 6, want: "denied, 5 left, never"}, // more than it holds
		{at: 20 * s, tokens: 5, want: "granted, 0 left, full in 10s"},
		{at: 19 * s, tokens: 1, want: "denied, 0 left, wait 3s"}, // the clock went back
	})
}

// CL.THROTTLE's burst and rate are a bucket's capacity and rate.
func TestGCRA(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.GCRA, Capacity: 3, Rate: limits.Rate{Tokens: 10, Period: int64(s)}}, []step{
		{at: 0, tokens: 1, want: "granted, 2 left, full in 100ms"},
		{at: 0, tokens: 2, want: "granted, 0 left, full in 300ms"},
		{at: 50 * time.Millisecond, tokens: 1, want: "denied, 0 left, wait 50ms"},
		{at: 100 * time.Millisecond, tokens: 1, want: "granted, 0 left, full in 300ms"},
		{at: s, tokens: 3, want: "granted, 0 left, full in 300ms"},
	})
}

func TestLeakyBucket(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.LeakyBucket, Capacity: 2, Rate: limits.Rate{Tokens: 1, Period: int64(s)}}, []step{
		{at: 0, tokens: 1, want: "granted, 1 left, full in 1s"},
		{at: 0, tokens: 1, want: "granted, 0 left, full in 2s"},
		{at: 500 * time.Millisecond, tokens: 1, want: "denied, 0 left, wait 500ms"},
		{at: s, tokens: 1, want: "granted, 0 left, full in 2s"},
	})
}

// A queue grants what it has no room for later, one request after the other, up to its length.
func TestLeakyQueue(t *testing.T) {
	testSteps(t, limits.Limit{Algorithm: limits.LeakyQueue, Capacity: 2, Rate: limits.Rate{Tokens: 1, Period: int64(s)}}, []step{
		{at: 0, tokens: 1, want: "granted, 1 left, full in 1s"},
		{at: 0, tokens: 1, want: "granted after 1s, 0 left, full in 2s"},
		{at: 0, tokens: 1, want: "denied, 0 left, wait 1s"},
		{at: 0, tokens: 1, want: "denied, 0 left, wait 1s"},
		{at: 1500 * time.Millisecond, tokens: 1, want: "granted after 500ms, 0 left, full in 1.5s"},
	})
}
