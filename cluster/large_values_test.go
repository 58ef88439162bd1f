package cluster

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
)

// While a member does not know large values in blocks, all members keep them as flat bytes, in memory and in what they
// send, and refuse values that such a member would refuse. Afterwards the values go into blocks when they change, and a
// member that was restarted has them like the others.
func TestLargeValuesWaitForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.known["c"] = beforeOwnTimes()
		s.mixed()
		defer s.stop()
		reply := func(words ...string) string {
			res := do(s.nodes["a"], operation(words...))
			if res[0].Status != engine.OK {
				t.Fatalf("%.40q: status %d", words, res[0].Status)
			}
			return string(res[0].Reply)
		}
		forms := func() map[algorithm.Form]int {
			count := map[algorithm.Form]int{}
			for _, name := range s.names {
				s.nodes[name].opt.Store.Scan(0, 1000, 0, func(e keyspace.Entry) { count[algorithm.FormOf(e.State)]++ })
			}
			return count
		}
		for i := range 200 {
			reply("HSET", "hash", fmt.Sprint("field", 1000-i), strings.Repeat("v", 40))
			reply("RPUSH", "list", strings.Repeat("v", 40))
		}
		part := strings.Repeat("x", 300_000)
		for range 3 {
			reply("RPUSH", "long", part)
		}
		if got := reply("RPUSH", "long", part); !strings.HasPrefix(got, "-") {
			t.Errorf("a list of 1.2 MB is accepted in a mixed cluster: %.60q", got)
		}
		s.digestsAreEqual()
		if got := forms(); got[algorithm.Flat] != 9 || len(got) != 1 {
			t.Errorf("in a mixed cluster the values have the forms %v", got)
		}
		if got := reply("HKEYS", "hash"); !strings.HasPrefix(got, "*200\r\n$9\r\nfield1000\r\n") {
			t.Errorf("the fields are in another order than they came in: %.60q", got)
		}

		s.upgrade("c")
		reply("HSET", "hash", "field1", "v")
		reply("RPUSH", "list", "v")
		if got := reply("RPUSH", "long", part); got != ":4\r\n" {
			t.Errorf("a list of 1.2 MB is refused after the upgrade: %.60q", got)
		}
		s.digestsAreEqual()
		if got := forms(); got[algorithm.InBlocks] != 9 || len(got) != 1 {
			t.Errorf("after the upgrade the values have the forms %v", got)
		}
		s.kill("b")
		s.start("b")
		s.leader()
		reply("HDEL", "hash", "field900")
		reply("LPOP", "list")
		s.digestsAreEqual()
		for _, name := range s.names {
			if err := s.nodes[name].opt.Store.Check(); err != nil {
				t.Error(name, err)
			}
		}
		if got := reply("HKEYS", "hash"); !strings.Contains(got, "field1\r\n") {
			t.Errorf("the fields are %.60q", got)
		}
	})
}
