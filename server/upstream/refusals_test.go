package upstream_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/upstream"
)

func allowsAlone(o *upstream.Options) { o.Down = upstream.Down{Decides: true, Allows: true} }

// Home refuses a request of a sidecar through a zone. That is no sign that home is down, so nothing is granted.
func TestErrorOfHomeBehindAZone(t *testing.T) {
	home := start(t, "", nil)
	zone := start(t, home.address, nil)
	sidecar := startWith(t, zone.address, homeTimeout, nil, allowsAlone)
	if _, failure := dial(t, home.address).do("SL.ACQUIRE g:1 5 1h"); failure != "" {
		t.Fatal(failure)
	}
	for c := range 20 {
		if ints, failure := dial(t, sidecar.address).do("TB.ACQUIRE g:1 5 1/6h"); failure == "" {
			t.Fatalf("request %d gets %v", c, ints)
		}
	}
}

// Home names a node without a leader, again and again. Nobody decides, so each request is decided as the settings say.
func TestNodeWithoutALeaderIsNamedAgain(t *testing.T) {
	cutOff := startRefusing(t, func(string) string { return command.ErrNoLeader.Error() })
	first := startNaming(t, func(string) string { return cutOff }, new(atomic.Int64))
	region := startWith(t, first, homeTimeout, nil, allowsAlone)
	for i := range 3 {
		if ints, failure := dial(t, region.address).do("TB.ACQUIRE g:1 9 1/6h"); failure != "" || ints[0] != 1 {
			t.Errorf("request %d: %v %s", i, ints, failure)
		}
	}
}

// While home has plenty, a zone lends to its holders and keeps its own tokens.
func TestZoneKeepsItsTokens(t *testing.T) {
	home := start(t, "", nil)
	zone := start(t, home.address, nil)
	c, d := dial(t, zone.address), dial(t, zone.address)
	zone.borrows(t, c, "TB.ACQUIRE g:1 100000 1/6h")
	previous, left := 0, int64(0)
	for i := range 4 {
		got, failure := d.do(fmt.Sprintf("RL.LEND g:1 TB 100000 1/6h 20000 me %d %d LEFT %d FOR 1m", i+1, previous, left))
		if failure != "" {
			t.Fatal(failure)
		}
		previous, left = int(got[4]), got[3]
	}
	if _, failure := c.do("TB.ACQUIRE g:1 100000 1/6h"); failure != "" {
		t.Fatal(failure)
	}
	if s := zone.upstream.Status(); s.Returned != 0 {
		t.Errorf("%+v", s)
	}
}

// Two requests with credits in a pipeline ask for more than home has for both. Home has not denied the second, so its
// wait is the time until home has all tokens again, not for ever.
func TestWaitBesideCredits(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c := dial(t, region.address)
	one := "RL.ALL TB g:1 10 1/1h ELSE BAL none:1 TOKENS 8"
	if _, err := c.conn.Write([]byte(one + "\r\n" + one)); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if got, failure := c.all(""); failure != "" || got[0] == 0 && got[2] <= 0 {
			t.Errorf("request %d: %v %s", i, got, failure)
		}
	}
}
