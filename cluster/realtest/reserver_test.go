//go:build e2e

package realtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// reserver reserves with one id after the other, and settles.
type reserver struct {
	*ledger
	r       *rand.Rand
	callers [2]*caller
}

// reserved is one id.
type reserved struct {
	id      string
	keys    []reservedKey
	tokens  int64
	command []string
	first   []int64 // granted, binding and wait of the first grant
}

const (
	otherParameters = "ERR AS: the id was used for a request with other parameters"
	otherAmounts    = "ERR id: the request was already settled or canceled with other amounts"
)

// any makes up a request for one key or two.
func (w *reserver) any(id string) *reserved {
	generation := w.ids.Add(1) / reservedIDs
	one := reservedKey{generation, 2 * w.r.IntN(reservedKeys/2)}
	two := reservedKey{generation, 1 + 2*w.r.IntN(reservedKeys/2)}
	v := &reserved{id: id, keys: []reservedKey{one, two}, tokens: 1 + w.r.Int64N(4)}
	tokens, as := fmt.Sprint(v.tokens), []string{"AS", id, "FOR", reservedFor}
	switch w.r.IntN(4) {
	case 0:
		v.keys = v.keys[:1]
		v.command = slices.Concat([]string{"TB.ACQUIRE"}, one.words()[1:], []string{tokens}, as)
	case 1:
		v.keys = v.keys[1:]
		v.command = slices.Concat([]string{"FW.ACQUIRE"}, two.words()[1:], []string{tokens}, as)
	case 2:
		v.command = slices.Concat([]string{"RL.ALL"}, one.words(), two.words(), []string{"TOKENS", tokens}, as)
	default:
		v.command = slices.Concat([]string{"RL.CHECK", reservePolicy, id, tokens}, as, []string{"WITH", "one", one.field(), "two", two.field()})
	}
	return v
}

// answer is the outcome that a caller learned.
type answer struct {
	reply
	err    error
	unsure bool
}

// ask has one caller ask, and now and then both of them at once, on different connections.
func (w *reserver) ask(command []string) []answer {
	return w.askBoth(command, command, w.r.IntN(3) == 0)
}

func (w *reserver) askBoth(one, other []string, both bool) (answers []answer) {
	answers = make([]answer, 1)
	var side sync.WaitGroup
	if both {
		w.note(wasAskedTwice)
		answers = append(answers, answer{})
		side.Go(func() { answers[1].reply, answers[1].err, answers[1].unsure = w.callers[1].untilDecided(other...) })
	}
	answers[0].reply, answers[0].err, answers[0].unsure = w.callers[0].untilDecided(one...)
	side.Wait()
	return answers
}

// reserve asks for tokens with an id, until it is certain whether they were granted, and settles.
func (w *reserver) reserve(id string) {
	v := w.any(id)
	if !w.isGranted(v) {
		w.note(wasDenied)
		return
	}
	w.note(wasGranted)
	charged := w.settle(v)
	if w.r.IntN(3) == 0 {
		w.note("asked again once settled")
		if a := w.ask(v.command); !w.grants(v, a[0]) {
			w.t.Errorf("%q was granted, and then not: %+v", v.command, a)
		}
	}
	if w.r.IntN(6) == 0 {
		changed := slices.Clone(v.command)
		changed[slices.Index(changed, reservedFor)] = "11m"
		if a := w.ask(changed); !says(a[0].err, otherParameters) {
			w.t.Errorf("%q: %+v", changed, a)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, key := range v.keys {
		w.charged[key] += charged[i]
	}
}

// isGranted asks for the tokens.
func (w *reserver) isGranted(v *reserved) (is bool) {
	unsure := false
	for _, a := range w.ask(v.command) {
		is = w.grants(v, a) || is
		unsure = unsure || a.unsure
	}
	if is || !unsure {
		return is
	}
	// A lost request may still be on its way and be granted later. Another one of the same id excludes that.
	w.note("closed")
	another := []string{"TB.ACQUIRE", "closed", "1000000000", "1000000/s", "AS", v.id, "FOR", reservedFor}
	switch r, err, _ := w.callers[0].untilDecided(another...); {
	case says(err, otherParameters):
		w.note("granted after a denial")
		is = w.grants(v, w.askBoth(v.command, nil, false)[0])
		if !is {
			w.t.Errorf("%q is known and not granted", v.command)
		}
	case err != nil || r.items[0].integer != 1:
		w.t.Errorf("%q: %v, %v", another, r, err)
	}
	return is
}

func (a answer) String() string { return fmt.Sprintf("%v, error %v", a.items, a.err) }

// grants reports whether an answer to the request grants it. All that do must be alike.
func (w *reserver) grants(v *reserved, a answer) bool {
	if a.err != nil || len(a.items) < 4 {
		w.t.Errorf("%q: %+v", v.command, a)
		return false
	}
	var got []int64
	var remaining []int64
	if len(a.items) == 5 {
		got = []int64{a.items[0].integer, -1, a.items[3].integer}
		remaining = []int64{a.items[2].integer}
	} else {
		got = []int64{a.items[0].integer, a.items[1].integer, a.items[2].integer}
		for _, part := range a.items[3].items {
			remaining = append(remaining, part.items[1].integer)
		}
	}
	w.checkRemaining(v, remaining, a)
	switch {
	case got[0] == 0:
		return false
	case v.first == nil:
		v.first = got
	}
	if want := []int64{v.tokens, -1, 0}; !slices.Equal(got, v.first) || !slices.Equal(got, want) {
		w.t.Errorf("%q is answered %v, and was %v", v.command, got, v.first)
	}
	return true
}

func (w *reserver) checkRemaining(v *reserved, remaining []int64, a answer) {
	if len(remaining) != len(v.keys) {
		w.t.Errorf("%q is answered for %d limits: %+v", v.command, len(remaining), a)
		return
	}
	for i, key := range v.keys {
		if n := remaining[i]; n > reservedLimit || n < 0 && !key.mayBeOver() {
			w.t.Errorf("%q: %d remain of %v", v.command, n, key)
		}
	}
}

// settle settles the id in some way, and returns the charge of each key.
func (w *reserver) settle(v *reserved) (charged []int64) {
	switch w.r.IntN(8) {
	case 0:
		w.note("not settled")
		return v.each(v.tokens)
	case 1, 2:
		w.note(wasCanceled)
		return w.settled(v, []string{"RL.CANCEL", v.id}, v.each(0))
	case 3:
		one, other := w.r.Int64N(v.tokens+1), v.tokens+1
		if slices.ContainsFunc(v.keys, func(k reservedKey) bool { return !k.mayBeOver() }) {
			other = (one + 1) % (v.tokens + 1)
		}
		return w.settleTwoWays(v, one, other)
	case 4:
		words := []string{"RL.SETTLE", v.id, "COSTS"}
		for _, key := range v.keys {
			amount := w.r.Int64N(v.most(key) + 1)
			charged, words = append(charged, amount), append(words, fmt.Sprint(amount))
		}
		w.note(wasSettled)
		return w.settled(v, words, charged)
	}
	most := v.tokens + 3
	for _, key := range v.keys {
		most = min(most, v.most(key))
	}
	amount := w.r.Int64N(most + 1)
	w.note(wasSettled)
	charged = w.settled(v, []string{"RL.SETTLE", v.id, fmt.Sprint(amount)}, v.each(amount))
	if w.r.IntN(4) == 0 {
		if a := w.ask([]string{"RL.SETTLE", v.id, fmt.Sprint(amount + 1)}); !says(a[0].err, otherAmounts) {
			w.t.Errorf("%s, settled with %d, is settled again: %+v", v.id, amount, a)
		}
	}
	return charged
}

// each is the same amount for each key.
func (v *reserved) each(amount int64) []int64 { return slices.Repeat([]int64{amount}, len(v.keys)) }

// most is the most that a key is to be charged.
func (v *reserved) most(key reservedKey) int64 {
	if key.mayBeOver() {
		return v.tokens + 3
	}
	return v.tokens
}

// settled sends a settlement, and expects its charges.
func (w *reserver) settled(v *reserved, command []string, charged []int64) []int64 {
	for _, a := range w.ask(command) {
		w.checkSettled(v, command, a, charged)
	}
	return charged
}

func (w *reserver) checkSettled(v *reserved, command []string, a answer, charged []int64) {
	var got, remaining []int64
	for _, part := range a.items {
		got, remaining = append(got, part.items[0].integer), append(remaining, part.items[2].integer)
	}
	if a.err != nil || !slices.Equal(got, charged) {
		w.t.Errorf("%q of %q is answered %+v, and must charge %v", command, v.command, a, charged)
		return
	}
	w.checkRemaining(v, remaining, a)
}

// settleTwoWays has both callers settle at once, with different amounts: one of them wins.
func (w *reserver) settleTwoWays(v *reserved, one, other int64) []int64 {
	w.note(wasSettledTwoWays)
	amounts, winner := [2]int64{one, other}, -1
	command := func(i int) []string { return []string{"RL.SETTLE", v.id, fmt.Sprint(amounts[i])} }
	for i, a := range w.askBoth(command(0), command(1), true) {
		switch {
		case says(a.err, otherAmounts):
		case winner >= 0:
			w.t.Errorf("%s is settled with %d, and with %d", v.id, one, other)
		default:
			winner = i
			w.checkSettled(v, command(i), a, v.each(amounts[i]))
		}
	}
	if winner < 0 {
		w.t.Errorf("%s is settled neither with %d nor with %d", v.id, one, other)
		return v.each(v.tokens)
	}
	return v.each(amounts[winner])
}
