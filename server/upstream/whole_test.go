package upstream_test

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/upstream"
)

// full is a store that has no room for a purse.
type full struct{ decider.Decider }

func (f full) Decide(b *engine.Batch) (finished bool) {
	if b.Ops[0].Verb != engine.Prepare {
		return f.Decider.Decide(b)
	}
	b.Results[0] = engine.Result{Status: engine.OutOfRoom}
	return true
}

// A region without room for tokens of home has each request decided by home, which is there.
func TestNoRoomForTokensOfHome(t *testing.T) {
	home := start(t, "", nil)
	region := startWith(t, home.address, homeTimeout, func(d decider.Decider) decider.Decider { return full{d} }, func(o *upstream.Options) {
		o.Down = upstream.Down{Decides: true, Allows: true}
	})
	c, granted := dial(t, region.address), int64(0)
	for range 2100 {
		ints, failure := c.do("TB.ACQUIRE g:1 2000 1/15d")
		if failure != "" {
			t.Fatal(failure)
		}
		granted += ints[0]
	}
	if s := region.upstream.Status(); granted != 2000 || s.GrantedAlone > 0 {
		t.Errorf("%d of 2000 tokens are granted, %+v", granted, s)
	}
}

// A region with tokens of home grants a request for more than home has left, and at most what both have.
func TestRequestForTokensOfBoth(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c := dial(t, region.address)
	left := int64(1000)
	testwait.Until(t, "the region has tokens", func() bool {
		ints, failure := c.do("TB.ACQUIRE g:1 1000 1/30d")
		if failure != "" || ints[0] != 1 {
			t.Fatal(ints, failure)
		}
		left = ints[2]
		return region.upstream.Status().Local > 2
	})
	for _, want := range []int64{left, 0} { // all that is left, and one token more than that
		if ints, failure := c.do(fmt.Sprintf("TB.ACQUIRE g:1 1000 1/30d %d", max(1, want))); failure != "" || ints[0] != want {
			t.Errorf("%v %q, want %d tokens", ints, failure, want)
		}
	}
}
