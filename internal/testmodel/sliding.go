package testmodel

import "math/big"

// sliding is the state of a sliding window counter: the counts of the clock's window that begins at start, and of the
// previous window.
type sliding struct {
	limit    limit
	start    int64
	cur, pre int64
	warned   bool // in the present window
}

// at returns the two counts at a time.
func (s *sliding) at(now int64) *sliding {
	next := *s
	length := s.limit.length
	next.start = now - now%length
	switch next.start - s.start {
	case 0:
	case length:
		next.cur, next.pre, next.warned = 0, s.cur, false
	default:
		next.cur, next.pre, next.warned = 0, 0, false
	}
	return &next
}

// estimate is the estimated number of tokens in the last window of time.
func (s *sliding) estimate(now int64) *big.Rat {
	length := s.limit.length
	share := big.NewRat(length-(now-s.start), length)
	return plus(ratio(s.cur), times(ratio(s.pre), share))
}

// full is the time until neither window counts.
func (s *sliding) full(now int64) int64 {
	switch {
	case s.cur > 0:
		return s.start + 2*s.limit.length - now
	case s.pre > 0:
		return s.start + s.limit.length - now
	}
	return 0
}

func (s *sliding) live(now int64) bool { n := s.at(now); return n.cur > 0 || n.pre > 0 || n.warned }

func (s *sliding) look(now int64) (l limit, remaining, reset int64) {
	n := s.at(now)
	return s.limit, down(minus(ratio(s.limit.most), n.estimate(now))), n.full(now)
}

// refund takes from the present count first. The taken tokens, rounded up, fall by the refunded number.
func (s *sliding) refund(now, tokens int64) state {
	n := s.at(now)
	want := max(0, up(n.estimate(now))-tokens)
	n.cur = max(0, n.cur-tokens)
	if up(n.estimate(now)) > want {
		share := big.NewRat(s.limit.length-(now-n.start), s.limit.length)
		n.pre = down(times(ratio(want-n.cur), new(big.Rat).Inv(share)))
	}
	return n
}

func (s *sliding) boundaries() []int64 {
	return []int64{s.start + s.limit.length, s.start + 2*s.limit.length}
}

// slidingUnder returns the two counts for a limit. With another length of window, the estimated tokens count as granted
// now.
func slidingUnder(held state, l limit, now int64) *sliding {
	next := &sliding{limit: l, start: now - now%l.length}
	s, ok := held.(*sliding)
	if !ok {
		return next
	}
	s = s.at(now)
	if s.limit.length == l.length {
		next.cur, next.pre, next.warned = s.cur, s.pre, s.warned
	} else {
		next.cur = up(s.estimate(now))
	}
	return next
}

func decideSliding(held state, r *request, now int64, a answer) (answer, state, error) {
	s := slidingUnder(held, r.limit, now)
	used := up(s.estimate(now))
	if _, err := a.count(r, used); err != nil {
		return a, nil, err
	}
	if !a.granted {
		a.reset = s.full(now)
		if a.wait = never; !r.hopeless() {
			a.wait = s.wait(now, r.open(), r.least())
		}
		return a, nil, nil
	}
	s.cur += a.tokens
	a.reset = s.full(now)
	return a, s, nil
}

// wait is the time until the estimate leaves room for n tokens.
func (s *sliding) wait(now, most, n int64) int64 {
	length := s.limit.length
	// In this window the previous one fades; in the next one this one does.
	if room := most - s.cur - n; room >= 0 {
		return s.fades(s.pre, room) - (now - s.start)
	}
	return length - (now - s.start) + s.fades(s.cur, most-n)
}

// fades is the time into a window at which at most room is left of the previous window's count.
func (s *sliding) fades(count, room int64) int64 {
	if count <= room {
		return 0
	}
	left := down(times(ratio(room), big.NewRat(s.limit.length, count)))
	return s.limit.length - left
}
