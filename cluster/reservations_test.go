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

// reserveTokens returns a request with an id for several limits.
func reserveTokens(id string, tokens int64) engine.Op {
	request := engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{acquire("meter", 1000, tokens),
		acquire("other", 500, tokens)}}
	return engine.Op{Verb: engine.Reserve, Key: []byte(id), MaxWait: int64(time.Hour), Parts: []engine.Op{request}}
}

func extendBy(id string, nth uint32, tokens int64) engine.Op {
	return engine.Op{Verb: engine.Extend, Key: []byte(id), Nth: nth, Tokens: tokens}
}

func settleTokens(id string, tokens int64) engine.Op {
	return engine.Op{Verb: engine.Settle, Key: []byte(id), Tokens: tokens}
}

// A client that sends a request with an id again, until it is decided, takes its tokens once, and settles them once,
// however often leaders are cut off and die in between and whichever node it asks.
func TestReservationsOutliveLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		time.Sleep(3 * time.Second)
		for _, from := range s.names {
			for _, to := range s.names {
				s.net.SetDelay(from, to, time.Millisecond/2)
			}
		}
		sent, uncertain, want := 0, 0, int64(0)
		decided := func(op engine.Op) engine.Result {
			t.Helper()
			for round := range 1000 {
				n := s.nodes[s.names[(sent+round)%len(s.names)]]
				if n == nil {
					continue
				}
				sent++
				res := do(n, op)[0]
				switch res.Status {
				case engine.Uncertain, engine.NoLeader:
				default:
					return res
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Fatalf("%+v is not decided", op)
			return engine.Result{}
		}
		for i := range 30 {
			id := fmt.Sprint("id", i)
			died := s.leader().opt.Node
			asked := s.nodes[s.names[i%len(s.names)]]
			lost := make(chan engine.Result)
			go func() { lost <- do(asked, reserveTokens(id, 7))[0] }()
			time.Sleep(time.Duration(i%7) * time.Millisecond / 3) // it is on its way
			cut := world{simulated: s}
			cut.cut(died, true, true, true)
			first := <-lost
			s.kill(died)
			again := decided(reserveTokens(id, 7))
			if first.Status == engine.Uncertain {
				uncertain++
			}
			if !again.Allowed || again.Granted != 7 || again.Wait != 0 || first.Status == engine.OK && !first.Allowed {
				t.Fatalf("%s: %+v, then %+v", id, first, again)
			}
			cut.cut(died, true, true, false)
			s.start(died)
			amount := int64(1 + i%9)
			for range 2 {
				if res := decided(extendBy(id, 1, 4)); !res.Allowed || res.Granted != 4 || res.Number != 11 {
					t.Fatalf("%s: %+v", id, res)
				}
			}
			for range 2 {
				if res := decided(settleTokens(id, amount)); res.Status != engine.OK || len(res.Parts) != 2 ||
					res.Parts[1].Granted != amount {
					t.Fatalf("%s: %+v", id, res)
				}
			}
			if res := decided(settleTokens(id, amount+1)); res.Status != engine.SettledOtherwise {
				t.Fatalf("%s: %+v", id, res)
			}
			if res := decided(reserveTokens(id, 8)); res.Status != engine.ReservationDiffers {
				t.Fatalf("%s: %+v", id, res)
			}
			want += amount
			if res := decided(engine.Op{Verb: engine.Look, Key: []byte("meter")}); res.Remaining != 1000-want {
				t.Fatalf("%s: %d remain, not %d", id, res.Remaining, 1000-want)
			}
			s.leader()
			time.Sleep(3 * time.Second) // all are members
		}
		t.Logf("%d sent, %d uncertain", sent, uncertain)
		if uncertain == 0 {
			t.Error("no answer was lost")
		}
	})
}

// While a member does not know extensions, every node refuses them, and nothing is taken; reservations go on.
func TestExtensionsWaitForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		defer s.stop()
		s.known["c"] = slices.DeleteFunc(slices.Clone(fsm.Additions), func(a fsm.Addition) bool { return a.Version > 2 })
		s.mixed()
		time.Sleep(5 * time.Second)
		for _, name := range []string{"a", "b"} {
			if got := do(s.nodes[name], reserveTokens("id", 7))[0]; !got.Allowed {
				t.Errorf("%s: %+v", name, got)
			}
			if got := do(s.nodes[name], extendBy("id", 1, 4))[0]; got.Status != engine.TooNew || got.Allowed {
				t.Errorf("%s: %+v", name, got)
			}
		}
		s.mustNotFail()
		s.upgrade("c")
		for _, name := range s.names {
			if got := do(s.nodes[name], extendBy("id", 1, 4))[0]; !got.Allowed || got.Number != 11 || got.Parts[0].Remaining != 989 {
				t.Errorf("%s: %+v", name, got)
			}
		}
		for _, name := range s.names {
			if got := do(s.nodes[name], settleTokens("id", 2))[0]; got.Status != engine.OK || got.Parts[0].Remaining != 998 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}

// While a member does not know reservations, every node refuses them, and nothing is taken.
func TestReservationsWaitForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		defer s.stop()
		s.known["c"] = []fsm.Addition{}
		s.mixed()
		time.Sleep(5 * time.Second)
		for _, name := range []string{"a", "b"} {
			for _, op := range []engine.Op{reserveTokens("id", 7), settleTokens("id", 1),
				{Verb: engine.Settle, Key: []byte("id"), Tokens: 1, Options: engine.Cancel}} {
				if got := do(s.nodes[name], op)[0]; got.Status != engine.TooNew || got.Allowed {
					t.Errorf("%s: %+v", name, got)
				}
			}
			if err := s.nodes[name].Group().TooNew([]engine.Op{reserveTokens("id", 7)}); err == nil ||
				!strings.Contains(err.Error(), "a reservation with an id needs format version 2") {
				t.Errorf("%s: %v", name, err)
			}
			if got := do(s.nodes[name], engine.Op{Verb: engine.Look, Key: []byte("meter")})[0]; got.Status != engine.NotFound {
				t.Errorf("%s: %+v", name, got)
			}
		}
		s.mustNotFail()
		s.upgrade("c")
		for _, name := range s.names {
			if got := do(s.nodes[name], reserveTokens("id", 7))[0]; !got.Allowed || got.Granted != 7 ||
				got.Parts[0].Remaining != 993 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}
