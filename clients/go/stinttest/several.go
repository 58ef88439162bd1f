package stinttest

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// part is one of several limits, of which n tokens are asked.
type part struct {
	key     string
	limit   limit
	n       int64
	hasCost bool // n is its own
	isElse  bool // it gives what the limits before it cannot
}

func (f *Fake) all(words []string) (string, error) {
	var parts []part
	n, isElse, isSplit := int64(1), false, false
	for len(words) > 0 {
		var err error
		word := words[0]
		words = words[1:]
		switch {
		case slices.Contains(specs, word) && len(words) > 0:
			p := part{key: words[0], isElse: isElse}
			if p.limit, words, err = parse(word, words[1:]); err == nil {
				words, err = p.limit.readOption(words)
			}
			parts = append(parts, p)
		case word == "COST" && len(words) > 0 && len(parts) > 0:
			p := &parts[len(parts)-1]
			p.n, err = number(words[0])
			p.hasCost, words = true, words[1:]
		case word == "TOKENS" && len(words) > 0:
			n, err = number(words[0])
			words = words[1:]
		case word == "ELSE":
			isElse = true
		case word == "SPLIT":
			isSplit = true
		default:
			err = lacks(word + " in RL.ALL")
		}
		if err != nil {
			return "", err
		}
	}
	for i := range parts {
		if !parts[i].hasCost {
			parts[i].n = n
		}
	}
	return f.several(parts, n, isSplit)
}

// divide has the limits before ELSE give what they can of n tokens, and the balance the rest.
func (f *Fake) divide(parts []part, n int64) error {
	last := len(parts) - 1
	if last < 0 || !parts[last].isElse {
		return nil
	}
	given := n
	for _, p := range parts[:last] {
		if p.hasCost {
			continue
		}
		d, err := f.decide(p.key, p.limit, ask{n: n, option: "UPTO"})
		if err != nil {
			return err
		}
		given = min(given, d.granted)
	}
	for i := range parts[:last] {
		if !parts[i].hasCost {
			parts[i].n = given
		}
	}
	parts[last].n = n - given
	return nil
}

// several takes tokens of each limit, or of none. A limit without a cost of its own is asked for n tokens.
func (f *Fake) several(parts []part, n int64, isSplit bool) (string, error) {
	if slices.ContainsFunc(parts[:len(parts)-1], func(p part) bool { return p.limit.spec == "BAL" }) {
		return "", errors.New("ERR BAL: must be the last limit")
	}
	if err := f.divide(parts, n); err != nil {
		return "", err
	}
	decisions, binding, err := f.decideAll(parts)
	if err != nil {
		return "", err
	}
	if last := len(parts) - 1; binding == last && parts[last].isElse {
		binding = f.bindElse(parts, decisions, n-max(0, decisions[last].remaining))
	}
	states, wait := make([]string, len(parts)), new(big.Rat)
	for i, p := range parts {
		d := decisions[i]
		if binding >= 0 || p.n == 0 {
			d, _ = f.look(p.key, p.limit)
		} else {
			f.keys[p.key] = entry{p.limit, d.state}
			if longer(d.wait, wait) {
				wait = d.wait
			}
		}
		numbers := []int64{d.limit, d.remaining, milliseconds(d.reset)}
		if isSplit && parts[len(parts)-1].limit.spec == "BAL" {
			numbers = append(numbers, -1, d.granted)
		}
		states[i] = array(numbers...)
	}
	if binding >= 0 {
		n, wait = 0, decisions[binding].wait
	}
	head := fmt.Sprintf("*4\r\n:%d\r\n:%d\r\n:%d\r\n*%d\r\n", n, binding, milliseconds(wait), len(states))
	return head + strings.Join(states, "\r\n"), nil
}

// decideAll decides on each limit. binding is the one that denies, of several the one with the longest wait, or -1.
func (f *Fake) decideAll(parts []part) (decisions []decision, binding int, err error) {
	decisions, binding = make([]decision, len(parts)), -1
	for i, p := range parts {
		if decisions[i], err = f.decide(p.key, p.limit, ask{n: p.n}); err != nil {
			return nil, -1, err
		}
		if d := decisions[i]; p.n > 0 && d.granted == 0 && (binding < 0 || longer(d.wait, decisions[binding].wait)) {
			binding = i
		}
	}
	return decisions, binding, nil
}

// bindElse is the limit before ELSE that takes longest to give what the balance lacks: the balance if one never can.
func (f *Fake) bindElse(parts []part, decisions []decision, lacks int64) (binding int) {
	last := len(parts) - 1
	binding = last
	for i, p := range parts[:last] {
		if !p.hasCost {
			decisions[i], _ = f.decide(p.key, p.limit, ask{n: lacks})
		}
		switch d := decisions[i]; {
		case d.granted > 0 || p.hasCost && p.n == 0:
		case d.wait == never && !p.hasCost:
			return last
		case binding == last || longer(d.wait, decisions[binding].wait):
			binding = i
		}
	}
	return binding
}
