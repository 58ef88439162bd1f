package testspec

import (
	"fmt"
	"slices"
)

// Model is a machine with finitely many states.
type Model[S comparable] struct {
	Start S
	// Steps passes on each step that can follow a state.
	Steps func(s S, next *Steps[S])
	// Wrong says which promise a state breaks, "" for none.
	Wrong func(s S) string
	// Rests reports whether a state is at rest: nothing is lent or under way. From each state, steps without a fault
	// must lead to such a state. nil checks nothing.
	Rests func(s S) bool
	// Same returns the state that stands for a state and for all that promise the same. nil if each stands for itself.
	Same func(s S) S
}

// Steps collects the steps that can follow a state.
type Steps[S comparable] struct {
	isNamed bool
	all     []step[S]
}

type step[S comparable] struct {
	to      S
	name    string // a sentence; empty unless a trail is shown
	isFault bool
}

// Step adds a step. name and its arguments say what happens, as a sentence.
func (n *Steps[S]) Step(to S, name string, args ...any) { n.add(to, false, name, args...) }

// Fault adds a step that nobody can rely on, such as a lost message.
func (n *Steps[S]) Fault(to S, name string, args ...any) { n.add(to, true, name, args...) }

func (n *Steps[S]) add(to S, isFault bool, name string, args ...any) {
	one := step[S]{to: to, isFault: isFault}
	if n.isNamed {
		one.name = fmt.Sprintf(name, args...)
	}
	n.all = append(n.all, one)
}

// Result is what a check has found.
type Result struct {
	States int      // that were visited
	Broken string   // the promise that is broken, "" if none is
	Trail  []string // the steps of a shortest way to a state that breaks it
}

// neverRests is the broken promise of [Model.Rests].
const neverRests = "from here, no steps without a fault lead to rest"

// edge is a step without a fault between two states, by their numbers.
type edge struct{ from, to int32 }

// search is the states that a check has visited.
type search[S comparable] struct {
	model  *Model[S]
	states []S
	known  map[S]int32 // the numbers of the states
	from   []int32     // the number of the state before each
	edges  []edge
}

// Check visits all states of a model. It stops at the first one that breaks a promise, or with an error if there are
// more than most.
func (m *Model[S]) Check(most int) (Result, error) {
	c := &search[S]{model: m, states: []S{m.Start}, known: map[S]int32{m.Start: 0}, from: []int32{-1}}
	var next Steps[S]
	for i := int32(0); int(i) < len(c.states); i++ {
		if wrong := m.Wrong(c.states[i]); wrong != "" {
			return Result{len(c.states), wrong, c.trail(i)}, nil
		}
		next.all = next.all[:0]
		m.Steps(c.states[i], &next)
		for _, one := range next.all {
			one.to = m.standIn(one.to)
			at, isKnown := c.known[one.to]
			if !isKnown {
				if at = int32(len(c.states)); int(at) == most {
					return Result{}, fmt.Errorf("there are more than %d states", most)
				}
				c.known[one.to] = at
				c.states, c.from = append(c.states, one.to), append(c.from, i)
			}
			if m.Rests != nil && !one.isFault {
				c.edges = append(c.edges, edge{i, at})
			}
		}
	}
	if i := c.restless(); i >= 0 {
		return Result{len(c.states), neverRests, c.trail(i)}, nil
	}
	return Result{States: len(c.states)}, nil
}

func (m *Model[S]) standIn(s S) S {
	if m.Same == nil {
		return s
	}
	return m.Same(s)
}

// restless returns the number of a state from which no steps without a fault lead to rest, -1 for none.
func (c *search[S]) restless() int32 {
	if c.model.Rests == nil {
		return -1
	}
	slices.SortFunc(c.edges, func(a, b edge) int { return int(a.to) - int(b.to) })
	begins := make([]int32, len(c.states)+1) // of the edges to each state
	for _, e := range c.edges {
		begins[e.to+1]++
	}
	for i := range c.states {
		begins[i+1] += begins[i]
	}
	rests, due := make([]bool, len(c.states)), []int32(nil)
	for i := range c.states {
		if c.model.Rests(c.states[i]) {
			rests[i], due = true, append(due, int32(i))
		}
	}
	for len(due) > 0 {
		last := due[len(due)-1]
		due = due[:len(due)-1]
		for _, e := range c.edges[begins[last]:begins[last+1]] {
			if !rests[e.from] {
				rests[e.from], due = true, append(due, e.from)
			}
		}
	}
	return int32(slices.Index(rests, false))
}

// trail returns the steps to a state.
func (c *search[S]) trail(last int32) (names []string) {
	for ; c.from[last] >= 0; last = c.from[last] {
		next := Steps[S]{isNamed: true}
		c.model.Steps(c.states[c.from[last]], &next)
		at := slices.IndexFunc(next.all, func(one step[S]) bool { return c.model.standIn(one.to) == c.states[last] })
		names = append(names, next.all[at].name)
	}
	slices.Reverse(names)
	return names
}
