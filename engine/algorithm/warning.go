package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// A limit with [limits.Limit.Warn] gives one warning in each window. That it was given is the highest bit of the last 8 bytes of the state, which no count
// and no fraction reaches. A bucket has no windows: it may warn again once it was used to less than half of the threshold.
//
// Tokens of loans count once they are charged.

// warnedAt is the place of that bit's byte in a meter.
const warnedAt = layout.MeterBytes - 1

// Warns marks the new state of the limiter, and reports whether its use has reached the threshold since it was last marked.
func (c *Call) Warns(state []byte) bool {
	row := &Table[c.Limit.Algorithm]
	if row.Used == nil || c.Op.Verb == engine.Refund {
		return false
	}
	last := &state[row.Bytes-1]
	if !c.Wrapped && *last&layout.WarnedBit != 0 && row.isRearmed(c.State, &c.Prev, c.Now) {
		*last &^= layout.WarnedBit
	}
	if *last&layout.WarnedBit != 0 || row.Used(state, &c.Limit, c.Now) < c.Limit.WarnAt() {
		return false
	}
	*last |= layout.WarnedBit
	return true
}

// Warning describes the warning that the limiter gives, whose new state this is.
func (c *Call) Warning(state []byte) engine.Warning {
	row := &Table[c.Limit.Algorithm]
	w := engine.Warning{Key: c.Op.Key, Limit: c.Limit, Used: row.Used(state, &c.Limit, c.Now), At: c.Now}
	if row.Window != nil {
		w.Start, w.End = row.Window(state, &c.Limit)
	}
	return w
}

// isRearmed reports whether a bucket is used to less than half of its threshold.
func (a *Row) isRearmed(state []byte, l *limits.Limit, now int64) bool {
	return a.Window == nil && 2*a.Used(state, l, now) < l.WarnAt()
}

// rearm takes the mark from a state if it may warn again.
func (a *Row) rearm(state []byte, l *limits.Limit, now int64) {
	if l.Warn != 0 && a.isRearmed(state, l, now) {
		state[a.Bytes-1] &^= layout.WarnedBit
	}
}

func usedOfMeter(state []byte, l *limits.Limit, now int64) int64 {
	return layout.LoadMeter(state).Taken(now, l.Rate).DivideUp(uint64(l.Rate.Period))
}

func usedOfWindow(state []byte, _ *limits.Limit, now int64) int64 { return LoadWindow(state).Count }

func spanOfWindow(state []byte, _ *limits.Limit) (start, end int64) {
	w := LoadWindow(state)
	return w.start, w.end
}

func usedOfSliding(state []byte, l *limits.Limit, now int64) int64 {
	width := l.Rate.Period
	return layout.LoadWindowPair(state).Taken(now, width).DivideUp(uint64(width))
}

func spanOfSliding(state []byte, l *limits.Limit) (start, end int64) {
	p := layout.LoadWindowPair(state)
	return p.Start, p.Start + l.Rate.Period
}
