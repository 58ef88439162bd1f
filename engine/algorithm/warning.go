package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// A limit with [limits.Limit.Warn] gives one warning in each window. That it was given is a bit of the state, see
// [layout.WarnedBit]. All other algorithms have no windows: they may warn again once less than half of the threshold
// was used.
//
// Tokens of loans count once they are charged.

const meterWarnedAt = layout.MeterBytes - 1

// Rearms reports whether the limiter has warned and may warn again. It is asked before the decision is written.
func (c *Call) Rearms() bool {
	row := &Table[c.Prev.Algorithm]
	return !c.IsNew && !c.Wrapped && row.Used != nil && c.State[row.WarnedAt]&layout.WarnedBit != 0 && row.isRearmed(c.State, &c.Prev, c.Now)
}

// Warns marks the new state of the limiter, and reports whether its use has reached the threshold since it was last
// marked. With again an earlier mark does not count.
func (c *Call) Warns(state []byte, again bool) bool {
	row := &Table[c.Limit.Algorithm]
	if row.Used == nil || c.Op.Verb == engine.Refund {
		return false
	}
	mark := &state[row.WarnedAt]
	if again {
		*mark &^= layout.WarnedBit
	}
	present := presentLimit(c, state)
	if *mark&layout.WarnedBit != 0 || row.Used(state, &c.Limit, c.Now) < present.WarnAt() {
		return false
	}
	*mark |= layout.WarnedBit
	return true
}

// Warning describes the warning that the limiter gives, whose new state this is.
func (c *Call) Warning(state []byte) engine.Warning {
	row := &Table[c.Limit.Algorithm]
	w := engine.Warning{Key: c.Op.Key, Limit: presentLimit(c, state), Used: row.Used(state, &c.Limit, c.Now), At: c.Now}
	if row.Window != nil {
		w.Start, w.End = row.Window(state, &c.Limit)
	}
	return w
}

// presentLimit is the limit of the call, of a window with what was rolled over to it.
func presentLimit(c *Call, state []byte) limits.Limit {
	l := c.Limit
	if l.Rollover > 0 {
		l.Capacity += rolledOver(c, &l, LoadWindow(state).start)
	}
	return l
}

// isRearmed reports whether a limiter without windows is used to less than half of its threshold.
func (a *Row) isRearmed(state []byte, l *limits.Limit, now int64) bool {
	return a.Window == nil && 2*a.Used(state, l, now) < l.WarnAt()
}

// rearm takes the mark from a wrapped state if it may warn again.
func (a *Row) rearm(state []byte, l *limits.Limit, now int64) {
	if l.Warn != 0 && a.isRearmed(state, l, now) {
		state[a.WarnedAt] &^= layout.WarnedBit
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
