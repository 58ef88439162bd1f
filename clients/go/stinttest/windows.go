package stinttest

import (
	"maps"
	"math/big"
	"slices"
)

// window is the state of a fixed window: its end, the tokens taken in it, and the last window before it with usage.
type window struct {
	end, taken int64
	before     closed
}

// closed is a window that is over: its end, and the tokens that it had left.
type closed struct{ end, left int64 }

// windowAt is the window of a time, given the state of a key.
func (l limit) windowAt(w window, now int64) window {
	if w.end > now && w.taken != 0 {
		return w
	}
	return l.after(w, l.windowEnd(now))
}

// after is the window with an end that follows another one.
func (l limit) after(w window, end int64) window {
	if w.taken != 0 && l.rollover > 0 {
		w.before = closed{w.end, l.tokens + l.rolledOver(w) - w.taken}
	}
	return window{end: end, before: w.before}
}

// rolledOver is the tokens that a window has beside its limit. After one window without usage they are the most that
// may roll over, and after two none.
func (l limit) rolledOver(w window) int64 {
	most := l.tokens * l.rollover / 100
	switch {
	case most == 0 || w.before.end == 0:
		return 0
	case l.windowEnd(w.before.end) == w.end:
		return min(max(0, w.before.left), most)
	case l.windowEnd(l.windowEnd(w.before.end)) == w.end:
		return most
	}
	return 0
}

func (l limit) decideWindow(state any, now int64, a ask) decision {
	w, _ := state.(window)
	w = l.windowAt(w, now)
	tokens := l.tokens + l.rolledOver(w)
	n, reset := a.number(tokens-w.taken), new(big.Rat)
	if w.taken > 0 {
		reset = whole(w.end - now)
	}
	if a.option != "FORCE" && w.taken+n > tokens {
		return decision{limit: tokens, remaining: tokens - w.taken, wait: l.windowWait(w, now, n), reset: reset, state: state}
	}
	w.taken += n
	return decision{granted: n, limit: tokens, remaining: tokens - w.taken, wait: new(big.Rat), reset: whole(w.end - now), state: w}
}

// windowWait is the time until n tokens fit the next window, or the one after it, to which more may roll over.
func (l limit) windowWait(w window, now, n int64) *big.Rat {
	for range 2 {
		begin := w.end
		if w = l.after(w, l.windowEnd(begin)); n <= l.tokens+l.rolledOver(w) {
			return whole(begin - now)
		}
	}
	return never
}

// segments is the state of a sliding window in segments: the tokens taken in each, by its number since the Unix epoch.
type segments map[int64]int64

func (l limit) decideSegments(state any, now int64, a ask) decision {
	held, _ := state.(segments)
	width, counts, taken := (l.period+l.segments-1)/l.segments, segments{}, int64(0)
	for number, n := range held {
		if number >= now/width-l.segments && n > 0 {
			counts[number], taken = n, taken+n
		}
	}
	until := func(most int64) *big.Rat { // at most so many count
		left := taken
		for _, number := range slices.Sorted(maps.Keys(counts)) {
			if left -= counts[number]; left <= most {
				return whole((number+l.segments+1)*width - now)
			}
		}
		return new(big.Rat)
	}
	n := a.number(l.tokens - taken)
	d := decision{limit: l.tokens, remaining: l.tokens - taken, wait: new(big.Rat), reset: until(0), state: state}
	switch {
	case a.option != "FORCE" && n > l.tokens:
		d.wait = never
	case a.option != "FORCE" && n > d.remaining:
		d.wait = until(l.tokens - n)
	default:
		counts[now/width] += n
		taken += n
		d.granted, d.remaining, d.reset, d.state = n, l.tokens-taken, until(0), counts
	}
	return d
}

// without is the segments without some tokens, those that were taken last.
func (s segments) without(tokens int64) segments {
	s = maps.Clone(s)
	for _, number := range slices.Backward(slices.Sorted(maps.Keys(s))) {
		n := min(tokens, s[number])
		s[number] -= n
		tokens -= n
	}
	return s
}
