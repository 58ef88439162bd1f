package engine

import "math/bits"

// StillTaken is the number of a granted request's tokens that time has not brought back after some nanoseconds. A rate brings
// back the oldest first; a window that is over brings back all. It is never too much, so giving the tokens back then leaves no
// more than if the request had never been made. Only in a sliding log, whose newest entries are given back, may a part of them
// count for a shorter time.
func (res *Result) StillTaken(limit Limit, elapsed int64) int64 {
	left := res.Reset - elapsed
	switch limit.Algorithm {
	case FixedWindow, SlidingLog:
	case SlidingWindow:
		left -= limit.Rate.Period // Reset is the end of the next window
	case Concurrency:
		left = limit.Rate.Period - elapsed // Reset is that of all leases
	default:
		if elapsed < max(1, res.Wait) {
			return res.Granted
		}
		tokens := limit.Rate.Tokens
		if limit.Algorithm.HasLeast() {
			tokens = limit.Least // the rate in use is not known here, and never below it
		}
		// Reset was rounded up by less than a nanosecond.
		hi, lo := bits.Mul64(uint64(max(0, left-1)), uint64(tokens))
		period := uint64(limit.Rate.Period)
		if hi >= period {
			return res.Granted
		}
		still, _ := bits.Div64(hi, lo, period)
		return int64(min(still, uint64(res.Granted)))
	}
	if left <= 0 {
		return 0
	}
	return res.Granted
}
