package stinttest

import (
	"errors"
	"fmt"
	"math/big"
)

// reservation is a grant that is remembered under an ID.
type reservation struct {
	request   string // its words
	end       int64
	answer    string // the beginning of the reply
	parts     []reservedPart
	isSettled bool
}

// reservedPart is a limit of a reservation.
type reservedPart struct {
	part
	charged int64
	mark    int64 // the window, or the time, in which the tokens were taken
}

// reserved is the reservation of an ID, until its end; nil if there is none.
func (f *Fake) reserved(id string) *reservation {
	if r := f.reservations[id]; r != nil && r.end > f.now.UnixNano() {
		return r
	}
	return nil
}

func (f *Fake) reserve(parts []part, decisions []decision, r request, answer string) {
	now := f.now.UnixNano()
	kept := &reservation{request: r.text, end: now + r.remember, answer: answer}
	for i, p := range parts {
		kept.parts = append(kept.parts, reservedPart{p, decisions[i].granted, markOf(decisions[i].state, now)})
	}
	f.reservations[r.id] = kept
}

func markOf(state any, now int64) int64 {
	switch s := state.(type) {
	case window:
		return s.end
	case counters:
		return s.number
	}
	return now
}

// settle carries out RL.SETTLE: a number of tokens, or COSTS and an amount for each limit.
func (f *Fake) settle(words []string) (string, error) {
	if words[1] != "COSTS" {
		tokens, err := number(words[1])
		if err != nil {
			return "", err
		}
		return f.charge(words[0], func(_ int, p reservedPart) (int64, error) {
			if p.hasCost {
				return p.charged, nil
			}
			return tokens, nil
		})
	}
	costs := words[2:]
	if held := f.reserved(words[0]); held != nil && len(held.parts) != len(costs) {
		return "", fmt.Errorf("ERR COSTS: needs an amount or - for each of the %d limits of the request", len(held.parts))
	}
	return f.charge(words[0], func(i int, p reservedPart) (int64, error) {
		if costs[i] == "-" {
			return p.charged, nil
		}
		return number(costs[i])
	})
}

func (f *Fake) cancel(id string) (string, error) {
	return f.charge(id, func(int, reservedPart) (int64, error) { return 0, nil })
}

// charge charges the limits of a reservation their amounts, once.
func (f *Fake) charge(id string, amountOf func(i int, p reservedPart) (int64, error)) (string, error) {
	held := f.reserved(id)
	if held == nil {
		return "$-1", nil
	}
	amounts := make([]int64, len(held.parts))
	for i, p := range held.parts {
		amount, err := amountOf(i, p)
		if err != nil {
			return "", err
		}
		if held.isSettled && amount != p.charged {
			return "", errors.New("ERR id: it was settled or canceled with other amounts; nothing was changed")
		}
		amounts[i] = amount
	}
	states := make([]string, len(held.parts))
	for i := range held.parts {
		if !held.isSettled {
			f.recharge(&held.parts[i], amounts[i])
		}
	}
	held.isSettled = true
	for i, p := range held.parts {
		l := f.presentLimit(p.part)
		d, err := f.decide(p.key, l, ask{n: l.tokens + 1})
		if err != nil {
			return "", err
		}
		states[i] = array(p.charged, l.tokens, d.remaining, milliseconds(d.reset))
	}
	return list(states), nil
}

// recharge takes the missing tokens, also if there are too few, or gives back the unused ones.
func (f *Fake) recharge(p *reservedPart, amount int64) {
	l := f.presentLimit(p.part)
	if more := amount - p.charged; more > 0 {
		if d, err := f.decide(p.key, l, ask{n: more, option: "FORCE"}); err == nil {
			f.keys[p.key] = entry{l, d.state}
		}
	} else if held := f.held(p.key); held.state != nil && held.limit.spec == l.spec {
		f.keys[p.key] = entry{l, l.returned(held.state, -more, p.mark)}
	}
	if w, is := f.held(p.key).state.(window); is { // its tokens are usage now
		f.keys[p.key] = entry{l, w.change(p.mark, func(_, reserved *int64) { *reserved = max(0, *reserved-p.charged) })}
	}
	p.charged = amount
}

// presentLimit is the limit that a key is held to now, if it is one of the same algorithm.
func (f *Fake) presentLimit(p part) limit {
	if held := f.held(p.key); held.state != nil && held.limit.spec == p.limit.spec {
		return held.limit
	}
	return p.limit
}

// returned is a state after tokens were given back to the window, or the time, that they were taken from.
func (l limit) returned(state any, back, mark int64) any {
	switch s := state.(type) {
	case *big.Rat:
		return minus(s, times(l.interval(), back))
	case adaptive:
		s.full = minus(s.full, times(s.bucket().interval(), back))
		return s
	case window:
		return s.change(mark, func(taken, _ *int64) { *taken = max(0, *taken-back) })
	case []grant:
		var left []grant
		for _, g := range s {
			if g.at == mark {
				g.tokens = max(0, g.tokens-back)
			}
			if g.tokens > 0 {
				left = append(left, g)
			}
		}
		return left
	case counters:
		switch mark {
		case s.number:
			s.current = max(0, s.current-back)
		case s.number - 1:
			s.before = max(0, s.before-back)
		}
		return s
	}
	return state
}
