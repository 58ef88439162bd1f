package testmodel

import (
	"slices"
	"strconv"
)

// segments is the state of a sliding window in segments: the grants, oldest first.
type segments struct {
	limit  limit
	grants []entry
}

// segment is the length of a segment, rounded up.
func (l limit) segment() int64 { return (l.length + l.segments - 1) / l.segments }

// segmentsUnder is what counts for a limit. Grants in a segment of another length count as if made at its end.
func segmentsUnder(held state, l limit, now int64) *segments {
	next := &segments{limit: l}
	s, ok := held.(*segments)
	if !ok {
		return next
	}
	was, length := s.limit.segment(), l.segment()
	for _, g := range s.grants {
		if g.at/was >= now/was-s.limit.segments {
			if was != length {
				g.at = min(now, g.at-g.at%was+was-1)
			}
			if g.at/length >= now/length-l.segments {
				next.grants = append(next.grants, g)
			}
		}
	}
	return next
}

func (s *segments) used() (tokens int64) {
	for _, g := range s.grants {
		tokens += g.tokens
	}
	return tokens
}

// leaves is when a grant no longer counts.
func (s *segments) leaves(g entry) int64 {
	length := s.limit.segment()
	return (g.at/length + s.limit.segments + 1) * length
}

func (s *segments) reset(now int64) int64 {
	if len(s.grants) == 0 {
		return 0
	}
	return s.leaves(s.grants[len(s.grants)-1]) - now
}

func (s *segments) live(now int64) bool { return segmentsUnder(s, s.limit, now).used() > 0 }

func (s *segments) look(now int64) (l limit, remaining, reset int64) {
	n := segmentsUnder(s, s.limit, now)
	return s.limit, s.limit.most - n.used(), n.reset(now)
}

// refund takes from the newest.
func (s *segments) refund(now, tokens int64) state {
	n := segmentsUnder(s, s.limit, now)
	for i := len(n.grants) - 1; i >= 0; i-- {
		tokens -= n.takeFrom(i, tokens)
	}
	return n.withoutEmpty()
}

// giveBack returns tokens to the segment that a time is in.
func (s *segments) giveBack(now, at, tokens int64) state {
	n := segmentsUnder(s, s.limit, now)
	for i, g := range n.grants {
		if length := s.limit.segment(); g.at/length == at/length {
			tokens -= n.takeFrom(i, max(0, tokens))
		}
	}
	return n.withoutEmpty()
}

func (s *segments) takeFrom(i int, tokens int64) int64 {
	taken := min(tokens, s.grants[i].tokens)
	s.grants[i].tokens -= taken
	return taken
}

func (s *segments) withoutEmpty() state {
	s.grants = slices.DeleteFunc(s.grants, func(g entry) bool { return g.tokens == 0 })
	return s
}

func (s *segments) boundaries() (times []int64) {
	for _, g := range s.grants {
		times = append(times, s.leaves(g))
	}
	return times
}

func decideSegments(held state, r *request, now int64, a answer) (answer, state, error) {
	s := segmentsUnder(held, r.limit, now)
	used := s.used()
	if _, err := a.count(r, used); err != nil {
		return a, nil, err
	}
	if !a.granted {
		a.reset = s.reset(now)
		if a.wait = never; !r.hopeless() {
			for _, g := range s.grants {
				if used -= g.tokens; used+r.least() <= r.open() {
					a.wait = s.leaves(g) - now
					break
				}
			}
		}
		return a, nil, nil
	}
	s.grants = append(s.grants, entry{now, a.tokens})
	a.reset = s.reset(now)
	return a, s, nil
}

// readSegments makes a sliding window one of segments.
func (l *limit) readSegments(text string) (err error) {
	if l.algorithm != slidingWindow && l.algorithm != slidingSegments {
		return refuse("ERR SEGMENTS: needs SW, got %s", formOf(l.algorithm).word)
	}
	l.algorithm = slidingSegments
	l.segments, err = between("SEGMENTS", text, 2, 120)
	return err
}

// randomSegments cuts some windows into segments, mostly the same ones into as many.
func randomSegments(c *Calls, f *form, limit []string) []string {
	if len(limit) == 0 {
		return nil
	}
	if f.algorithm != slidingWindow && !c.chance(80) {
		return nil
	}
	text, sum := limit[0]+limit[len(limit)-1], 0
	for i := range len(text) {
		sum += int(text[i])
	}
	n := []int{0, 6, 0, 20, 120, 2}[sum%6]
	if c.chance(10) {
		n = c.random.IntN(124)
	}
	if n == 0 {
		return nil
	}
	return []string{c.pick("SEGMENTS", "SEGMENTS", "segments"), strconv.Itoa(n)}
}
