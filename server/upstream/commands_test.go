package upstream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/upstream"
)

// A region answers like home, and refuses everything that could make a separate limiter for a key of home.
func TestCommandsOnKeysOfHome(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	for n, command := range []string{"TB.ACQUIRE g:%s 5 1/1h", "TB.ACQUIRE g:%s 5 1/1h 2 PEEK", "TB.ACQUIRE g:%s 5 1/1h 9 UPTO", "LB.ACQUIRE g:%s 5 1/1h 2", "FW.ACQUIRE g:%s 5 @day 2",
		"CL.THROTTLE g:%s 4 1 3600 2", "CL.THROTTLE g:%s 4 1 3600 5", "TB.ACQUIRE g:%s 5 1/1h 6", "TB.ACQUIRE g:%s 5 1/1h 2 WARN 80%%", "FW.ACQUIRE g:%s 5 @day 2 HISTORY 2 WARN 80%%"} {
		for range 3 {
			got, failure := c.do(fmt.Sprintf(command, fmt.Sprint("region", n))) // another key each time: denials are repeated for a while
			want, _ := h.do(fmt.Sprintf(command, fmt.Sprint("home", n)))
			if failure != "" || len(got) < 5 || len(got) != len(want) {
				t.Fatalf("%s: %v %s, at home %v", command, got, failure, want)
			}
			for i := range want {
				if i != 3 && i != 4 && got[i] != want[i] { // times, which differ a little
					t.Errorf("%s: %v, at home %v", command, got, want)
				}
			}
		}
	}
	for _, command := range []string{"SW.ACQUIRE g:1 5 1h", "SL.ACQUIRE g:1 5 1h", "CC.ACQUIRE g:1 5 1h me", "LB.QUEUE g:1 5 1/1h", "TB.ACQUIRE g:1 5 1/1h KEEP 1",
		"TB.ACQUIRE g:1 5 1/1h MAXWAIT 1s", "SW.ACQUIRE g:1 5 1h AS id FOR 1m", "TB.ACQUIRE g:1 5 1/1h UPTO AS id FOR 1m", "RL.ALL TB other 5 1/1h SW g:1 5 1h", "RL.ALL TB other 5 1/1h TB g:1 5 1/1h KEEP 1", "RL.ALL TB other 5 1/1h TB g:1 5 1/1h MAXWAIT 1s", "RL.ALL TB g:1 5 1/1h SPREAD TB other 5 1/1h", "RL.ALL SW g:1 5 1h AS id FOR 1m", "RL.ALL TB other 5 1/1h FW g:1 5 @day ROLLOVER 50%", "RL.ALL TB other 5 1/1h FW g:1 5 @day HISTORY 2", "FW.ACQUIRE g:1 5 @day HISTORY 2 AS id FOR 1m",
		"RL.POLICY SET p SW g:{} 5 1h", "RL.POLICY SET p TB g:{} 5 1/1h KEEP 1", "RL.POLICY SET p FW g:{} 5 @day ROLLOVER 50%", "RL.POLICY SET p FW g:{} 5 @day HISTORY 2",
		"DEL g:1", "RL.ATMOST g:1 TB 5 1/h 1", "RL.ATMOST g:1 TB 5 1/h 0", "SET g:1 x", "RL.POLICY SET p TB {tenant}:{} 5 1/1h", "EVAL return 1 g:1", "EVAL return(1) 1 g:1"} {
		if _, failure := c.do(command); !strings.HasPrefix(failure, "ERR ") {
			t.Errorf("%s: %q", command, failure)
		}
	}
	if _, failure := c.do(`EVAL "return redis.call('TB.ACQUIRE', 'g:1', 5, '1/1h')" 0`); failure == "" {
		t.Error("a script decides on a key of home that it does not declare")
	}
	for _, command := range []string{"TB.ACQUIRE other 5 1/1h", "RL.ALL TB other 5 1/1h TB another 5 1/1h", "RL.POLICY SET p TB other:{} 5 1/1h", "RL.CHECK p x", "EVAL return(1) 1 other", "SET x y"} {
		if ints, failure := c.do(command); failure != "" {
			t.Errorf("%s: %v %s", command, ints, failure)
		}
	}
	c = dial(t, region.address) // the client does not read nested replies to their ends
	c.do("MULTI")
	c.do("TB.ACQUIRE g:1 5 1/1h")
	c.do("TB.ACQUIRE other 5 1/1h")
	if _, failure := c.do("EXEC"); !strings.HasPrefix(failure, "ERR ") {
		t.Errorf("a transaction: %q", failure)
	}
}

// The keys of home are those in database 0: others are the region's own.
func TestHomeHasDatabase0(t *testing.T) {
	region := start(t, start(t, "", nil).address, nil)
	c := dial(t, region.address)
	for _, command := range []string{"SELECT 1", "TB.ACQUIRE g:1 5 1/1h FORCE", "RL.ALL TB g:2 5 1/1h TB g:3 5 1/1h", "DEL g:1", "FLUSHDB"} {
		if _, failure := c.do(command); failure != "" {
			t.Errorf("%s: %s", command, failure)
		}
	}
	c = dial(t, region.address) // the client does not read nested replies to their ends
	c.do("SELECT 1")
	for _, command := range []string{"SET g:1 x", "MOVE g:1 0", "EVAL return(1) 1 g:1"} {
		if _, failure := c.do(command); !strings.HasPrefix(failure, "ERR ") {
			t.Errorf("%s: %q", command, failure)
		}
	}
	if n := region.upstream.Status().Asked; n != 0 {
		t.Errorf("home was asked %d times", n)
	}
}

// Resets in a region leave its tokens of home, which it returns when it ends.
func TestTokensOutliveResets(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	testwait.Until(t, "the region has lent tokens", func() bool {
		c.do("TB.ACQUIRE g:1 1000 1/6h")
		return region.store.PurseCount() > 0
	})
	c.do("FLUSHALL")
	if region.store.PurseCount() != 1 || home.store.LentKeys() != 1 {
		t.Errorf("%d keys with tokens of home are left, and %d are lent", region.store.PurseCount(), home.store.LentKeys())
	}
	region.end()
	if lent, failure := h.do("RL.LENT g:1"); len(lent) != 0 || failure != "" {
		t.Errorf("lent is %v %s", lent, failure)
	}
}

// Without home, lent tokens are granted, and then requests answered UPSTREAM.
func TestWithoutHome(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c := dial(t, region.address)
	testwait.Until(t, "the region has lent tokens", func() bool {
		c.do("TB.ACQUIRE g:1 1000 1/6h")
		return region.store.PurseCount() > 0
	})
	home.end()
	testwait.Until(t, "the region knows that home is gone", func() bool { return !region.upstream.Status().Connected })
	granted, failure := 0, ""
	for ; failure == ""; granted++ {
		_, failure = c.do("TB.ACQUIRE g:1 1000 1/6h")
	}
	if !strings.HasPrefix(failure, "UPSTREAM ") || granted < 2 {
		t.Errorf("%d requests were granted, then %q", granted, failure)
	}
	if _, failure = c.do("TB.ACQUIRE g:cold 1000 1/6h"); !strings.HasPrefix(failure, "UPSTREAM ") {
		t.Errorf("a cold key: %q", failure)
	}
	if ints, failure := c.do("TB.ACQUIRE other 10 1/6h"); failure != "" || ints[0] != 1 {
		t.Errorf("a key of the region's own: %v %s", ints, failure)
	}
}

// A denial is repeated to requests for as many tokens, and UPTO asks for one.
func TestRepeatedDenialLeavesTheRest(t *testing.T) {
	home := start(t, "", nil)
	region := startWith(t, home.address, homeTimeout, nil, func(o *upstream.Options) { o.DenyFor = time.Hour })
	c, h := dial(t, region.address), dial(t, home.address)
	if _, failure := h.do("TB.ACQUIRE g:1 10 1/6h 7"); failure != "" {
		t.Fatal(failure)
	}
	for _, step := range []struct {
		tokens string
		want   int64
	}{{"5", 0}, {"5", 0}, {"5 UPTO", 3}, {"1 UPTO", 0}, {"1", 0}} {
		if got, failure := c.do("TB.ACQUIRE g:1 10 1/6h " + step.tokens); failure != "" || got[0] != step.want {
			t.Errorf("%s: %v %q, want %d", step.tokens, got, failure, step.want)
		}
	}
	if s := region.upstream.Status(); s.Repeated != 2 {
		t.Errorf("%d denials were repeated", s.Repeated)
	}
}

// For several limits, a denial that home was asked for is home's; only the next ones are repeated.
func TestDenialsOfSeveralLimitsAreCounted(t *testing.T) {
	home := start(t, "", nil)
	region := startWith(t, home.address, homeTimeout, nil, func(o *upstream.Options) { o.DenyFor = time.Hour })
	c, h := dial(t, region.address), dial(t, home.address)
	if _, failure := h.do("TB.ACQUIRE g:1 10 1/6h 7"); failure != "" {
		t.Fatal(failure)
	}
	for range 3 {
		if got, failure := c.all("RL.ALL TB g:1 10 1/6h COST 5 TB mine 9 1/1h"); failure != "" || got[0] != 0 {
			t.Errorf("%v %q", got, failure)
		}
	}
	if s := region.upstream.Status(); s.Asked != 1 || s.Repeated != 2 {
		t.Errorf("%d denials are home's, and %d were repeated", s.Asked, s.Repeated)
	}
}
