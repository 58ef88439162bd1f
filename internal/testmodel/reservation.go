package testmodel

import (
	"fmt"
	"strings"
)

// reservation is the memory of a grant that was asked for with an id.
type reservation struct {
	asked        string // the request, in words that are the same for every way to write it
	tokens, wait int64
	end          int64
	parts        []booked
	settled      bool

	count, last, lastWait int64 // extensions that were granted, and the last of them
	total                 int64 // tokens, with all extensions
}

// booked is one limit of a reservation, its charge, and where that was taken: the start of a window or segment,
// or the time in a log.
type booked struct {
	request
	charged, at int64
	more        []entry // by extensions, oldest first
}

// limits are those that were asked.
func (v *reservation) limits() (all []request) {
	for _, p := range v.parts {
		all = append(all, p.request)
	}
	return all
}

func (v *reservation) live(now int64) bool { return now < v.end }

func (v *reservation) look(now int64) (l limit, remaining, reset int64) {
	return limit{algorithm: reserved}, 0, v.end - now
}

func (v *reservation) refund(int64, int64) state { return v }

func (v *reservation) boundaries() []int64 { return []int64{v.end} }

const reserved = "reservation"

const (
	noDuration   = refusal("ERR AS: needs FOR and the duration for which the request is remembered")
	emptyID      = refusal("ERR AS: the id must not be empty")
	noID         = refusal("ERR FOR: needs AS and an id")
	otherRequest = refusal("ERR AS: the id was used for a request with other parameters; nothing was taken")
	otherAmounts = refusal("ERR id: the request was already settled or canceled with other amounts; nothing was changed")
)

// checkReserve returns an error if only one of AS and FOR was given.
func (r *request) checkReserve() error {
	switch {
	case r.id == nil && r.length != 0:
		return noID
	case r.id != nil && r.length == 0:
		return noDuration
	}
	return nil
}

// describe is a request with an id, the same for every way to write it.
func describe(name string, call *request, limits []request) string {
	words := []string{fmt.Sprintf("%q %d", name, call.length), call.describe()}
	for i := range limits {
		words = append(words, limits[i].describe())
	}
	return strings.Join(words, "; ")
}

func (r *request) describe() string {
	keep := "none"
	if r.keep != nil {
		keep = r.keep.String()
	}
	return fmt.Sprintf("%q %+v %d %q %t %t %t %t %d %d %t %s %q", r.key, r.limit, r.tokens, r.holder, r.upTo, r.force, r.spread, r.isElse, r.expires, r.wait, r.cost, keep, r.fields)
}

// reservedAs is the reservation under the id of a call, nil for a new id.
func (m *Model) reservedAs(call *request) (*reservation, error) {
	switch v := m.held(*call.id).(type) {
	case nil:
		return nil, nil
	case *reservation:
		if v.asked != call.asked {
			return nil, otherRequest
		}
		return v, nil
	default:
		return nil, noReservation(v)
	}
}

func noReservation(s state) error {
	return refuse("WRONGTYPE the key holds a %s, this command needs a reservation", algorithmOf(s))
}

// reserve decides a request for one limit that has an id.
func (m *Model) reserve(name string, r request) (string, error) {
	call := request{tokens: r.tokens, wait: r.wait, id: r.id, length: r.length, single: true, asked: describe(name, &r, nil)}
	o, err := m.decideAll([]request{r}, &call)
	if err != nil {
		return "", err
	}
	a := o.parts[0]
	a.warn = r.limit.warn
	return integers(a.withWarn(o.tokens, a.limit, a.remaining, millis(o.wait), millis(a.reset))...), nil
}

// checkLimiter returns an error if a state is no limiter's.
func checkLimiter(s state) error {
	if _, is := s.(*reservation); is {
		return refuse("WRONGTYPE the key holds a reservation, this command needs a limiter: choose another key, or DEL this one")
	}
	if d, is := s.(*datum); is {
		return refuse("WRONGTYPE the key holds a %s, this command needs a limiter: choose another key, or DEL this one", d.kind())
	}
	return nil
}

// repeat answers a call as before, with the present state of its limits.
func (m *Model) repeat(v *reservation) *outcome {
	o := &outcome{tokens: v.tokens, binding: -1, wait: v.wait}
	for i := range v.parts {
		p, a := &v.parts[i], answer{}
		if held := m.held(p.key); held == nil || algorithmOf(held) == p.limit.algorithm {
			a = untouched(held, &p.request, m.Now)
		}
		a.warn, a.taken = p.limit.warn, p.charged
		o.parts = append(o.parts, a)
	}
	return o
}

// remember keeps a grant under the id of its call.
func (m *Model) remember(call *request, o *outcome, limits []request, next []state) {
	v := &reservation{asked: call.asked, tokens: o.tokens, total: o.tokens, wait: o.wait, end: m.Now + call.length}
	if call.undelayed {
		v.wait = 0
	}
	for i := range limits {
		p := booked{request: limits[i], charged: o.parts[i].tokens, at: markOf(next[i])}
		if p.expires != 0 { // a payment has taken nothing
			p.charged, v.settled = 0, true
		}
		reserveIn(next[i], p.charged)
		v.parts = append(v.parts, p)
	}
	m.keep(*call.id, v)
}

// markOf is where the last tokens were taken: the start of a window or segment, or the time in a log.
func markOf(s state) int64 {
	taken, _ := withoutLoans(s)
	switch s := taken.(type) {
	case *fixed:
		return s.start
	case *sliding:
		return s.start
	case *segments:
		at := s.grants[len(s.grants)-1].at
		return at - at%s.limit.segment()
	case *log:
		return s.entries[len(s.entries)-1].at
	case *credits:
		return s.last
	}
	return 0
}

// reserveIn says of tokens that a window with a history has just granted that they are reserved.
func reserveIn(s state, tokens int64) {
	taken, _ := withoutLoans(s)
	if f, is := taken.(*fixed); is && f.limit.history > 0 {
		f.reserved = min(f.reserved+tokens, f.count)
	}
}
