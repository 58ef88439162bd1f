package realtest

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// Requests of unknown outcome may have been carried out at any time after they were sent, or never. Given to porcupine as
// operations without an end they would each double the orders to be tried. But those that ask for the same are as good as
// each other, the one sent first most of all, and answers show the number of tokens taken before them: so the model keeps
// how many of each kind it needed so far, and takes more when an answer cannot be explained otherwise.

// kind is what requests of unknown outcome have in common that are as good as each other.
type kind struct {
	verb verb
	n    int64
}

// unknowns are when the requests of unknown outcome on one key were sent, by kind, the first one first.
type unknowns struct {
	kinds    []kind
	called   [][]int64
	capacity int64
	steps    int  // taken so far
	gaveUp   bool // there were too many combinations to look at all of them
}

// maxCombinations of requests of unknown outcome are looked at to explain one answer.
const maxCombinations = 10_000

// maxSteps bounds the search for an order on one key.
const maxSteps = 1_000_000

// maxKinds is how many kinds there are at most: three numbers of tokens to acquire, take up to, force and refund, and reset.
const maxKinds = 13

// splitUnknown separates requests of known and of unknown outcome.
func splitUnknown(part []porcupine.Operation) (known []porcupine.Operation, u *unknowns) {
	u = &unknowns{capacity: part[0].Input.(input).capacity}
	for _, op := range part {
		in := op.Input.(input)
		if !op.Output.(output).unknown {
			known = append(known, op)
			continue
		}
		k := kind{in.verb, in.n}
		if in.verb == reset {
			k.n = 0
		}
		at := slices.Index(u.kinds, k)
		if at < 0 {
			at = len(u.kinds)
			u.kinds, u.called = append(u.kinds, k), append(u.called, nil)
		}
		u.called[at] = append(u.called[at], in.called)
	}
	for _, called := range u.called {
		slices.Sort(called)
	}
	return known, u
}

func (u *unknowns) count() (n int) {
	for _, called := range u.called {
		n += len(called)
	}
	return n
}

// onlyTake reports whether none of them gives tokens back.
func (u *unknowns) onlyTake() bool {
	return !slices.ContainsFunc(u.kinds, func(k kind) bool { return k.verb == refund || k.verb == reset })
}

// explained is a state that is possible: the bucket, how many requests of unknown outcome were carried out for it to be as
// it is, of each kind, and when the last of them was sent. Nothing that was answered before that can come after.
type explained struct {
	bucket
	used  [maxKinds]uint16
	since int64
}

func (u *unknowns) model() porcupine.NondeterministicModel {
	return porcupine.NondeterministicModel{
		Init: func() []any { return []any{explained{}} },
		Step: func(state, in, out any) []any { return u.step(state.(explained), in.(input), out.(output)) },
	}
}

// step returns the states after a known request: as few requests of unknown outcome come before it as explain the answer.
// More of them would only be missing later.
func (u *unknowns) step(from explained, in input, out output) (next []any) {
	if u.steps++; u.steps > maxSteps {
		u.gaveUp = true
		return nil
	}
	if in.replied < from.since {
		return nil
	}
	seen := map[explained]bool{from: true}
	for states := []explained{from}; len(states) > 0; {
		if len(seen) > maxCombinations {
			u.gaveUp = true
			return next
		}
		s := states[0]
		states = states[1:]
		if ok, after := s.bucket.step(in, out); ok {
			next = append(next, explained{after, s.used, s.since})
			continue
		}
		if in.verb != refund && u.onlyTake() && out.remaining > 0 && s.taken > in.capacity-out.remaining-out.granted {
			continue // more is gone than the answer says
		}
		for i, k := range u.kinds {
			at := int(s.used[i])
			if at == len(u.called[i]) || u.called[i][at] > in.replied {
				continue
			}
			_, after := s.bucket.step(input{verb: k.verb, n: k.n, capacity: u.capacity}, output{unknown: true})
			more := explained{after, s.used, max(s.since, u.called[i][at])}
			more.used[i]++
			if after != s.bucket && !seen[more] {
				seen[more] = true
				states = append(states, more)
			}
		}
	}
	return next
}
