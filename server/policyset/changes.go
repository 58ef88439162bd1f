package policyset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server"
)

// Change is a difference between the policies that a server has and those that it should have.
type Change struct {
	Policy string `json:"policy"`
	ID     string `json:"id,omitempty"`     // the caller whose override differs; "" for the policy itself
	Before *Rule  `json:"before,omitempty"` // nil if there is none yet
	After  *Rule  `json:"after,omitempty"`  // nil if it is to be removed
}

// words returns the command that makes the change.
func (c *Change) words() []string {
	switch {
	case c.After == nil && c.ID == "":
		return []string{"RL.POLICY", "DEL", c.Policy}
	case c.After == nil:
		return []string{"RL.POLICY", "OVERRIDE", c.Policy, c.ID, "NONE"}
	}
	words := []string{"RL.POLICY", "SET", c.Policy}
	if c.ID != "" {
		words = []string{"RL.POLICY", "OVERRIDE", c.Policy, c.ID}
	}
	words, _ = Words(strings.Join(c.After.Limits, " "), words...) // the texts were made from parsed limits
	if c.After.Shadow {
		words = append(words, "SHADOW")
	}
	if c.After.Strict {
		words = append(words, "STRICT")
	}
	return words
}

// words returns the commands that make changes.
func words(changes []Change) (all [][]string) {
	for i := range changes {
		all = append(all, changes[i].words())
	}
	return all
}

// undone returns the changes that undo changes.
func undone(changes []Change) []Change {
	var back []Change
	for _, c := range slices.Backward(changes) {
		back = append(back, Change{Policy: c.Policy, ID: c.ID, Before: c.After, After: c.Before})
	}
	return back
}

// Compare returns the changes that make the policies of a server those that it should have. Policies, and overrides of
// the wanted policies, that are not wanted stay, unless prune is set. An error names the policy whose limits cannot be
// read.
func Compare(s *server.Server, have, want Set, prune bool) ([]Change, error) {
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(want)) {
		wanted, present := want[name], have[name]
		_, known := have[name]
		rule, err := readRule(s, &wanted.Rule, "RL.POLICY", "SET", name)
		if err != nil {
			return nil, fmt.Errorf("policy %q: %w", name, err)
		}
		changes = append(changes, difference(Change{Policy: name}, ifKnown(&present.Rule, known), rule)...)
		for _, id := range slices.Sorted(maps.Keys(wanted.Overrides)) {
			rule, err := readRule(s, &Rule{Limits: wanted.Overrides[id]}, "RL.POLICY", "OVERRIDE", name, id)
			if err != nil {
				return nil, fmt.Errorf("policy %q, override for %q: %w", name, id, err)
			}
			old, known := present.Overrides[id]
			changes = append(changes, difference(Change{Policy: name, ID: id}, ifKnown(&Rule{Limits: old}, known), rule)...)
		}
		if prune {
			changes = append(changes, unwanted(name, present.Overrides, wanted.Overrides)...)
		}
	}
	if !prune {
		return changes, nil
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, wanted := want[name]; !wanted {
			p := have[name]
			changes = append(append(changes, unwanted(name, p.Overrides, nil)...), Change{Policy: name, Before: &p.Rule})
		}
	}
	return changes, nil
}

// unwanted returns the removals of a policy's overrides that are not wanted.
func unwanted(policy string, have, want map[string][]string) (changes []Change) {
	for _, id := range slices.Sorted(maps.Keys(have)) {
		if _, wanted := want[id]; !wanted {
			changes = append(changes, Change{Policy: policy, ID: id, Before: &Rule{Limits: have[id]}})
		}
	}
	return changes
}

func ifKnown(r *Rule, known bool) *Rule {
	if !known {
		return nil
	}
	return r
}

// difference returns a change with the two rules, if they differ.
func difference(c Change, before, after *Rule) []Change {
	if before != nil && slices.Equal(before.Limits, after.Limits) && before.Shadow == after.Shadow && before.Strict == after.Strict {
		return nil
	}
	c.Before, c.After = before, after
	return []Change{c}
}

var (
	errNoLimits = errors.New("it has no limits: add limits, such as limits = [\"TB user:{} 100 100/m\"]")
	errOptions  = errors.New("SHADOW and STRICT are not limits: write shadow = true or strict = true")
)

// readRule returns a rule with its limits in the form in which the server shows them.
func readRule(s *server.Server, r *Rule, command ...string) (*Rule, error) {
	if len(r.Limits) == 0 {
		return nil, errNoLimits
	}
	words, err := Words(strings.Join(r.Limits, " "), command...)
	if err != nil {
		return nil, err
	}
	op, err := Parse(s, words)
	switch {
	case err != nil:
		return nil, err
	case op.Options&(engine.Shadow|engine.Strict) != 0:
		return nil, errOptions
	case len(op.Parts) == 0: // RL.POLICY OVERRIDE … NONE
		return nil, errNoLimits
	}
	return &Rule{Limits: texts(op.Parts), Shadow: r.Shadow, Strict: r.Strict}, nil
}
