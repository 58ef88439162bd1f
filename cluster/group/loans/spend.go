package loans

import (
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
)

// Others has tokens besides those held here.
type Others interface {
	// TakeOthers answers a request for several limits, but for the parts in held, all or nothing. It returns the parts for
	// which there are too few tokens there too.
	TakeOthers(held engine.PartSet) (missing engine.PartSet)
}

// Spend answers a request for one key, or a peek, from the tokens held. If it does not, held says whether the key is
// held, or was a moment ago.
func (h *Holder) Spend(at clock.Reading, op *engine.Op, res *engine.Result) (done, held bool) {
	done, held, due := h.Table.Spend(at.Mono, at.Cluster, op, res)
	if due != nil {
		h.send([]*purses.Operation{due})
	}
	return done, held
}

// SpendAll answers a request for several limits from the tokens held, all or nothing, and fills in res.Parts. Tokens
// that are not held are taken from others, if that is not nil.
func (h *Holder) SpendAll(
	at clock.Reading, parts []engine.Op, peek bool, res *engine.Result, others Others,
) (done bool) {
	var take func(held engine.PartSet) (missing engine.PartSet)
	if others != nil {
		take = others.TakeOthers
	}
	done, due := h.Table.SpendAll(at.Mono, at.Cluster, parts, peek, res, take)
	if len(due) > 0 {
		h.send(due)
	}
	return done
}

// Refund gives tokens back to those held, if as many were spent that the log does not know of.
func (h *Holder) Refund(at clock.Reading, op *engine.Op, res *engine.Result) (done bool) {
	return h.Table.Refund(at.Cluster, op, res)
}

// Wait makes a call wait for tokens of its key, or returns false. mono is the time on the monotonic clock.
func (h *Holder) Wait(mono time.Duration, w *purses.Waiter) (waits bool) {
	waits, due := h.Table.Wait(mono, w)
	h.sendLater(due)
	return waits
}

// Ask asks for tokens of a key that is held, if they are due.
func (h *Holder) Ask(mono time.Duration, op *engine.Op) { h.sendLater(h.Table.Due(mono, op)) }

// CountDenial counts a denial by this node's own state as a decision from the tokens held.
func (h *Holder) CountDenial() { h.Table.Decisions.Add(1) }
