package testmodel

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
)

// loan is tokens that are set aside for a holder, until an end unless that is 0. The number is that of the last
// operation on it.
type loan struct {
	holder string
	tokens int64
	number int64
	end    int64
}

// lent is the state of a limiter with loans, in the order in which they were made.
type lent struct {
	limit limit
	inner state // without the loans; nil if nothing is taken
	all   []loan
}

func (s *lent) sum() (tokens int64) {
	for _, l := range s.all {
		tokens += l.tokens
	}
	return tokens
}

// ends are the loans that end, the first one first.
func (s *lent) ends() (all []loan) {
	for _, l := range s.all {
		if l.end != 0 {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(a, b loan) int { return cmp.Compare(a.end, b.end) })
	return all
}

// undated are the tokens of loans that do not end: they count as spent now.
func (r *request) undated() int64 { return r.lent - tokensOf(r.ends) }

func tokensOf(all []loan) (tokens int64) {
	for _, l := range all {
		tokens += l.tokens
	}
	return tokens
}

// meterWait is the time until there are tokens for a denied request, if nobody else comes: a loan that ends is spent
// then.
func (r *request) meterWait(now int64, taken, most *big.Rat) int64 {
	taken, at, least := plus(taken, ratio(r.undated())), now, ratio(r.least())
	for ends := r.ends; ; ends = ends[1:] {
		need := plus(least, ratio(tokensOf(ends)))
		// A queue may have room now and deny all the same: a time below zero must not be read as never.
		wait := at - now + min(max(0, up(r.limit.fill(minus(plus(taken, need), most)))), math.MaxInt64-(at-now))
		if len(ends) == 0 || need.Cmp(most) <= 0 && wait <= ends[0].end-now {
			return wait
		}
		if taken = minus(taken, times(ratio(ends[0].end-at), r.limit.rate.perNano())); taken.Sign() < 0 {
			taken = ratio(0)
		}
		taken, at = plus(taken, ratio(ends[0].tokens)), ends[0].end
	}
}

// windowWait is meterWait for a fixed window.
func (r *request) windowWait(now int64, f *fixed) int64 {
	count, over := f.count+r.undated(), f.end // when the window is over
	if count == 0 {
		over = now // there is none
	}
	for i, l := range r.ends {
		if set := tokensOf(r.ends[i:]); over > now && over < l.end && r.least()+set <= r.open() {
			return over - now
		}
		if l.end >= over {
			_, over = r.limit.windowAt(l.end)
			count = 0
		}
		if count += l.tokens; r.least()+count+tokensOf(r.ends[i+1:]) <= r.open() {
			return l.end - now
		}
	}
	return over - now
}

// at is the state at a time, nil if it has expired. Loans that have ended were spent at their end.
func (s *lent) at(now int64) state {
	next := &lent{s.limit, s.inner, nil}
	ends := slices.Clone(s.all)
	slices.SortStableFunc(ends, func(a, b loan) int { return cmp.Compare(a.end, b.end) })
	for _, l := range ends {
		if l.end != 0 && l.end <= now {
			next.inner = s.limit.charge(next.inner, l.end, l.tokens)
		}
	}
	for _, l := range s.all {
		if l.end == 0 || l.end > now {
			next.all = append(next.all, l)
		}
	}
	if f, ok := next.inner.(*fixed); ok {
		f = f.lending(len(next.all) > 0)
		if next.inner = nil; f.live(now) {
			next.inner = f.at(now)
		}
	}
	if next.inner != nil && !next.inner.live(now) {
		next.inner = nil
	}
	if len(next.all) == 0 {
		return next.inner
	}
	return next
}

// charge takes tokens from a limiter at a time, whether it has them or not.
func (l limit) charge(held state, at, tokens int64) state {
	if l.algorithm == fixedWindow {
		f, ok := held.(*fixed)
		if ok {
			f = f.lending(true).at(at)
		}
		start, end := l.windowAt(at)
		if f == nil {
			f = &fixed{limit: l}
		}
		if f.count > 0 || f.warned {
			start, end = f.start, f.end
		}
		return &fixed{l, min(f.count+tokens, 3*mostTokens), start, end, f.warned, true, f.record}
	}
	taken := ratio(tokens)
	if m, ok := held.(*meter); ok {
		taken = plus(taken, m.level(at))
	}
	if most := times(ratio(150*year), l.rate.perNano()); taken.Cmp(most) > 0 {
		taken = most
	}
	return &meter{l, taken, at}
}

// lending is a window of which tokens are set aside for holders, or no longer.
func (f *fixed) lending(is bool) *fixed {
	next := *f
	next.isLent = is
	return &next
}

// with is the limiter with another state, under the limit of that.
func (s *lent) with(inner state) state {
	l := s.limit
	switch inner := inner.(type) {
	case *fixed:
		l = inner.limit
	case *meter:
		l = inner.limit
	}
	return &lent{l, inner, s.all}
}

// withoutLoans are a limiter's state without its loans, and their tokens.
func withoutLoans(held state) (inner state, tokens int64) {
	if s, ok := held.(*lent); ok {
		return s.inner, s.sum()
	}
	return held, 0
}

func (s *lent) live(now int64) bool { return s.at(now) != nil }

func (s *lent) look(now int64) (l limit, remaining, reset int64) {
	l, remaining = s.limit, s.limit.most
	if s.inner != nil {
		_, remaining, reset = s.inner.look(now)
	}
	return l, remaining - s.sum(), reset
}

func (s *lent) refund(now, tokens int64) state {
	if s.inner == nil {
		return s
	}
	inner := s.inner.refund(now, tokens)
	if !inner.live(now) {
		inner = nil
	}
	return &lent{s.limit, inner, s.all}
}

func (s *lent) boundaries() (times []int64) {
	if s.inner != nil {
		times = s.inner.boundaries()
	}
	for _, l := range s.all {
		if l.end != 0 {
			times = append(times, l.end)
		}
	}
	return times
}

// most is the limit, with what was rolled over to a window while nothing is lent.
func (s *lent) most(now int64) int64 {
	if f, ok := s.inner.(*fixed); ok && len(s.all) == 0 {
		l, _, _ := f.lending(false).look(now)
		return l.most
	}
	return s.limit.most
}

// free is the number of tokens that a limiter under its limit has for anybody.
func (s *lent) free(now int64) int64 {
	used := new(big.Rat)
	switch inner := s.inner.(type) {
	case *fixed:
		used = ratio(inner.count)
	case *meter:
		used = inner.level(now)
	}
	return max(0, down(minus(ratio(s.most(now)-s.sum()), used)))
}

// loanCall is an operation on a holder's loan.
type loanCall struct {
	request
	number, previous int64
}

// readLoan reads a holder, a number and the previous one.
func (c *loanCall) readLoan(words []string) (err error) {
	if c.holder = words[0]; c.holder == "" || len(c.holder) > 255 {
		return refuse("ERR holder: must be 1 to 255 bytes, got %d", len(c.holder))
	}
	for _, prefix := range []string{"node/", "group/"} {
		if strings.HasPrefix(c.holder, prefix) {
			return refuse("ERR holder: names that begin with %s are reserved for a cluster's nodes and groups", prefix)
		}
	}
	if c.number, err = between("number", words[1], 1, math.MaxInt64); err != nil {
		return err
	}
	if c.previous, err = between("previous", words[2], 0, math.MaxInt64); err == nil && c.number == c.previous {
		err = argument("number", "must be another than previous", words[1])
	}
	return err
}
