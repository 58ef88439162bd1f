package testmodel

import "slices"

func (m *Model) settle(words []string) (string, error) {
	id, words := words[1], words[2:]
	if err := checkKey(id); err != nil {
		return "", err
	}
	if len(words) == 0 {
		return "", refuse("ERR tokens: needs a value")
	}
	if !equalFold(words[0], "COSTS") {
		n, err := between("tokens", words[0], 0, mostTokens)
		if err == nil && len(words) > 1 {
			err = refuse("ERR syntax error: RL.SETTLE does not take '%s' here; it takes no options", words[1][:min(64, len(words[1]))])
		}
		if err != nil {
			return "", err
		}
		return m.charge(id, 0, func(_ int, p *booked) int64 {
			if p.cost {
				return p.charged
			}
			return n
		})
	}
	words = words[1:]
	switch {
	case len(words) == 0:
		return "", refuse("ERR COSTS: needs a value")
	case len(words) > mostLimits:
		return "", refuse("ERR spec: at most %d limits at once", mostLimits)
	}
	amounts := make([]int64, len(words))
	for i, word := range words {
		var err error
		if word == "-" {
			continue
		}
		if amounts[i], err = between("COSTS", word, 0, mostTokens); err != nil {
			return "", err
		}
	}
	return m.charge(id, len(words), func(i int, p *booked) int64 {
		if words[i] == "-" {
			return p.charged
		}
		return amounts[i]
	})
}

func (m *Model) cancel(words []string) (string, error) {
	if err := checkKey(words[1]); err != nil {
		return "", err
	}
	return m.charge(words[1], 0, func(int, *booked) int64 { return 0 })
}

// charge settles a reservation: each of its limits, as many as are stated unless that is 0, is charged another amount.
func (m *Model) charge(id string, stated int, amount func(i int, p *booked) int64) (string, error) {
	s := m.held(id)
	if s == nil {
		return null, nil
	}
	v, is := s.(*reservation)
	if !is {
		return "", noReservation(s)
	}
	if stated > 0 && stated != len(v.parts) {
		return "", refuse("ERR COSTS: needs an amount or - for each of the %d limits of the request", len(v.parts))
	}
	next := *v
	next.parts, next.settled = slices.Clone(v.parts), true
	divides, last := stated == 0 && hasElse(v.limits()), len(v.parts)-1
	included, rest, err := int64(0), int64(0), error(nil)
	if divides {
		if included, rest, err = m.divideUse(v, amount(last, &v.parts[last])); err != nil {
			return "", err
		}
	}
	for i := range next.parts {
		p := &next.parts[i]
		switch p.charged = amount(i, p); {
		case p.limit.algorithm == concurrency, p.limit.algorithm == penalty:
			p.charged = 0
		case divides && p.isIncluded():
			p.charged = included
		case divides && p.isElse:
			p.charged = rest
		}
		if v.settled && p.charged != v.parts[i].charged {
			return "", otherAmounts
		}
	}
	if !v.settled {
		if err := m.takeMore(v, &next); err != nil {
			return "", err
		}
		for i := range next.parts {
			back := v.parts[i].charged - next.parts[i].charged
			for _, e := range v.parts[i].taken() {
				n := max(0, min(back, e.tokens))
				m.giveBack(&next.parts[i], e.at, n, e.tokens)
				back -= n
			}
		}
		m.keep(id, &next)
	}
	var all []string
	for i := range next.parts {
		p := &next.parts[i]
		most, remaining, reset := p.limit.most, p.limit.most, int64(0)
		if held := m.held(p.key); held != nil {
			var l limit
			l, remaining, reset = held.look(m.Now)
			most = l.most
		}
		all = append(all, integers(p.charged, most, remaining, millis(reset)))
	}
	return array(all...), nil
}

// takeMore charges the limits what they are to be charged beyond before, all or none.
func (m *Model) takeMore(before, after *reservation) error {
	states := map[string]state{}
	for i := range after.parts {
		p := after.parts[i].request
		if p.tokens = after.parts[i].charged - before.parts[i].charged; p.tokens <= 0 {
			continue
		}
		held, err := m.heldFor(p.key, p.limit.algorithm)
		if err != nil {
			return err
		}
		if held != nil {
			p.limit = m.limitOf(held)
		}
		p.force, p.upTo, p.keep, p.wait = true, false, nil, 0
		if _, states[p.key], err = decide(held, &p, m.Now); err != nil {
			return err
		}
	}
	for key, s := range states {
		m.keep(key, s)
	}
	return nil
}

// giveBack returns tokens to where some were taken, at most as many as still count there, or ends a lease. Of a closed
// window they are the reserved ones.
func (m *Model) giveBack(p *booked, at, tokens, reserved int64) {
	held := m.held(p.key)
	if tokens <= 0 && p.limit.history == 0 || held == nil || algorithmOf(held) != p.limit.algorithm {
		return
	}
	switch s := held.(type) {
	case *lent:
		if f, ok := s.inner.(*fixed); !ok {
			held = s.refund(m.Now, tokens)
		} else if held = (&lent{s.limit, f.settle(at, tokens, reserved), s.all}).at(m.Now); held == nil {
			held = &lent{s.limit, nil, s.all}
		}
	case *fixed:
		held = s.settle(at, tokens, reserved)
	case *sliding:
		n := s.at(m.Now)
		switch at {
		case n.start:
			n.cur = max(0, n.cur-tokens)
		case n.start - s.limit.length:
			n.pre = max(0, n.pre-tokens)
		}
		held = n
	case *segments:
		held = s.giveBack(m.Now, at, tokens)
	case *credits:
		held = s.giveBack(m.Now, tokens, at)
	case *log:
		held = s.giveBack(m.Now, at, tokens)
	case *leases:
		n := s.at(m.Now)
		n.all = slices.DeleteFunc(n.all, func(l lease) bool { return l.holder == p.holder })
		held = n
	default:
		held = held.refund(m.Now, tokens)
	}
	m.keep(p.key, held)
}

// giveBack returns tokens that were granted at a time.
func (g *log) giveBack(now, at, tokens int64) state {
	next := &log{g.limit, slices.Clone(g.entries), g.room}
	for i := range next.entries {
		if e := &next.entries[i]; e.at == at && e.at > now-g.limit.length {
			e.tokens = max(0, e.tokens-tokens)
		}
	}
	next.entries = slices.DeleteFunc(next.entries, func(e entry) bool { return e.tokens == 0 })
	return next
}
