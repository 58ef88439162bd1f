package forward

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// appendResults appends the results of a call. What would make the frame longer than the other node accepts is left
// out: lists and long replies first, and if there are none, the results themselves.
func (r *forwardedCall) appendResults(frame []byte, most int) []byte {
	start := len(frame)
	for i := range r.batch.Results {
		if frame = opcodec.AppendResult(frame, &r.batch.Results[i]); len(frame) > most {
			if !r.dropLong() {
				r.dropResults()
				most = math.MaxInt
			}
			return r.appendResults(frame[:start], most)
		}
	}
	for i := range r.batch.Results {
		r.batch.Results[i].Trim() // they are used again
	}
	return frame
}

// longReply is the size from which on a reply of a command or script is long.
const longReply = 16 << 10

// dropLong replaces lists by ListTooLong, and long replies by TooBig, or by Uncertain where something was changed. It
// reports whether there were any.
func (r *forwardedCall) dropLong() (dropped bool) {
	for i := range r.batch.Results {
		var status engine.Status
		res := &r.batch.Results[i]
		switch {
		case res.Leases != nil:
			status = engine.ListTooLong
		case len(res.Reply) >= longReply && res.Granted > 0:
			status = engine.Uncertain
		case len(res.Reply) >= longReply:
			status = engine.TooBig
		default:
			continue
		}
		*res, dropped = engine.Result{Status: status, Parts: res.Parts[:0]}, true
	}
	return dropped
}

// dropResults replaces the results by Uncertain.
func (r *forwardedCall) dropResults() {
	for i := range r.batch.Results {
		r.batch.Results[i] = engine.Result{Status: engine.Uncertain}
	}
}

// longBytes returns the size of the lists and long replies in an answer.
func (r *forwardedCall) longBytes() (bytes int) {
	for i := range r.batch.Results {
		if reply := len(r.batch.Results[i].Reply); reply >= longReply {
			bytes += reply
		}
		for _, l := range r.batch.Results[i].Leases {
			bytes += len(l.Holder) + leaseOverhead
		}
	}
	return bytes
}

// leaseOverhead is the approximate size of a lease in a list without its holder.
const leaseOverhead = 32
