package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Usage of a limit with a History adds up to the granted tokens, window by window, however often the leader dies, and
// is the same on every node. Tokens that were not settled stay reserved.
func TestUsageOutlivesLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		time.Sleep(3 * time.Second)
		limit := limits.Limit{Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 1000,
			Rate: limits.Rate{Period: int64(5 * time.Second)}, History: 36}
		decided := func(op engine.Op) engine.Result {
			t.Helper()
			for round := range 1000 {
				if n := s.nodes[s.names[round%len(s.names)]]; n != nil {
					if res := do(n, op)[0]; res.Status != engine.Uncertain && res.Status != engine.NoLeader {
						return res
					}
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Fatalf("%+v is not decided", op)
			return engine.Result{}
		}
		var used, reserved int64
		for i := range 12 {
			id := []byte(fmt.Sprint("id", i))
			ask := engine.Op{Verb: engine.Acquire, Key: []byte("spend"), Limit: limit, Tokens: 7}
			reserve := engine.Op{Verb: engine.Reserve, Key: id, MaxWait: int64(time.Hour), Parts: []engine.Op{ask}}
			died := s.leader().opt.Node
			lost := make(chan engine.Result)
			go func() { lost <- do(s.nodes[s.names[i%3]], reserve)[0] }()
			time.Sleep(time.Duration(i%7) * time.Millisecond / 3) // it is on its way
			if i%2 == 0 {
				s.kill(died)
			}
			<-lost
			if res := decided(reserve); !res.Allowed || res.Granted != 7 {
				t.Fatalf("%s: %+v", id, res)
			}
			switch i % 3 {
			case 0:
				reserved += 7
			case 1:
				decided(settleTokens(string(id), 4))
				used += 4
			default:
				decided(settleTokens(string(id), 9))
				used += 9
			}
			if i%2 == 0 {
				s.start(died)
			}
			s.leader()
			time.Sleep(3 * time.Second) // all are members, and a window may end
		}
		res := decided(engine.Op{Verb: engine.ListWindows, Key: []byte("spend")})
		open, closed := res.Windows()
		last := open.Start
		var gotUsed, gotReserved int64
		for i, w := range append([]engine.Window{open}, closed...) {
			if w.End-w.Start != limit.Rate.Period || w.Start%limit.Rate.Period != 0 || i > 0 && w.End > last ||
				w.Used < w.Reserved {
				t.Errorf("window %d: %+v, before one that begins at %d", i, w, last)
			}
			last, gotUsed, gotReserved = w.Start, gotUsed+w.Used-w.Reserved, gotReserved+w.Reserved
		}
		if gotUsed != used || gotReserved != reserved || len(closed) < 5 {
			t.Errorf("%d used and %d reserved in %d closed windows, want %d and %d", gotUsed, gotReserved, len(closed), used,
				reserved)
		}
		all := world{simulated: s}
		if err := all.agree(); err != nil {
			t.Error(err)
		}
	})
}
