package upstream_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/decider"
)

// A request for limits of home and of the region takes tokens from all of them or from none, and is answered as home
// would answer it.
func TestSeveralLimits(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	for _, command := range []string{"RL.POLICY SET p TB g:{} 5 1/1h TB user:{} 4 1/1h", "RL.POLICY SET shadow TB g:s:{} 2 1/1h SHADOW"} {
		for _, to := range []*client{c, h} {
			if _, failure := to.do(command); failure != "" {
				t.Fatalf("%s: %s", command, failure)
			}
		}
	}
	for _, command := range []string{
		"RL.ALL TB g:%s 5 1/1h TB mine:%s 9 1/1h TOKENS 2 PEEK",
		"RL.ALL TB g:%s 5 1/1h TB mine:%s 9 1/1h TOKENS 2",
		"RL.ALL TB mine:%s 9 1/1h FW g:b:%s 5 @day TOKENS 3", // the second limit of home
		"RL.ALL TB mine:%s 9 1/1h TB g:%s 5 1/1h TOKENS 4",   // home has three
		"RL.ALL CL g:%s 4 1 3600 TB g:c:%s 9 1/1h",           // WRONGTYPE
		"RL.ALL TB mine:%s 9 1/1h TB g:%s 5 1/1h TOKENS 9",   // never
		"RL.ALL TB mine:%s 9 1/1h TB g:%s 5 1/1h COST 3 TOKENS 1",
		"RL.ALL TB g:m:%s 10 1/1h TB g:n:%s 5 1/1h TOKENS 5", "RL.ALL TB g:m:%s 10 1/1h TB g:n:%s 5 1/1h",
		"RL.ALL TB g:m:%s 10 1/1h TB g:n:%s 5 1/1h TOKENS 11",
		"RL.CHECK p %s 3", "RL.CHECK p x%s 4", "RL.CHECK p x%s", "RL.CHECK p %s PEEK",
		"RL.CHECK shadow %s 2", "RL.CHECK shadow %s",
	} {
		got, failure := c.all(strings.ReplaceAll(command, "%s", "region"))
		want, other := h.all(strings.ReplaceAll(command, "%s", "home"))
		// The waits and the times until the limits are full again differ a little.
		if failure != other && !strings.HasPrefix(failure, "UPSTREAM") || (failure == "") != (other == "") || !reflect.DeepEqual(withoutTimes(got), withoutTimes(want)) || len(got) > 3 && slices.Min(got[3:]) < 0 {
			t.Errorf("%s: %v %q, at home %v %q", command, got, failure, want, other)
		}
	}
}

// withoutTimes drops the numbers of a reply that are times.
func withoutTimes(reply []int64) (rest []int64) {
	for i, n := range reply {
		if i < 2 || i > 2 && i%3 != 2 {
			rest = append(rest, n)
		}
	}
	return rest
}

// all sends a request for several limits, and returns all integers of the reply.
func (c *client) all(command string) (ints []int64, failure string) {
	if _, err := c.conn.Write([]byte(command + "\r\n")); err != nil {
		return nil, err.Error()
	}
	for open := 1; open > 0; open-- {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err.Error()
		}
		var n int64
		switch line = strings.TrimSpace(line); line[0] {
		case '-':
			return nil, line[1:]
		case '*':
			_, _ = fmt.Sscan(line[1:], &n)
			open += int(n)
		default:
			_, _ = fmt.Sscan(line[1:], &n)
			ints = append(ints, n)
		}
	}
	return ints, ""
}

// A policy's limits of home are shown as they were set. What was used of them is shown at home.
func TestPolicyOfHomeIsShown(t *testing.T) {
	region := start(t, start(t, "", nil).address, nil)
	c := dial(t, region.address)
	c.do("RL.POLICY SET p TB g:{} 5 1/1h TB user:{} 4 1/1h")
	for _, command := range []string{"RL.POLICY USAGE p x", "RL.CHECK p x", "RL.POLICY USAGE p x"} {
		if ints, failure := c.all(command); (failure == "") != (command == "RL.CHECK p x") {
			t.Errorf("%s: %v %q", command, ints, failure)
		}
	}
	p, _ := region.store.PolicyOf("p", nil)
	for i, want := range []string{"token-bucket", "token-bucket"} {
		if got := p.Parts[i].Limit; got.Algorithm.String() != want || got.Algorithm != got.Algorithm.Base() {
			t.Errorf("limit %d is shown as %v", i, got)
		}
	}
}

// An error of a limit is one of the whole usage, and not a usage of nothing.
func TestUsageThatIsNotDecided(t *testing.T) {
	c := dial(t, start(t, "", func(d decider.Decider) decider.Decider { return leaderless{d} }).address)
	c.do("RL.POLICY SET p TB user:{} 4 1/1h")
	if ints, failure := c.all("RL.POLICY USAGE p x"); !strings.HasPrefix(failure, "CLUSTERDOWN") {
		t.Errorf("%v %q", ints, failure)
	}
}

// leaderless decides no operation that lists the windows of a key.
type leaderless struct{ decider.Decider }

func (d leaderless) Decide(b *engine.Batch) (finished bool) {
	finished = d.Decider.Decide(b)
	for i := range b.Ops {
		if b.Ops[i].Verb == engine.ListWindows {
			b.Results[i] = engine.Result{Status: engine.NoLeader}
		}
	}
	return finished
}

// A grant from lent tokens says when the limit is full again. The window of home ends in an hour, and the bucket needs
// an hour for each token.
func TestResetOfHome(t *testing.T) {
	c := dial(t, start(t, start(t, "", nil).address, nil).address)
	for _, command := range []string{
		"FW.ACQUIRE g:w 9 1h", "RL.ALL FW g:w 9 1h TOKENS 2", "RL.ALL FW g:w 9 1h TOKENS 2",
		"RL.ALL FW g:v 9 1h TOKENS 2", "RL.ALL TB g:b 9 1/1h TOKENS 2", "TB.ACQUIRE g:b 9 1/1h", "TB.ACQUIRE g:b 9 1/1h PEEK",
	} {
		if got, failure := c.all(command); failure != "" || got[len(got)-1] < 1000*1000 {
			t.Errorf("%s: %v %s", command, got, failure)
		}
	}
}

// Callers of two regions ask for a limit of home together with limits of their own, and no more than the limit is
// granted.
func TestRegionsShareALimitAmongSeveral(t *testing.T) {
	t.Parallel() // it waits
	home := start(t, "", nil)
	regions := []*running{start(t, home.address, nil), start(t, home.address, nil)}
	l := &load{t: t, capacity: 3000, home: home.address, several: true}
	for i := range 8 {
		l.begin(regions[i%2].address, 0)
	}
	single := &load{t: t, capacity: l.capacity, home: home.address}
	single.begin(regions[0].address, 0)
	single.begin(home.address, 0)
	sum := func() int64 { return l.granted.Load() + single.granted.Load() }
	testwait.Until(t, "all tokens are granted", func() bool { return sum() >= l.capacity-100 || t.Failed() })
	l.end()
	single.end()
	for _, x := range regions {
		x.end()
	}
	if all := sum() + single.rest(); all != l.capacity || l.granted.Load() == 0 || single.granted.Load() == 0 {
		t.Errorf("%d and %d tokens were granted, and %d with those left", l.granted.Load(), single.granted.Load(), all)
	}
}

// Home lends tokens of a key to 16 holders. Another region gets an error for several limits, because it cannot have
// any, and home decides its requests for one limit.
func TestHomeHasTooManyHolders(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	for i := range layout.MaxLoans {
		if _, failure := h.do(fmt.Sprintf("RL.LEND g:1 TB 1000 1/1h 1 holder%d 1 0", i)); failure != "" {
			t.Fatal(failure)
		}
	}
	for range 3 {
		if got, failure := c.all("RL.ALL TB g:1 1000 1/1h TB mine 9 1/1h"); !strings.HasPrefix(failure, "UPSTREAM ") {
			t.Errorf("%v %q", got, failure)
		}
		if got, failure := c.do("TB.ACQUIRE g:1 1000 1/1h"); failure != "" || got[0] != 1 {
			t.Errorf("%v %q", got, failure)
		}
	}
	if got, _ := c.do("TB.ACQUIRE g:1 1000 1/1h PEEK"); got[2] != 1000-layout.MaxLoans-3-1-1 { // one to put the limit into force, and this one
		t.Errorf("%d tokens are left", got[2])
	}
}

// A limit that a region changes is in force for its requests.
func TestSeveralLimitsChange(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c := dial(t, region.address)
	for _, rate := range []string{"1/1h", "2/1h"} { // the capacity stays
		if got, failure := c.all("RL.ALL TB g:1 10 " + rate + " TB mine 9 1/1h TOKENS 2"); failure != "" || got[0] != 2 {
			t.Errorf("rate %s: %v %q", rate, got, failure)
		}
	}
}

// A policy in shadow refuses nobody, also while home is away.
func TestShadowWithoutHome(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c := dial(t, region.address)
	for _, command := range []string{"RL.POLICY SET strict TB g:{} 2 1/1h", "RL.POLICY SET shadow TB g:{} 2 1/1h SHADOW"} {
		if _, failure := c.do(command); failure != "" {
			t.Fatal(failure)
		}
	}
	home.end()
	if got, failure := c.all("RL.CHECK shadow x"); failure != "" || got[0] != 1 {
		t.Errorf("in shadow: %v %q", got, failure)
	}
	if got, failure := c.all("RL.CHECK strict x"); !strings.HasPrefix(failure, "UPSTREAM ") {
		t.Errorf("not in shadow: %v %q", got, failure)
	}
}
