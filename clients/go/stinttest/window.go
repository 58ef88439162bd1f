package stinttest

import (
	"math/big"
	"strings"
	"time"
)

// window is the state of a fixed window, and of those that are over.
type window struct {
	start, end, taken int64
	reserved          int64 // by requests with an ID that are not settled, of those taken
	hasWarned         bool
	closed            []past // the newest first
}

// past is a window that is over, in which something was taken.
type past struct{ start, end, taken, reserved int64 }

// present is the window that holds a time, with the tokens taken in it.
func (l limit) present(state any, now int64) window {
	w, _ := state.(window)
	start, end := l.span(now)
	if w.end <= now {
		if w.taken > 0 {
			w.closed = append([]past{{w.start, w.end, w.taken, w.reserved}}, w.closed...)
		}
		w = window{start: start, end: end, closed: w.closed}
	}
	if w.taken == 0 && !w.isKept(l) {
		w.start, w.end = start, end
	}
	w.closed = w.closed[:min(len(w.closed), int(l.history))]
	return w
}

// isKept reports whether the window counts although all tokens went back: one of the clock that has warned.
func (w window) isKept(l limit) bool { return w.hasWarned && strings.HasPrefix(l.window, "@") }

// counts reports whether the state differs from that of a new key.
func (w window) counts(l limit, now int64) bool {
	if now < w.end && (w.taken > 0 || w.isKept(l)) {
		return true
	}
	last := w.end
	if w.taken == 0 {
		if last = 0; len(w.closed) > 0 {
			last = w.closed[0].end
		}
	}
	return l.history > 0 && now < last+l.history*l.longest()
}

// change changes the tokens of the window with an end, which may be over.
func (w window) change(end int64, change func(taken, reserved *int64)) window {
	if w.end == end {
		change(&w.taken, &w.reserved)
		return w
	}
	var closed []past
	for _, p := range w.closed {
		if p.end == end {
			change(&p.taken, &p.reserved)
		}
		if p.taken > 0 {
			closed = append(closed, p)
		}
	}
	w.closed = closed
	return w
}

// longest is the longest that a window can be.
func (l limit) longest() int64 {
	const day = 25 * time.Hour
	if longest, is := map[string]time.Duration{"@day": day, "@week": 7 * day, "@month": 31 * day, "@quarter": 92 * day, "@year": 366 * day}[l.window]; is {
		return int64(longest)
	}
	return l.period
}

func (l limit) decideWindow(state any, now int64, a ask) decision {
	w := l.present(state, now)
	n, reset := a.number(l.tokens-w.taken), new(big.Rat)
	if w.taken > 0 {
		reset = whole(w.end - now)
	}
	if a.option != "FORCE" && w.taken+n > l.tokens {
		wait := reset
		if n > l.tokens {
			wait = never
		}
		return decision{remaining: l.tokens - w.taken, wait: wait, reset: reset, state: state}
	}
	w.taken += n
	w.hasWarned = w.hasWarned || l.warn > 0 && w.taken >= l.warnAt()
	return decision{granted: n, remaining: l.tokens - w.taken, wait: new(big.Rat), reset: whole(w.end - now), state: w}
}
