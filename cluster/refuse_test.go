package cluster

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/opcodec"
)

// The node that is asked refuses an operation that no node could read from the log, before it is proposed or forwarded.
// The cluster goes on.
func TestWhatCannotBeCarriedOutIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		follower := s.nodes["a"]
		if follower == leader {
			follower = s.nodes["b"]
		}
		rate := acquire("k", 10, 1)
		rate.Limit.Rate = limits.Rate{Tokens: limits.MaxTokens + 1, Period: limits.MaxDuration}
		force := acquire("k", 10, 1)
		force.Options = engine.Force | engine.UpTo
		var large []engine.Op
		for i := range call.MaxBytes/60_000 + 1 {
			large = append(large, acquire(fmt.Sprint(i)+string(bytes.Repeat([]byte("k"), 60_000)), 10, 1))
		}
		fits := large[:len(large)-2]
		for _, n := range []*Node{leader, follower} {
			for _, c := range []struct {
				name string
				ops  []engine.Op
				want engine.Status
			}{
				{"a rate that no parser makes", []engine.Op{rate}, engine.Unreadable},
				{"such a rate in a policy", []engine.Op{{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{rate}}},
					engine.Unreadable},
				{"options that contradict each other", []engine.Op{acquire("other", 10, 1), force}, engine.Unreadable},
				{"a call larger than an entry", large, engine.TooBig},
				{"the largest call there may be", fits, engine.OK},
			} {
				results := do(n, c.ops...)
				if got := results[len(results)-1].Status; got != c.want {
					t.Errorf("%s on %s: status %d, want %d", c.name, n.opt.Node, got, c.want)
				}
			}
			if got := do(n, acquire("after "+n.opt.Node, 10, 1))[0]; !got.Allowed {
				t.Errorf("the cluster does not go on behind what %s refused: %+v", n.opt.Node, got)
			}
		}
	})
}

func TestGroupOfTooManyOperations(t *testing.T) {
	b := &engine.Batch{Ops: make([]engine.Op, call.MaxGroupOps+1)}
	if packed, status := call.PackGroup([]byte("before"), &opcodec.Writer{}, b, nil); status != engine.TooBig ||
		string(packed) != "before" {
		t.Errorf("status %d, %d bytes", status, len(packed))
	}
}
