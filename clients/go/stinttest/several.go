package stinttest

import (
	"errors"
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

// request is a request of several limits.
type request struct {
	text     string // its words
	n        int64  // tokens of each limit without a cost
	showWarn bool
	id       string // under which a grant is remembered, "" for none
	remember int64  // for so long, in nanoseconds
}

func (f *Fake) all(words []string) (string, error) {
	var parts []part
	r := request{text: "RL.ALL " + strings.Join(words, "\x00"), n: 1, showWarn: true}
	for len(words) > 0 {
		s, isLimit := specOf(words[0])
		switch {
		case isLimit && s.word == words[0] && len(words) > 1+s.words:
			l, err := s.parse(words[2:])
			if err != nil {
				return "", err
			}
			p := part{key: words[1], limit: l}
			if words, err = p.limit.options(words[2+s.words:]); err != nil {
				return "", err
			}
			parts = append(parts, p)
			continue
		case len(words) > 1 && words[0] == "COST" && len(parts) > 0:
			cost, err := number(words[1])
			if err != nil {
				return "", err
			}
			parts[len(parts)-1].n, parts[len(parts)-1].hasCost = cost, true
		default:
			if err := r.option(words, "RL.ALL"); err != nil {
				return "", err
			}
		}
		words = words[2:]
	}
	for i := range parts {
		if !parts[i].hasCost {
			parts[i].n = r.n
		}
	}
	return f.once(parts, r)
}

// option reads an option of a request, of two words.
func (r *request) option(words []string, command string) (err error) {
	switch {
	case len(words) < 2:
		return lacks(words[0] + " in " + command)
	case words[0] == "TOKENS":
		r.n, err = number(words[1])
	case words[0] == "AS":
		r.id = words[1]
	case words[0] == "FOR":
		r.remember, err = duration(words[1])
	default:
		return lacks(words[0] + " in " + command)
	}
	return err
}

// once takes tokens, unless the request has an ID under which it was granted already.
func (f *Fake) once(parts []part, r request) (string, error) {
	held := f.reserved(r.id)
	switch {
	case held == nil:
		return f.several(parts, r)
	case held.request != r.text:
		return "", errors.New("ERR AS: the id was used for a request with other parameters; nothing was taken")
	}
	states := make([]string, len(held.parts))
	for i, p := range held.parts {
		d, err := f.decide(p.key, p.limit, ask{n: p.limit.tokens + 1})
		if err != nil {
			return "", err
		}
		d.remaining = max(0, d.remaining)
		states[i] = p.limit.shown(d, r.showWarn)
	}
	return held.answer + list(states), nil
}

// several takes tokens of each limit, or of none.
func (f *Fake) several(parts []part, r request) (string, error) {
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
		if binding >= 0 || p.n == 0 { // the present state is that of a denial
			d, _ = f.decide(p.key, p.limit, ask{n: p.limit.tokens + 1})
			d.remaining = max(0, d.remaining)
		} else {
			f.keys[p.key] = entry{p.limit, r.kept(d)}
			if longer(d.wait, wait) {
				wait = d.wait
			}
		}
		states[i] = p.limit.shown(d, r.showWarn)
	}
	granted := r.n
	if binding >= 0 {
		granted, wait = 0, decisions[binding].wait
	}
	answer := fmt.Sprintf("*4\r\n:%d\r\n:%d\r\n:%d\r\n", granted, binding, milliseconds(wait))
	if r.id != "" && granted > 0 {
		f.reserve(parts, decisions, r, answer)
	}
	return answer + list(states), nil
}

// kept is the state of a decision, with the tokens that a request with an ID reserves.
func (r request) kept(d decision) any {
	w, is := d.state.(window)
	if !is || r.id == "" {
		return d.state
	}
	w.reserved += d.granted
	return w
}

// shown is the state of a limit in a reply.
func (l limit) shown(d decision, showWarn bool) string {
	fields := []int64{l.tokens, d.remaining, milliseconds(d.reset)}
	if showWarn {
		fields = l.withWarning(d.remaining, fields...)
	}
	return array(fields...)
}

func list(items []string) string {
	return fmt.Sprintf("*%d\r\n%s", len(items), strings.Join(items, "\r\n"))
}
