package realtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// The operations on a key.
type verb string

const (
	acquire verb = "acquire"
	upTo    verb = "up to"
	force   verb = "force"
	peek    verb = "peek"
	refund  verb = "refund"
	reset   verb = "reset"
)

// day is the time in which one token comes back: the usage of a key does not change for as long as a test runs,
// and every answer shows the time of its decision, because reset_ms counts down.
const day = 24 * time.Hour

// input is a request, with when the client sent it and had its answer, nanoseconds since the test began.
type input struct {
	key             string
	verb            verb
	capacity, n     int64
	called, replied int64
}

// output is an answer. Of a refund only remaining is known, -1 if there was nothing to refund, and of a reset whether
// there was something.
type output struct {
	unknown                         bool // the request may or may not have been carried out, at any time
	granted, remaining, wait, reset int64
}

// bucket is a token bucket as the model has it: the tokens taken since it was last full, and the time of the last grant
// in milliseconds since the first, both of which answers have to agree with.
type bucket struct {
	taken int64
	last  int64

	called, replied int64 // when the last grant was asked for, and answered
}

// clockSlack is how far the cluster's clock may run ahead of the client's, beside half a part in a thousand: one leader's clock may
// be late by the shortest delay of the messages that it received, and the next one's not. A node that has just been started on
// a busy machine received few: 0.7 s were seen with a load of ten on two processors.
const clockSlack = 2 * time.Second

// step returns the state after a request, and whether the answer is right.
func (b bucket) step(in input, out output) (ok bool, next bucket) {
	switch in.verb {
	case reset:
		return out.unknown || out.granted == min(b.taken, 1), bucket{}
	case refund:
		next = b
		next.taken = max(0, b.taken-in.n)
		if next.taken == 0 {
			next = bucket{}
		}
		want := in.capacity - next.taken
		if b.taken == 0 {
			want = -1
		}
		return out.unknown || out.remaining == want, next
	}
	granted := in.n
	if room := in.capacity - b.taken; granted > room && in.verb != force {
		granted = 0
		if in.verb == upTo {
			granted = max(0, room)
		}
	}
	after := b
	after.taken += granted
	if out.unknown {
		return true, after
	}
	remaining := in.capacity - after.taken
	if in.verb != force {
		remaining = max(0, remaining)
	}
	if out.granted != granted || out.remaining != remaining {
		return false, b
	}
	// The bucket is full again a day after the first decision for each token taken, so that is when this one was made:
	at := after.taken*day.Milliseconds() - out.reset
	wait := int64(0)
	if granted == 0 {
		wait = (b.taken+min(in.n, in.capacity)-in.capacity)*day.Milliseconds() - at
		if in.verb == upTo {
			wait = (b.taken+1-in.capacity)*day.Milliseconds() - at
		}
	}
	if in.n > in.capacity && granted == 0 {
		wait = -1
	}
	if out.wait != wait {
		return false, b
	}
	if at < b.last && in.called >= b.replied {
		return false, b // time goes back; of requests under way at once, one may read the time first and be decided last
	}
	if after.taken == 0 {
		return at == 0, bucket{}
	}
	if passed := time.Duration(in.replied - b.called); b.called > 0 && time.Duration(at-b.last)*time.Millisecond > passed+passed/2000+clockSlack {
		return false, b // time made a leap
	}
	if in.verb == peek || granted == 0 {
		// Answered from the applied state: an entry that is under way may have been stamped earlier.
		return true, b
	}
	if at >= b.last {
		after.last, after.called, after.replied = at, in.called, in.replied
	}
	return true, after
}

// operation is one line of a history.
func operation(in input, out output) porcupine.Operation {
	return porcupine.Operation{Input: in, Call: in.called, Output: out, Return: in.replied}
}

// byKey is a history in parts that have nothing to do with each other.
func byKey(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	places := map[string]int{}
	for _, op := range history {
		key := op.Input.(input).key
		at, seen := places[key]
		if !seen {
			at = len(parts)
			places[key] = at
			parts = append(parts, nil)
		}
		parts[at] = append(parts[at], op)
	}
	return parts
}

// checkHistory looks for an order in which one limiter could have given all answers.
func checkHistory(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	began := time.Now()
	parts := byKey(history)
	longest, unknown, undecided := 0, 0, 0
	for _, part := range parts {
		longest = max(longest, len(part))
		known, lost := splitUnknown(part)
		unknown += lost.count()
		model := lost.model()
		switch isLinearizable := porcupine.CheckOperations(model.ToModel(), known); {
		case isLinearizable:
		case lost.gaveUp:
			undecided++
		default:
			t.Errorf("no one limiter could have answered so:\n%s", describe(part))
			return
		}
	}
	t.Logf("%d operations on %d keys, at most %d on one, %d of unknown outcome: linearizable but for %d keys with too many of these to tell, checked in %v",
		len(history), len(parts), longest, unknown, undecided, time.Since(began).Round(time.Millisecond))
	if undecided > len(parts)/10 {
		t.Errorf("for %d keys of %d it could not be told whether one limiter could have answered so", undecided, len(parts))
	}
}

// describe lists the operations on a key in the order they were sent.
func describe(part []porcupine.Operation) (text string) {
	part = slices.Clone(part)
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Call/1000 - b.Call/1000) })
	for _, op := range part {
		text += fmt.Sprintf("%d..%d %+v -> %+v\n", op.Call/1000, op.Return/1000, op.Input, op.Output)
	}
	return text
}
