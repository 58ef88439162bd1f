package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
)

// slidingLogByTime admits ARGV[1] requests in a minute. Its members are named by the time alone, so two requests at one
// time would be counted as one.
const slidingLogByTime = `local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 60000000)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now, string.format('%d', now))
return 1`

// beforeOwnTimes are the additions that a node of release 0.2.0 knows.
func beforeOwnTimes() []fsm.Addition {
	return slices.DeleteFunc(slices.Clone(fsm.Additions), func(a fsm.Addition) bool { return a.Version > 2 })
}

// grantsOf sends a pipeline of 16 calls of the sliding log to every node, a few times, all at one time of the cluster
// but for the delays of messages. It returns how many were granted.
func (s *simulated) grantsOf(key string) (granted int) {
	pipeline := make([]engine.Op, 16)
	for i := range pipeline {
		pipeline[i] = operation("EVAL", slidingLogByTime, "1", key, "100")
	}
	for range 5 {
		for _, name := range s.names {
			for _, res := range do(s.nodes[name], pipeline...) {
				switch reply := string(res.Reply); {
				case res.Status != engine.OK || strings.HasPrefix(reply, "-"):
					s.t.Fatalf("%s: status %d, %q", name, res.Status, reply)
				case reply == ":1\r\n":
					granted++
				}
			}
		}
	}
	return granted
}

// digestsAreEqual compares the states of all nodes.
func (s *simulated) digestsAreEqual() {
	s.t.Helper()
	s.eventually("the nodes have applied the same entries", func(n *Node) bool {
		return n.Group().Status().AppliedIndex == s.leader().Group().Status().AppliedIndex
	})
	now := time.Now().UnixNano()
	want := s.nodes[s.names[0]].opt.Store.Digest(now)
	for _, name := range s.names[1:] {
		if got := s.nodes[name].opt.Store.Digest(now); got != want {
			s.t.Errorf("%s has another state than %s", name, s.names[0])
		}
	}
}

// A sliding log whose members are named by the time alone grants exactly its limit, although an entry of the cluster's
// log carries many scripts out. A node that was restarted gives later scripts the same times as the others.
func TestScriptsOfAnEntryHaveTimesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		for i, name := range append([]string{""}, s.names...) {
			if name != "" {
				s.kill(name)
				s.start(name)
				s.leader()
			}
			if granted := s.grantsOf(fmt.Sprint("log", i)); granted != 100 {
				t.Errorf("after the restart of '%s': %d granted in place of 100", name, granted)
			}
			s.digestsAreEqual()
		}
	})
}

// While a member gives all scripts of an entry the same time, as release 0.2.0 does, all others do.
func TestOwnTimesWaitForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.known["c"] = beforeOwnTimes()
		s.mixed()
		defer s.stop()
		const body = "local t = redis.call('TIME') redis.call('SET', KEYS[1], t[2]) return t"
		times := func(key string) (distinct int) {
			var ops []engine.Op
			for range 16 {
				ops = append(ops, operation("EVAL", body, "1", key))
			}
			seen := map[string]bool{}
			for _, res := range do(s.nodes["a"], ops...) {
				seen[string(res.Reply)] = true
			}
			return len(seen)
		}
		if n := times("before"); n != 1 {
			t.Errorf("with a member of an older version, 16 scripts of an entry see %d times", n)
		}
		s.digestsAreEqual()
		s.upgrade("c")
		if n := times("after"); n != 16 {
			t.Errorf("16 scripts of an entry see %d times", n)
		}
		s.digestsAreEqual()
	})
}
