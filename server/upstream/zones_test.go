package upstream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/upstream"
)

// A zone whose home does not answer is no home for its sidecars either: they decide as their settings say, and a request
// for several limits gets an error, not a denial.
func TestZoneWithoutHome(t *testing.T) {
	home := start(t, "", nil)
	zone := start(t, home.address, nil)
	sidecar := startWith(t, zone.address, homeTimeout, nil, func(o *upstream.Options) {
		o.Down, o.LoanTime = upstream.Down{Decides: true, Allows: true}, time.Minute
	})
	c := dial(t, sidecar.address)
	if ints, failure := c.do("TB.ACQUIRE g:1 10 1/h"); failure != "" || ints[0] != 1 {
		t.Fatal(ints, failure)
	}
	home.end()
	testwait.Until(t, "home is gone", func() bool { return !zone.upstream.Status().Connected })
	for range 20 {
		if ints, failure := c.do("TB.ACQUIRE g:2 10 1/h"); failure != "" || ints[0] != 1 {
			t.Fatalf("one limit: %v %q", ints, failure)
		}
		if ints, failure := c.all("RL.ALL TB g:3 10 1/h TB g:4 10 1/h"); !strings.HasPrefix(failure, "UPSTREAM ") {
			t.Fatalf("several limits: %v %q", ints, failure)
		}
	}
	if s := sidecar.upstream.Status(); s.GrantedAlone != 20 {
		t.Errorf("%+v", s)
	}
}

// Of two addresses, the first is a zone whose home does not answer. After a while, the second is asked.
func TestAddressThatDecidesNothing(t *testing.T) {
	t.Parallel() // it waits
	home := start(t, "", nil)
	gone := start(t, "", nil)
	zone := start(t, gone.address, nil)
	gone.end()
	sidecar := startWith(t, zone.address, homeTimeout, nil, func(o *upstream.Options) { o.Addresses = append(o.Addresses, home.address) })
	c := dial(t, sidecar.address)
	testwait.Until(t, "the other address decides", func() bool {
		ints, failure := c.do("TB.ACQUIRE g:1 10 1/h")
		return failure == "" && ints[0] == 1
	})
}
