package engine

import (
	"bytes"
	"testing"
)

// The state of a reservation depends on the request and the limits alone, not on what was decided before on this node.
func TestReservationsAreTheSameEverywhere(t *testing.T) {
	window := Limit{Algorithm: FixedWindow, Capacity: 10, Rate: Rate{0, sec}}
	reserve := Op{Verb: Reserve, Key: []byte("id"), MaxWait: 60 * sec, Parts: []Op{{Verb: AcquireAll, Tokens: 2, Parts: []Op{
		{Key: []byte("a"), Limit: window, Options: FixedCost}, {Key: []byte("b"), Limit: window, Tokens: 2}}}}}
	var states [2][]byte
	for i := range states {
		s := New(Config{Shards: 1})
		if i == 1 { // what it leaves in memory that is used again
			ask(s, epoch-5*sec, Op{Verb: AcquireAll, Tokens: 1, Parts: []Op{{Key: []byte("c"), Limit: window, Tokens: 1}, {Key: []byte("d"), Limit: window, Tokens: 1}}})
		}
		if res := ask(s, epoch, reserve); !res.Allowed || res.Granted != 2 {
			t.Fatalf("%+v", res)
		}
		s.Dump(epoch, func(e Entry) {
			if string(e.Key) == "id" {
				states[i] = bytes.Clone(e.State)
			}
		})
		s.Close()
	}
	if len(states[0]) == 0 || !bytes.Equal(states[0], states[1]) {
		t.Errorf("%x and %x", states[0], states[1])
	}
}
