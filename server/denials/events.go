// Package denials writes some of the denials to the log, at most so many in a second.
package denials

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// Events writes denials to a log. The zero value writes none until Log is set. Its methods may be called from any
// goroutine.
type Events struct {
	Log *slog.Logger

	next             atomic.Int64 // clock: when the next one may be written
	written, leftOut atomic.Int64
	unreported       atomic.Int64 // left out since the last one
}

// Event is a denial. Its fields are attributes of a line of the log, with the names that gateways use.
type Event struct {
	Command    string // such as TB.ACQUIRE
	RejectedBy string // the policy, with the position of the limit if it has several; otherwise the algorithm
	Policy     string // "" if there is none
	Key        string // as --top-keys shows keys; "" if it does not
	Limit      int64
	Remaining  int64
	Tokens     int64 // that were asked for
	WaitMillis int64 // until the request would be granted, -1 for never
}

// Due reports whether a denial now is to be written. It spreads the events over each second, so that one burst does not
// use them up, and counts the other denials. perSecond is above 0.
func (e *Events) Due(now int64, perSecond int) bool {
	for {
		next := e.next.Load()
		// A clock that was set back does not silence the events.
		if now < next && next-now <= int64(time.Second) {
			e.leftOut.Add(1)
			e.unreported.Add(1)
			return false
		}
		if e.next.CompareAndSwap(next, now+int64(time.Second)/int64(perSecond)) {
			return true
		}
	}
}

// Write writes a denial that was due, with the number of denials that were left out since the last one.
func (e *Events) Write(d *Event) {
	e.written.Add(1)
	attributes := []any{"rate_limit.decision", "denied", "rate_limit.rejected_by", d.RejectedBy, "rate_limit.command", d.Command}
	if d.Policy != "" {
		attributes = append(attributes, "rate_limit.policy", d.Policy)
	}
	if d.Key != "" {
		attributes = append(attributes, "rate_limit.key", d.Key)
	}
	attributes = append(attributes, "rate_limit.limit", d.Limit, "rate_limit.remaining", d.Remaining, "rate_limit.tokens", d.Tokens, "rate_limit.wait_ms", d.WaitMillis,
		"rate_limit.left_out", e.unreported.Swap(0))
	e.Log.Info("denied", attributes...)
}

// Counts returns the numbers of denials written, and of those left out, since the start.
func (e *Events) Counts() (written, leftOut int64) { return e.written.Load(), e.leftOut.Load() }
