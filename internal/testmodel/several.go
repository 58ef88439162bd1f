package testmodel

import (
	"fmt"
	"slices"
	"strings"
)

const mostLimits = 64

const sameKey = refusal("ERR spec: the same key twice; each limit needs a different key")

const errElse = refusal("ERR ELSE: must stand before the last limit, a BAL without COST, and after a TB, CL, LB, FW, SW or SL without COST, and no limit may have SPREAD")

// readSpecs reads limits up to the first word that begins none.
func readSpecs(words []string) (all []request, rest []string, err error) {
	for len(words) > 0 {
		isElse := equalFold(words[0], "ELSE")
		if isElse {
			words = words[1:]
		}
		f := specForm(append(words[:len(words):len(words)], "")[0])
		switch {
		case isElse && (f == nil || f.algorithm != balance):
			return nil, nil, errElse
		case f == nil:
			return finishSpecs(all, words)
		case len(words) < 2+f.words:
			names := strings.TrimSpace("key " + f.names)
			return nil, nil, refuse("ERR spec: %s needs %d arguments, %s, got %d", f.word, 1+f.words, names, len(words)-1)
		}
		if len(all) == mostLimits {
			return nil, nil, refuse("ERR spec: at most %d limits at once", mostLimits)
		}
		r, behind, err := readRequest(f, words[1:])
		if err != nil {
			return nil, nil, err
		}
		if words, err = r.leadingOptions(behind, []string{"COST", "KEEP", "TZ", "FROM", "HISTORY", "ROLLOVER", "SEGMENTS", "DOUBLING", "WARN", "SPREAD"}); err != nil {
			return nil, nil, err
		}
		r.isElse = isElse
		all = append(all, r)
	}
	return finishSpecs(all, words)
}

// finishSpecs checks limits together; rest are the words after them.
func finishSpecs(all []request, words []string) (limits []request, rest []string, err error) {
	if err := checkElse(all); err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		got := ""
		if len(words) > 0 {
			got = words[0][:min(64, len(words[0]))]
		}
		return nil, nil, refuse("ERR spec: must begin with one of CL TB LB LQ FW SW SL CC FS AD HT BAL PENALTY UNDER, got '%s'", got)
	}
	return all, words, nil
}

func specForm(word string) *form {
	for i := range forms {
		if equalFold(forms[i].word, word) {
			return &forms[i]
		}
	}
	return nil
}

func (m *Model) all(words []string) (string, error) {
	limits, rest, err := readSpecs(words[1:])
	if err != nil {
		return "", err
	}
	call := request{tokens: 1}
	if err := call.readOptions("RL.ALL", rest, []string{"TOKENS", "PEEK", "MAXWAIT", "BLOCK", "PRIORITY", "AS", "FOR", "SPLIT"}); err != nil {
		return "", err
	}
	if call.priority && (!call.block || !slices.ContainsFunc(limits, func(r request) bool { return r.limit.algorithm == concurrency })) {
		return "", errPriority
	}
	if err := call.checkReserve(); err != nil {
		return "", err
	}
	call.asked = describe("RL.ALL", &call, limits)
	o, err := m.decideAll(limits, &call)
	if err != nil {
		return "", err
	}
	m.hold(o, &call)
	return o.showing(limits).splitting(&call, limits).reply(), nil
}

// hold delays the reply to a granted BLOCK until the last limit is due. The reply then contains the state at that time.
func (m *Model) hold(o *outcome, call *request) {
	if !call.block || call.peek || o.binding >= 0 || o.wait == 0 {
		return
	}
	for i := range o.parts {
		o.parts[i].reset = max(0, o.parts[i].reset-o.wait)
	}
	m.due, o.wait = m.Now+o.wait, 0
}

// outcome is the outcome of a request for several limits.
type outcome struct {
	tokens  int64
	binding int
	wait    int64
	parts   []answer
	splits  bool // the reply has what was taken from each limit
}

func (o *outcome) reply() string { return array(o.elements()...) }

func (o *outcome) elements() []string {
	parts := make([]string, len(o.parts))
	for i, a := range o.parts {
		parts[i] = integers(a.withWarn(a.limit, a.remaining, millis(a.reset))...)
		if o.splits {
			parts[i] = integers(a.limit, a.remaining, millis(a.reset), a.warns(), a.taken)
		}
	}
	return []string{integer(o.tokens), integer(int64(o.binding)), integer(millis(o.wait)), array(parts...)}
}

// join completes the request for one limit of a call.
func (r *request) join(call *request, inMulti bool) {
	if !r.cost {
		r.tokens = call.tokens
	}
	if r.keep == nil && r.limit.keeps() {
		r.keep = call.keep
	}
	r.peek = r.peek || call.peek
	r.block = call.wait > 0 // a place in a queue must be due by then
	if r.wait = call.wait; call.block && inMulti || r.open() < r.limit.most {
		r.wait = 0
	}
}

// askAll has each limit decide on its state, and finds the one that binds.
func (m *Model) askAll(o *outcome, limits []request, call *request, held, next []state) error {
	for i := range limits {
		limits[i].join(call, m.inMulti)
		if hasElse(limits) && limits[i].isIncluded() {
			limits[i].wait = 0
		}
	}
	if hasElse(limits) {
		if err := m.divide(limits, call.tokens, held); err != nil {
			return err
		}
	}
	for i := range limits {
		if limits[i].tokens == 0 {
			o.parts = append(o.parts, untouched(held[i], &limits[i], m.Now))
			continue
		}
		a, after, err := decide(held[i], &limits[i], m.Now)
		if err != nil {
			return err
		}
		m.spread(&limits[i], &a, nil)
		o.parts, next[i] = append(o.parts, a), after
		if !a.granted && (o.binding < 0 || o.wait != never && (a.wait == never || a.wait > o.wait)) {
			o.binding, o.wait = i, a.wait
		}
	}
	if hasElse(limits) {
		return m.awaitCredits(o, limits, call.tokens, held)
	}
	return nil
}

// decideAll takes tokens from every limit or from none.
func (m *Model) decideAll(limits []request, call *request) (*outcome, error) {
	o := &outcome{tokens: call.tokens, binding: -1}
	seen := map[string]bool{}
	for i := range limits {
		if seen[limits[i].key] || call.id != nil && limits[i].key == *call.id {
			return nil, sameKey
		}
		seen[limits[i].key] = true
	}
	if call.id != nil {
		v, err := m.reservedAs(call)
		switch {
		case err != nil:
			return nil, err
		case v != nil:
			return m.repeat(v), nil
		}
	}
	held, next := make([]state, len(limits)), make([]state, len(limits))
	for i := range limits {
		var err error
		if held[i], err = m.heldFor(limits[i].key, limits[i].limit.algorithm); err != nil {
			return nil, err
		}
	}
	if err := m.askAll(o, limits, call, held, next); err != nil {
		return nil, err
	}
	if o.binding >= 0 {
		o.tokens = 0
		for i := range limits {
			if o.parts[i].granted {
				o.parts[i] = untouched(held[i], &limits[i], m.Now)
			}
		}
		m.punish(o, limits, held, call)
		return o, nil
	}
	for i := range limits {
		o.wait = max(o.wait, o.parts[i].wait)
	}
	if call.extends != nil {
		v := call.extends.extended(m.Now, call, o, next)
		if v == nil {
			return nil, isFull
		}
		*call.extends = *v
	}
	for i := range limits {
		if next[i] != nil && !call.peek {
			m.keep(limits[i].key, next[i])
		}
	}
	if call.single {
		o.tokens = o.parts[0].tokens
	}
	for i := range o.parts {
		o.parts[i].taken = o.parts[i].tokens
	}
	if call.id != nil {
		m.remember(call, o, limits, next)
	}
	return o, nil
}

// untouched is the answer of a limit that is asked for nothing, or would have granted when another denied.
func untouched(held state, r *request, now int64) answer {
	held, lent := withoutLoans(held)
	a := answer{granted: true, limit: r.limit.most, remaining: max(0, r.limit.most-lent)}
	if held == nil {
		return a
	}
	switch l := r.limit; l.algorithm {
	case fixedWindow:
		f := fixedUnder(held, l, now)
		a.limit += f.rolled(l, f.start)
		if a.remaining = a.limit - f.count; f.count > 0 {
			a.reset = f.end - now
		}
	case slidingWindow:
		s := slidingUnder(held, l, now)
		a.remaining, a.reset = l.most-up(s.estimate(now)), s.full(now)
	case slidingSegments:
		s := segmentsUnder(held, l, now)
		a.remaining, a.reset = l.most-s.used(), s.reset(now)
	case slidingLog:
		_, used := held.(*log).within(now, l.length)
		a.remaining, a.reset = l.most-used, held.(*log).reset(now, l.length)
	case balance:
		a.limit, a.remaining = held.(*credits).at(now).sum()
	case penalty:
		_, a.remaining, a.reset = held.(*bans).under(l, now).look(now)
	case concurrency:
		s := held.(*leases).at(now)
		a.remaining, a.reset = l.most-int64(len(s.all)), s.reset(now)
	default:
		taken := takenUnder(held, l, now)
		a.remaining, a.reset = down(minus(ratio(l.most), taken)), up(l.fill(taken))
	}
	if a.remaining -= lent; r.expires == 0 { // BAL.ADD shows a debt
		a.remaining = max(0, a.remaining)
	}
	return a
}

// splitting has the outcome show what was taken from each limit, if the call asks for it and the last is a balance.
func (o *outcome) splitting(call *request, limits []request) *outcome {
	o.splits = call.split && endsInBalance(limits)
	return o
}

func (o *outcome) String() string { return fmt.Sprintf("%+v", *o) }
