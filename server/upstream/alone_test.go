package upstream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/upstream"
)

// While home does not answer, requests are decided as the settings say, and counted.
func TestHomeIsDown(t *testing.T) {
	for name, c := range map[string]struct {
		down    upstream.Down
		granted int64 // of ten requests for a token of ten, with 5 before
	}{
		"deny":  {upstream.Down{Decides: true}, 0},
		"allow": {upstream.Down{Decides: true, Allows: true}, 10},
		"share": {upstream.Down{Decides: true, Share: 30}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			home := start(t, "", nil)
			region := startWith(t, home.address, homeTimeout, nil, func(o *upstream.Options) { o.Down = c.down })
			r := dial(t, region.address)
			if _, failure := r.do("TB.ACQUIRE g:1 10 1/1h 5"); failure != "" {
				t.Fatal(failure)
			}
			home.end()
			testwait.Until(t, "home is gone", func() bool { return !region.upstream.Status().Connected })
			for _, command := range []string{"TB.ACQUIRE g:1 10 1/1h", "CL.THROTTLE g:2 9 1 3600", "FW.ACQUIRE g:3 10 @year", "LB.ACQUIRE g:4 10 1/365d"} {
				granted := int64(0)
				for range 10 {
					ints, failure := r.do(command)
					switch {
					case failure != "" || len(ints) != 5:
						t.Fatalf("%s: %v %s", command, ints, failure)
					case (ints[0] == 0) == strings.HasPrefix(command, "CL."):
						granted++
					case ints[3] == 0:
						t.Errorf("%s: a denial without a wait: %v", command, ints)
					}
				}
				if granted != c.granted {
					t.Errorf("%s: %d requests were granted, want %d", command, granted, c.granted)
				}
			}
			if s := region.upstream.Status(); s.GrantedAlone != 4*c.granted || s.DeniedAlone != 40-s.GrantedAlone || s.Failed+s.Uncertain != 0 {
				t.Errorf("%+v", s)
			}
			if _, failure := r.do("RL.ALL TB g:1 10 1/1h TB mine 5 1/1h"); !strings.HasPrefix(failure, "UPSTREAM ") {
				t.Errorf("several limits: %q", failure)
			}
			if n := region.store.Len(); n > 5 {
				t.Errorf("%d keys", n)
			}
			if ints, failure := r.do("DBSIZE"); failure != "" || ints[0] > 4 {
				t.Errorf("clients see %v keys", ints)
			}
		})
	}
}

// Requests that are decided here are answered although the store's batches are answered one after the other, as those
// are that wait for a disk. A share that is smaller than a request does not say that home never grants it.
func TestAloneWithADisk(t *testing.T) {
	disk := oneByOne{answers: make(chan func(), 64)}
	t.Cleanup(func() { close(disk.answers) })
	go func() {
		for answer := range disk.answers {
			answer()
		}
	}()
	home := start(t, "", nil)
	region := startWith(t, home.address, homeTimeout, func(d decider.Decider) decider.Decider {
		disk.Decider = d
		return &disk
	}, func(o *upstream.Options) { o.Down = upstream.Down{Decides: true, Share: 30} })
	r := dial(t, region.address)
	if _, failure := r.do("TB.ACQUIRE g:1 10 1/1h 5"); failure != "" {
		t.Fatal(failure)
	}
	home.end()
	testwait.Until(t, "home is gone", func() bool { return !region.upstream.Status().Connected })
	_ = r.conn.SetReadDeadline(time.Now().Add(testwait.Limit))
	for command, want := range map[string][2]int64{
		"TB.ACQUIRE g:1 10 1/1h": {1, 0}, "TB.ACQUIRE g:2 10 1/1h 4": {0, 1000}, "TB.ACQUIRE g:3 10 1/1h 11": {0, -1},
	} {
		if ints, failure := r.do(command); failure != "" || len(ints) != 5 || [2]int64{ints[0], ints[3]} != want {
			t.Errorf("%s: %v %q, want %v", command, ints, failure, want)
		}
	}
}

// oneByOne answers all batches from one goroutine.
type oneByOne struct {
	decider.Decider
	answers chan func()
}

func (d *oneByOne) Decide(b *engine.Batch) (finished bool) {
	if b.Done == nil {
		b.Done = func() {}
	}
	if d.Decider.Decide(b) {
		d.answers <- b.Done
	}
	return false
}

// An error of home is an error, whatever happens while home is down.
func TestErrorOfHomeIsNoGrant(t *testing.T) {
	home := start(t, "", nil)
	region := startWith(t, home.address, homeTimeout, nil, func(o *upstream.Options) { o.Down = upstream.Down{Decides: true, Allows: true} })
	if _, failure := dial(t, home.address).do("SL.ACQUIRE g:1 5 1h"); failure != "" {
		t.Fatal(failure)
	}
	if ints, failure := dial(t, region.address).do("TB.ACQUIRE g:1 5 1/6h"); !strings.HasPrefix(failure, "UPSTREAM ") {
		t.Errorf("of another algorithm's key: %v %q", ints, failure)
	}
	if s := region.upstream.Status(); s.GrantedAlone != 0 || s.Failed != 1 {
		t.Errorf("%+v", s)
	}
}

// A region lends tokens of home on to holders with a FOR. Loans without one are made by home, under the region's name.
func TestLoansOfLoans(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	const lend = "RL.LEND g:1 TB 100 1/1h 5 %s %d %d LEFT %d%s"
	for i, step := range []struct {
		command string
		want    [5]int64
	}{
		{fmt.Sprintf(lend, "me", 1, 0, 0, " FOR 1m"), [5]int64{5, 100, 95, 5, 1}},
		{fmt.Sprintf(lend, "me", 1, 0, 0, " FOR 1m"), [5]int64{5, 100, 95, 5, 1}}, // again
		{fmt.Sprintf(lend, "me", 2, 1, 2, " FOR 1m"), [5]int64{5, 100, 90, 7, 2}},
		{"RL.RETURN g:1 me 3 2 4", [5]int64{4, 100, 94, 0, 0}},
		{fmt.Sprintf(lend, "me", 4, 0, 0, " FOR 1m"), [5]int64{5, 100, 89, 5, 4}},
		{fmt.Sprintf(lend, "forever", 1, 0, 0, ""), [5]int64{5, 100, 84, 5, 1}},
		{"RL.RETURN g:1 forever 2 1 5", [5]int64{5, 100, 89, 0, 0}},
		{"RL.RETURN g:1 nobody 2 1 5", [5]int64{0, 100, 89, 0, 0}},
	} {
		got, failure := c.do(step.command)
		if failure != "" || len(got) != 5 || [5]int64(got) != step.want {
			t.Errorf("step %d: %v %s, want %v", i, got, failure, step.want)
		}
	}
	if _, failure := h.all("RL.LENT g:1"); failure != "" || home.store.LentKeys() != 1 || region.store.LentKeys() != 0 {
		t.Errorf("%d keys are lent at home, %d in the region", home.store.LentKeys(), region.store.LentKeys())
	}
	if _, failure := c.do("RL.LEND g:1 TB 100 1/1h 5 " + strings.Repeat("x", 250) + " 1 0"); !strings.HasPrefix(failure, "ERR ") {
		t.Errorf("a long name: %q", failure)
	}
}

// A region has more holders of a key than home, which knows one of them: the region.
func TestRegionHasMoreHolders(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	const holders = 100
	for i := range holders {
		if got, failure := c.do(fmt.Sprintf("RL.LEND g:1 TB 1000 1/1h 1 holder%d 1 0 FOR 1m", i)); failure != "" || got[0] != 1 {
			t.Fatalf("holder %d: %v %s", i, got, failure)
		}
	}
	left := func() int64 {
		got, failure := h.do("TB.ACQUIRE g:1 1000 1/1h PEEK") // which would take one
		if failure != "" {
			t.Fatal(failure)
		}
		return got[2]
	}
	if n := left(); n != 1000-holders-1 {
		t.Errorf("%d tokens are left at home", n)
	}
	region.end()
	if n := left(); n != 1000-holders-1 {
		t.Errorf("%d tokens are left at home, after the end of a region with %d tokens of others", n, holders)
	}
}

// A region that cannot reach home lends on what it has, for as long as its own loan lasts.
func TestLoansWithoutHome(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c := dial(t, region.address)
	if got, failure := c.do("RL.LEND g:1 TB 1000 1/1h 10 me 1 0 FOR 1m"); failure != "" || got[0] != 10 {
		t.Fatalf("%v %s", got, failure)
	}
	home.end()
	testwait.Until(t, "the region knows that home is gone", func() bool { return !region.upstream.Status().Connected })
	if got, failure := c.do("RL.LEND g:1 TB 1000 1/1h 0 me 2 1 LEFT 5 FOR 30s"); failure != "" || got[3] != 5 {
		t.Errorf("a renewal in time: %v %s", got, failure)
	}
	if got, failure := c.do("RL.LEND g:1 TB 1000 1/1h 0 me 3 2 LEFT 5 FOR 1h"); !strings.HasPrefix(failure, "UPSTREAM ") {
		t.Errorf("a renewal beyond the region's loan: %v %s", got, failure)
	}
	for range 20 { // home is not asked for each
		if got, failure := c.do("RL.LEND g:2 TB 1000 1/1h 5 me 4 0 FOR 1m"); !strings.HasPrefix(failure, "UPSTREAM ") {
			t.Fatalf("of a key without tokens: %v %s", got, failure)
		}
	}
}

// A home of several addresses is not down because the first of them is: requests wait until the others were tried.
func TestFirstAddressOfHomeIsDown(t *testing.T) {
	home := start(t, "", nil)
	region := startWith(t, home.address, homeTimeout, nil, func(o *upstream.Options) {
		o.Addresses = []string{testserver.ReserveAddress(t), home.address}
	})
	if got, failure := dial(t, region.address).do("TB.ACQUIRE g:1 5 1/1h"); failure != "" || got[0] != 1 {
		t.Errorf("%v %s", got, failure)
	}
}

// A region whose own purse has the last tokens returns them once a holder asks for more than home has, and lends them on.
func TestOwnTokensGoToHolders(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	region.borrows(t, c, "TB.ACQUIRE g:1 1000 1/6h")
	if _, failure := h.do("TB.ACQUIRE g:1 1000 1/6h 1000 UPTO"); failure != "" {
		t.Fatal(failure)
	}
	for range 100 { // each asks home, and few take as long as unused tokens stay in a purse
		got, failure := c.do("RL.LEND g:1 TB 1000 1/6h 1 me 1 0 ALL FOR 1m")
		if failure != "" {
			t.Fatal(failure)
		}
		if got[0] == 1 {
			return
		}
	}
	t.Error("the holder gets nothing")
}
