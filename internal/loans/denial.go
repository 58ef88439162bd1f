package loans

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// DenyFor is how long a denial of home is usually repeated to other requests, so that a limit far beyond its rate does
// not cost an operation on the loan for each request.
const DenyFor = 100 * time.Millisecond

// Denial is an answer of home that it has too few tokens for a request.
type Denial struct {
	Limit  limits.Limit
	Tokens int64          // requests for as many or more are denied
	Until  time.Time      // the denial is repeated until then
	Renew  time.Time      // a request that is denied after this time makes home be asked again; zero for none
	Asking time.Time      // while home is being asked for tokens, the denial is repeated until then
	Last   time.Time      // while home is being asked again because of requests that were denied, it is repeated until then
	Due    time.Time      // home has the tokens by then, unless Never
	Never  bool           // home never grants as many
	Answer *engine.Result // to the request

	asked    time.Time // when home was asked
	unmet    int64     // tokens of requests to which it was repeated, since home was last asked for tokens
	renewing bool      // home is being asked again, or will be
}

// denies reports whether the denial holds for a request. With asking, home is being asked for tokens.
func (d *Denial) denies(now time.Time, limit limits.Limit, tokens int64, asking bool) bool {
	return d.isInForce(now, asking) && tokens >= d.Tokens && limit == d.Limit
}

func (d *Denial) isInForce(now time.Time, asking bool) bool {
	return now.Before(d.Until) || d.renewing && now.Before(d.Last) || asking && now.Before(d.Asking)
}

// Wait returns the nanoseconds until home and the purse, which has the held tokens now, together have some tokens, or
// [engine.NeverWait]. It is not shorter than the time for which the denial is repeated.
func (d *Denial) Wait(now time.Time, tokens, held int64) int64 {
	if d.Never || tokens > d.Limit.Capacity {
		return engine.NeverWait
	}
	wait := int64(d.Due.Sub(now))
	if rate := d.Limit.Rate; rate.Tokens > 0 {
		if more := tokens - held - d.Tokens; more > 0 {
			wait += rate.Refill(more)
		} else {
			wait -= rate.Refill(-more)
		}
	}
	return max(int64(time.Millisecond), wait, int64(d.Until.Sub(now)))
}
