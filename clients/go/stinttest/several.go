package stinttest

import (
	"fmt"
	"math/big"
	"strings"
)

// part is one of several limits, of which n tokens are asked.
type part struct {
	key     string
	limit   limit
	n       int64
	hasCost bool // n is its own
}

func (f *Fake) all(words []string) (string, error) {
	var parts []part
	n := int64(1)
	for len(words) > 0 {
		_, isLimit := commands[words[0]]
		switch {
		case isLimit && len(words) > 1+limitWords:
			l, err := parse(words[0], words[2:])
			if err != nil {
				return "", err
			}
			parts = append(parts, part{key: words[1], limit: l})
			words = words[2+limitWords:]
			continue
		case len(words) > 1 && words[0] == "COST" && len(parts) > 0:
			cost, err := number(words[1])
			if err != nil {
				return "", err
			}
			parts[len(parts)-1].n, parts[len(parts)-1].hasCost = cost, true
		case len(words) > 1 && words[0] == "TOKENS":
			var err error
			if n, err = number(words[1]); err != nil {
				return "", err
			}
		default:
			return "", lacks(words[0] + " in RL.ALL")
		}
		words = words[2:]
	}
	for i := range parts {
		if !parts[i].hasCost {
			parts[i].n = n
		}
	}
	return f.several(parts, n)
}

// several takes tokens of each limit, or of none. A limit without a cost of its own is asked for n tokens.
func (f *Fake) several(parts []part, n int64) (string, error) {
	decisions, binding := make([]decision, len(parts)), -1
	for i, p := range parts {
		d, err := f.decide(p.key, p.limit, ask{n: p.n})
		if err != nil {
			return "", err
		}
		if decisions[i] = d; p.n > 0 && d.granted == 0 && (binding < 0 || longer(d.wait, decisions[binding].wait)) {
			binding = i
		}
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
		states[i] = array(p.limit.tokens, d.remaining, milliseconds(d.reset))
	}
	if binding >= 0 {
		n, wait = 0, decisions[binding].wait
	}
	head := fmt.Sprintf("*4\r\n:%d\r\n:%d\r\n:%d\r\n*%d\r\n", n, binding, milliseconds(wait), len(states))
	return head + strings.Join(states, "\r\n"), nil
}
