package forward

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

// appendResults writes the results of a call. What would make the frame longer than the other node takes is left out: lists
// first, and if there are none, the results themselves.
func (r *forwardedCall) appendResults(frame []byte, most int) []byte {
	start := len(frame)
	for i := range r.batch.Results {
		if frame = opcodec.AppendResult(frame, &r.batch.Results[i]); len(frame) > most {
			if !r.dropLists() {
				r.dropResults()
				most = math.MaxInt
			}
			return r.appendResults(frame[:start], most)
		}
	}
	for i := range r.batch.Results {
		r.batch.Results[i].Leases = nil // or results that are used again would hold on to them
	}
	return frame
}

// dropLists replaces lists by ListTooLong, and reports whether there were any.
func (r *forwardedCall) dropLists() (dropped bool) {
	for i := range r.batch.Results {
		if res := &r.batch.Results[i]; res.Leases != nil {
			*res = engine.Result{Status: engine.ListTooLong, Parts: res.Parts[:0]}
			dropped = true
		}
	}
	return dropped
}

// dropResults replaces the results by Uncertain.
func (r *forwardedCall) dropResults() {
	for i := range r.batch.Results {
		r.batch.Results[i] = engine.Result{Status: engine.Uncertain}
	}
}

// longBytes returns the size of the lists in an answer.
func (r *forwardedCall) longBytes() (bytes int) {
	for i := range r.batch.Results {
		for _, l := range r.batch.Results[i].Leases {
			bytes += len(l.Holder) + leaseOverhead
		}
	}
	return bytes
}

// leaseOverhead is the approximate size of a lease in a list without its holder.
const leaseOverhead = 32
