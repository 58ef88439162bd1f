package cluster

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/engine/limits"
)

// account is what clients were granted under one limit while faults struck. Clients add to it at the same time.
type account struct {
	granted  atomic.Int64 // tokens
	refunded atomic.Int64 // tokens, those of refunds with an unknown outcome too
	resets   atomic.Int64 // that may have come to the limit
}

// exceeded returns an error if the tokens granted in a time, and not given back, are more than one exact limiter
// grants.
func (a *account) exceeded(name any, limit *limits.Limit, passed time.Duration) error {
	granted, refunded, resets := a.granted.Load(), a.refunded.Load(), a.resets.Load()
	most := mostOf(limit, passed, resets)
	if float64(granted-refunded) <= most {
		return nil
	}
	const text = "%s: in %v %d tokens were granted and %d refunded, with %d resets, one limiter would have granted %.1f at most"
	return fmt.Errorf(text, name, passed, granted, refunded, resets, most)
}

// mostOf is the tokens that one limiter grants at most in a time, with some resets in it, each of which allows the
// capacity once more. The cluster's clock may run faster by its tolerance, and a token may be granted that is only due
// at the next instant.
func mostOf(limit *limits.Limit, passed time.Duration, resets int64) float64 {
	passed += time.Duration(float64(passed) * clock.SlewPartsPerMillion / 1e6)
	most := float64(limit.Capacity) * float64(1+resets)
	if limit.Algorithm == limits.FixedWindow {
		return most + float64(limit.Capacity)*(1+float64(passed)/float64(limit.Rate.Period))
	}
	return most + 1 + float64(limit.Rate.Tokens)*float64(passed)/float64(limit.Rate.Period)
}

func TestAccount(t *testing.T) {
	bucket := &limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10, Rate: limits.Rate{Tokens: 6, Period: int64(time.Minute)}}
	window := &limits.Limit{Algorithm: limits.FixedWindow, Capacity: 10, Rate: limits.Rate{Period: int64(time.Minute)}}
	for _, c := range []struct {
		limit                     *limits.Limit
		passed                    time.Duration
		granted, refunded, resets int64
		isExceeded                bool
	}{
		{bucket, 0, 11, 0, 0, false}, // the next token is due
		{bucket, 0, 12, 0, 0, true},
		{bucket, 0, 12, 1, 0, false},
		{bucket, 0, 21, 0, 1, false},
		{bucket, 0, 22, 0, 1, true},
		{bucket, time.Minute, 17, 0, 0, false},
		{bucket, time.Minute, 18, 0, 0, true},
		{window, time.Minute, 30, 0, 0, false}, // the ends of two windows, and one between
		{window, time.Minute, 31, 0, 0, true},
	} {
		var a account
		a.granted.Store(c.granted)
		a.refunded.Store(c.refunded)
		a.resets.Store(c.resets)
		if err := a.exceeded("k", c.limit, c.passed); (err != nil) != c.isExceeded {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
