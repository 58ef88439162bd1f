package blocking

import (
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
)

// attempt is that of a node's client at a time.
func attempt(k *Keys, w *Waiter, now int64, keys ...string) *engine.Op {
	op := &engine.Op{Verb: engine.Command, Args: [][]byte{[]byte("BLPOP")}, KeyFrom: 1, KeyCount: uint32(len(keys))}
	for _, key := range keys {
		op.Args = append(op.Args, []byte(key))
	}
	op.Args = append(op.Args, w.Claim(now, keys...))
	return op
}

func startKeys() *Keys {
	k := new(Keys)
	k.Start(func() {}, func() {})
	return k
}

// Of two nodes' clients the one that came first may take, and behind it the next one of its node.
func TestTurnsOfNodes(t *testing.T) {
	const ms = int64(time.Millisecond)
	turns, one, two := NewTurns(100*time.Millisecond), startKeys(), startKeys()
	k := [][]byte{[]byte("k")}
	a, c := one.Add(1000*ms, k, ToTake, nil), one.Add(3000*ms, k, ToTake, nil)
	b, d := two.Add(2000*ms, k, ToTake, nil), two.Add(4000*ms, k, ToTake, nil)
	turns.Begin(5000 * ms)
	mayTake := func(keys *Keys, w *Waiter, at int64, want bool) {
		t.Helper()
		op := attempt(keys, w, at*ms, "k")
		if !turns.IsAttempt(op) {
			t.Fatal("it is no attempt")
		}
		turns.Attempt(at*ms, op)
		if got := turns.MayTake(at*ms, op); got != want {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
	mayTake(one, a, 5100, false) // a new leader does not know yet who waits
	mayTake(two, b, 6000, false)
	mayTake(one, a, 6001, true)
	a.Leave()
	mayTake(one, c, 6002, false)
	mayTake(two, b, 6003, true)
	b.Leave()
	mayTake(two, d, 6004, false)
	mayTake(one, c, 6005, true)
	c.Leave()
	mayTake(two, d, 6006, true)
	if len(turns.byKey) != 0 || turns.count != 0 {
		t.Errorf("%v is left", turns.byKey)
	}
}

// A client that had its turn and got nothing, because another one's attempt was under way, keeps its place before
// clients of other nodes.
func TestTurnWithNothing(t *testing.T) {
	const ms = int64(time.Millisecond)
	turns, one, two := NewTurns(100*time.Millisecond), startKeys(), startKeys()
	k := [][]byte{[]byte("k")}
	a, b, d := one.Add(1000*ms, k, ToTake, nil), one.Add(2000*ms, k, ToTake, nil), one.Add(4000*ms, k, ToTake, nil)
	c := two.Add(3000*ms, k, ToTake, nil)
	turns.Begin(5000 * ms)
	ask := func(keys *Keys, w *Waiter, at int64) (op *engine.Op, may bool) {
		op = attempt(keys, w, at*ms, "k")
		turns.Attempt(at*ms, op)
		return op, turns.MayTake(at*ms, op)
	}
	ofC, _ := ask(two, c, 5001)
	ofA, may := ask(one, a, 6000)
	a.Leave()
	ofB, mayToo := ask(one, b, 6001)
	if !may || !mayToo {
		t.Fatal("they had no turn")
	}
	turns.Taken(ofA, true)
	turns.Taken(ofB, false)
	turns.Taken(ofC, false)
	if _, may := ask(two, c, 6002); may {
		t.Error("a client of another node is before one that came earlier")
	}
	ofB, may = ask(one, b, 6003)
	turns.Taken(ofB, true)
	b.Leave()
	if _, mayToo := ask(two, c, 6004); !may || !mayToo {
		t.Error("the next ones had no turn")
	}
	if _, may := ask(one, d, 6005); !may || len(turns.taken) > 2 {
		t.Errorf("the last one had its turn: %v; %v is left", may, turns.taken)
	}
}

// A node that does not take holds up the others for as long as they ask, and no longer than patience.
func TestPatience(t *testing.T) {
	const ms = int64(time.Millisecond)
	turns, gone, here := NewTurns(100*time.Millisecond), startKeys(), startKeys()
	k := [][]byte{[]byte("k")}
	lost, w := gone.Add(1000*ms, k, ToTake, nil), here.Add(2000*ms, k, ToTake, nil)
	turns.Attempt(3000*ms, attempt(gone, lost, 3000*ms, "k"))
	asks := func(at int64, want bool) {
		t.Helper()
		op := attempt(here, w, at*ms, "k")
		turns.Attempt(at*ms, op)
		if got := turns.MayTake(at*ms, op); got != want {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
	asks(4000, false)
	asks(9000, false) // there was nothing to take in between
	asks(9050, false)
	asks(9099, false)
	asks(9100, true)
}

// Other operations may take, with any words.
func TestNoAttempts(t *testing.T) {
	turns := NewTurns(time.Second)
	for _, words := range [][]string{{"BLPOP", "k", "0"}, {"SET", "k", claimWord + " n 1 1"}, {"BLPOP", "k", claimWord}, {"BLPOP", "k", claimWord + " n x -1"},
		{"BLPOP", "k", claimWord + " n 1 x"}, {"BLPOP", "k", claimWord + " n 1 1 1 1"}, {"GET"}} {
		op := &engine.Op{Verb: engine.Command, KeyFrom: 1, KeyCount: 1}
		for _, word := range words {
			op.Args = append(op.Args, []byte(word))
		}
		turns.Attempt(1, op)
		if !turns.MayTake(1, op) || turns.count != 0 {
			t.Errorf("%q waits, or is noted", words)
		}
	}
}
