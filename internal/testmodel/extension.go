package testmodel

import "slices"

const (
	mostExtensions = 1_000_000
	mostMarks      = 256
	isSettled      = refusal("ERR id: the request was already settled or canceled; nothing was taken")
	isFull         = refusal("ERR id: the reservation has tokens of 256 windows or times of one limit, or 1000000000000 tokens, which is the most; nothing was taken")
)

func (m *Model) extend(words []string) (string, error) {
	id := words[1]
	n, err := between("n", words[2], 1, mostExtensions)
	if err != nil {
		return "", err
	}
	tokens, err := between("tokens", words[3], 1, mostTokens)
	if err != nil {
		return "", err
	}
	if err := checkKey(id); err != nil {
		return "", err
	}
	call := request{tokens: tokens}
	if err := call.readOptions("RL.EXTEND", words[4:], []string{"UPTO", "FOR", "SPLIT"}); err != nil {
		return "", err
	}
	s := m.held(id)
	if s == nil {
		return null, nil
	}
	v, is := s.(*reservation)
	switch {
	case !is:
		return "", noReservation(s)
	case v.settled:
		return "", isSettled
	case v.count > 0 && n == v.count:
		o := m.repeat(v)
		o.tokens, o.wait = v.last, v.lastWait
		return v.showing(o, &call), nil
	case n != v.count+1:
		return "", refuse("ERR n: the next extension of this reservation has the number %d; nothing was taken", v.count+1)
	}
	o, v, err := m.more(id, v, &call)
	if err == nil && o.binding >= 0 && call.upTo {
		call.tokens = max(1, min(call.tokens, v.mostOf(o))) // a denial states the wait for one token
		o, v, err = m.more(id, v, &call)
	}
	if err != nil {
		return "", err
	}
	return v.showing(o, &call), nil
}

// mostOf is what all limits have left after a denial. The credits of a balance add to what is left of the limits with
// which it divides the cost.
func (v *reservation) mostOf(o *outcome) int64 {
	most, included, left := mostTokens, mostTokens, int64(0)
	for i, a := range o.parts {
		switch p := &v.parts[i]; {
		case p.isPaid() || p.limit.algorithm == concurrency:
		case p.isElse:
			left = max(0, a.remaining)
		case hasElse(v.limits()) && p.isIncluded():
			included = min(included, a.remaining)
		default:
			most = min(most, max(0, a.remaining))
		}
	}
	return min(most, included+left)
}

// showing is the reply of an extension.
func (v *reservation) showing(o *outcome, call *request) string {
	for i := range o.parts {
		p := &v.parts[i]
		o.parts[i].warn, o.parts[i].taken = p.limit.warn, p.charged
	}
	return array(append(o.hiding(call).splitting(call, v.limits()).elements(), integer(v.total))...)
}

// isPaid reports whether an extension asks nothing of the limit.
func (p *booked) isPaid() bool {
	if p.limit.algorithm == concurrency {
		return p.charged == 0
	}
	return p.cost || p.limit.algorithm == penalty
}

// more asks the limits of a reservation for as many tokens as a call says, and keeps and returns the reservation with a
// grant. The one before stays as it was, because a crash may bring it back.
func (m *Model) more(id string, v *reservation, call *request) (*outcome, *reservation, error) {
	limits := make([]request, len(v.parts))
	for i := range v.parts {
		p := &v.parts[i]
		limits[i] = request{key: p.key, limit: p.limit, holder: p.holder, cost: p.isPaid(), isElse: p.isElse}
	}
	next := *v
	o, err := m.decideAll(limits, &request{tokens: call.tokens, length: call.length, extends: &next})
	if err == nil && o.binding < 0 {
		m.keep(id, &next)
	}
	return o, &next, err
}

// extended is a reservation after an extension was granted, nil if it would have more than it can have.
func (v *reservation) extended(now int64, call *request, o *outcome, next []state) *reservation {
	w := *v
	w.parts = slices.Clone(v.parts)
	w.count, w.last, w.lastWait, w.total = v.count+1, o.tokens, o.wait, v.total+o.tokens
	if call.length > 0 {
		w.end = max(v.end, now+call.length)
	}
	for i := range w.parts {
		p := &w.parts[i]
		if next[i] == nil || p.limit.algorithm == concurrency {
			continue
		}
		p.charged += o.parts[i].tokens
		reserveIn(next[i], o.parts[i].tokens)
		p.more = p.addMark(entry{markOf(next[i]), o.parts[i].tokens})
		if p.charged > mostTokens || len(p.more) >= mostMarks {
			return nil
		}
	}
	if w.total > mostTokens {
		return nil
	}
	return &w
}

// addMark is the marks of extensions after one more. Of a window that is over, tokens are not told apart from the
// tokens of windows before it: they go nowhere.
func (p *booked) addMark(added entry) []entry {
	if p.limit.algorithm == balance { // credits go back in the order of their expiry, whenever they were taken
		p.at = max(p.at, added.at)
		return nil
	}
	first := p.charged - added.tokens
	for _, e := range p.more {
		first -= e.tokens
	}
	all := append([]entry{{p.at, first}}, p.more...)
	for i := range all {
		if e := &all[i]; p.isOver(e.at, added.at) {
			e.at = -1
		}
	}
	if at := slices.IndexFunc(all, func(e entry) bool { return e.at == added.at }); at >= 0 {
		all[at].tokens += added.tokens
	} else {
		all = append(all, added)
	}
	for len(all) > 1 && all[0].at == all[1].at {
		all[1].tokens += all[0].tokens
		all = all[1:]
	}
	p.at = all[0].at
	return all[1:]
}

func (p *booked) isOver(at, newest int64) bool {
	switch p.limit.algorithm {
	case fixedWindow:
		return at != newest && p.limit.history == 0
	case slidingWindow:
		return at < newest-p.limit.length
	case slidingSegments:
		return at < newest-2*p.limit.length
	case slidingLog:
		return at <= newest-p.limit.length
	}
	return false
}

// taken are the grants of a limit, the newest first.
func (p *booked) taken() (all []entry) {
	all = []entry{{p.at, p.charged}}
	for _, e := range p.more {
		all[0].tokens -= e.tokens
		all = append(all, e)
	}
	slices.Reverse(all)
	return all
}
