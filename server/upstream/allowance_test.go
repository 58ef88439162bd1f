package upstream_test

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// A balance in the region gives what an allowance of home cannot: nobody pays for tokens that home has left. Replies are
// those of home, but for times.
func TestAllowanceOfHome(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	for _, to := range []*client{c, h} {
		if _, failure := to.do("RL.POLICY SET plan TB g:p:{} 5 1/1h FW mine:p:{} 8 1h ELSE BAL bal:p:{}"); failure != "" {
			t.Fatal(failure)
		}
	}
	for _, command := range []string{
		"BAL.ADD bal:%s 20 AS pay:%s",
		"RL.ALL TB g:%s 5 1/1h ELSE BAL bal:%s TOKENS 3 SPLIT",
		"RL.ALL TB g:%s 5 1/1h ELSE BAL bal:%s TOKENS 3 SPLIT PEEK",
		"RL.ALL TB g:%s 5 1/1h ELSE BAL bal:%s TOKENS 4 SPLIT",
		"RL.ALL TB g:%s 5 1/1h ELSE BAL bal:%s TOKENS 2 SPLIT",
		"RL.ALL TB g:%s 5 1/1h ELSE BAL bal:%s TOKENS 99 SPLIT", // only a payment helps
		"RL.ALL TB g:%s 5 1/1h ELSE BAL bal:%s TOKENS 20 SPLIT", // home has the missing tokens later
		"RL.ALL TB g:b%s 5 1/1h ELSE BAL bal:%s TOKENS 9 SPLIT", // more than the allowance can ever give
		"RL.ALL TB g:c%s 5 1/1h COST 1 FW mine:%s 3 1h ELSE BAL bal:%s TOKENS 4 SPLIT",
		"BAL.ADD bal:p:%s 4 AS pay:p:%s",
		"RL.CHECK plan %s 7 AS call:%s FOR 1h SPLIT", "RL.CHECK plan %s 7 AS call:%s FOR 1h SPLIT",
		"RL.EXTEND call:%s 1 3 SPLIT", "RL.EXTEND call:%s 1 2 UPTO SPLIT", "RL.SETTLE call:%s 6", "RL.CHECK plan %s SPLIT",
	} {
		got, failure := c.all(strings.ReplaceAll(command, "%s", "region"))
		want, other := h.all(strings.ReplaceAll(command, "%s", "home"))
		if failure != other || len(got) != len(want) || !reflect.DeepEqual(untimed(got), untimed(want)) {
			t.Errorf("%s: %v %q, at home %v %q", command, got, failure, want, other)
		}
	}
}

// A request that the region's own limit denies borrows nothing.
func TestAllowanceIsNotBorrowedInVain(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c := dial(t, region.address)
	const request = "RL.ALL TB g:x 50 1/1h FW mine:x 1 1h COST 1 ELSE BAL bal:x TOKENS 5"
	if _, failure := c.do("FW.ACQUIRE mine:x 1 1h"); failure != "" {
		t.Fatal(failure)
	}
	if got, failure := c.all(request); failure != "" || got[0] != 0 || got[1] != 1 {
		t.Errorf("%v %s", got, failure)
	}
	if lent, failure := dial(t, home.address).do("RL.LENT g:x"); failure != "" || len(lent) != 0 {
		t.Errorf("%v are lent, %s", lent, failure)
	}
	home.end()
	if got, failure := c.all(request); failure != "" || got[0] != 0 || got[1] != 1 {
		t.Errorf("without home: %v %s", got, failure)
	}
}

// While home is away, a retry is answered as before, a policy in shadow refuses nobody, and credits go on.
func TestAllowanceWithoutHome(t *testing.T) {
	home := start(t, "", nil)
	region := startImpatient(t, home.address, 100*time.Millisecond, nil)
	c := dial(t, region.address)
	for _, command := range []string{
		"RL.POLICY SET shadow TB g:s:{} 5 1/1h ELSE BAL bal:s:{} SHADOW",
		"BAL.ADD bal:x 3 AS pay:x",
		"RL.ALL TB g:x 5 1/1h ELSE BAL bal:x TOKENS 5 AS id:1 FOR 1h",
	} {
		if _, failure := c.all(command); failure != "" {
			t.Fatal(failure)
		}
	}
	home.end()
	for command, granted := range map[string]int64{
		"RL.ALL TB g:x 5 1/1h ELSE BAL bal:x TOKENS 5 AS id:1 FOR 1h": 5,
		"RL.CHECK shadow u 5":                          5,
		"RL.ALL TB g:y 5 1/1h ELSE BAL bal:x TOKENS 3": 3,
	} {
		if got, failure := c.all(command); failure != "" || got[0] != granted {
			t.Errorf("%s: %v %s", command, got, failure)
		}
	}
}

// untimed makes each time of more than a minute the same.
func untimed(reply []int64) (all []int64) {
	for _, n := range reply {
		all = append(all, min(n, time.Minute.Milliseconds()))
	}
	return all
}

// CL.THROTTLE has no PEEK. A denial by home states the wait all the same.
func TestDenialOfThrottle(t *testing.T) {
	region := start(t, start(t, "", nil).address, nil)
	c := dial(t, region.address)
	for n, wait := range []int64{0, 3000} {
		got, failure := c.all("RL.ALL CL g:1 1 1 3600 WARN 50% TOKENS 2")
		if failure != "" || len(got) != 7 || (n == 0) != (got[0] == 2) || got[2] < wait*1000 {
			t.Errorf("%v %s", got, failure)
		}
	}
}
