package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// unwrap fills c from a state that wraps the state of a limiter. Loans whose time is over are charged at their ends,
// and a window that is over is closed.
func (c *Call) unwrap(limit *limits.Limit, state []byte) {
	if c.Loans == nil {
		c.Loans = new(layout.Loans)
	}
	base := &Table[limit.Algorithm.Base()]
	under := *limit
	under.Algorithm = limit.Algorithm.Base()
	c.Around = limit.Algorithm
	c.History, _ = c.Loans.Read(state) // it was checked when it came in
	c.Inner = [layout.MaxLentState]byte(state[layout.WrappedAt:layout.WrappingHead])
	base.rearm(c.Inner[:base.Bytes], &under, c.Now)
	c.closed = c.History.Own(c.closed)
	c.Loans.End(c.Now, func(at, tokens int64) {
		c.closeWindow(&under, at)
		base.Charge(c.Inner[:], &under, at, tokens)
	})
	if len(c.Loans.All) == 0 && base.Expired(c.Inner[:], &under, c.Now) && c.Now >= forgottenAt(c.Inner[:], &under, &c.History) {
		return // as if there were no record: a replica may have dropped it
	}
	c.closeWindow(&under, c.Now)
	c.Lent, c.Wrapped = c.Loans.Sum(), true
	c.Prev, c.State, c.IsNew = under, c.Inner[:base.Bytes], false
}

// closeWindow puts the open window among the closed ones if it is over at a time, or forgets them all. Loans outlive
// windows, so one that is over must not stay: a History that begins later would count it.
func (c *Call) closeWindow(l *limits.Limit, at int64) {
	if l.Algorithm != limits.FixedWindow || !windowExpired(c.Inner[:], l, at) {
		return
	}
	if at >= forgottenAt(c.Inner[:], l, &c.History) {
		c.History.Clear()
	} else {
		w, left := LoadWindow(c.Inner[:]), int64(0)
		if l.Rollover > 0 { // without it, the next state would not keep what is left
			left = l.Capacity + leftTo(c, l, w.start) - w.Count
		}
		c.History.Close(w.start, w.end, w.Count, left, l.History)
	}
	clear(c.Inner[:])
}

// forgottenAt is the time from which nothing of a limit's History counts.
func forgottenAt(inner []byte, l *limits.Limit, h *layout.History) int64 {
	if l.History == 0 {
		return 0
	}
	if w := LoadWindow(inner); w.Count > 0 {
		return w.end + l.Remembered()
	}
	return h.LastEnd() + l.Remembered()
}

// Wrap has the call keep loans and closed windows, of which there are none so far, beside its state.
func (c *Call) Wrap() {
	if c.Wrapped {
		return
	}
	if c.Loans == nil {
		c.Loans = new(layout.Loans)
	}
	c.Wrapped, c.Around, c.Loans.All = true, limits.NoAlgorithm, c.Loans.All[:0]
	c.History.Clear()
}

// WrappedState is the whole state of the limiter of c, whose own state is inner, and the limit that it is kept under. A
// limit whose closed windows are not kept any longer, and of which nothing is lent, is not wrapped.
func (c *Call) WrappedState(inner []byte) (limits.Limit, []byte) {
	c.Wrap()
	limit := c.Limit
	if limit.History > 0 {
		c.noteUsage(inner)
	}
	c.History.Roll(limit.Rollover > 0)
	switch isLent := len(c.Loans.All) > 0 || c.Around.IsLent(); {
	case limit.History > 0 && !isLent:
		limit.Algorithm = limits.HistoryFixedWindow
	case c.DropsHistory():
		return limit, inner
	default:
		limit.Algorithm = limit.Algorithm.Lent()
	}
	c.raw = c.Loans.AppendTo(c.raw[:0], inner, &c.History, limit.History)
	return limit, c.raw
}

// DropsHistory reports whether the limiter has closed windows, and needs no wrapping any longer.
func (c *Call) DropsHistory() bool {
	return c.Wrapped && c.Limit.History == 0 && c.Around == limits.HistoryFixedWindow && len(c.Loans.All) == 0
}

// WrappedBytes is the size of a WrappedState, if the loans stay.
func (c *Call) WrappedBytes() int {
	size := layout.WrappingHead + layout.HistoryBytes(c.Limit.History, c.Limit.Rollover > 0)
	if c.Lent > 0 {
		size = len(c.Loans.AppendTo(nil, nil, &c.History, c.Limit.History))
	}
	return engine.Align(size)
}

// noteUsage brings the History up to the next state of a window.
func (c *Call) noteUsage(inner []byte) {
	if w := LoadWindow(c.State); !c.IsNew && w.Count > 0 && w.isCutShort(c) {
		c.History.Close(w.start, w.start+c.Limit.Rate.Period, w.Count, 0, c.Limit.History)
	}
	c.History.Reserved = min(c.History.Reserved+c.Reserved, LoadWindow(inner).Count)
	c.Reserved = 0
}
