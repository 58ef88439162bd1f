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
	a, c := one.Add(1000*ms, k, nil), one.Add(3000*ms, k, nil)
	b, d := two.Add(2000*ms, k, nil), two.Add(4000*ms, k, nil)
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

// A node that does not take holds up the others for as long as they ask, and no longer than patience.
func TestPatience(t *testing.T) {
	const ms = int64(time.Millisecond)
	turns, gone, here := NewTurns(100*time.Millisecond), startKeys(), startKeys()
	k := [][]byte{[]byte("k")}
	lost, w := gone.Add(1000*ms, k, nil), here.Add(2000*ms, k, nil)
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
