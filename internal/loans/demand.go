package loans

import (
	"time"

	"github.com/stintdb/stint/engine/purse"
)

// measureOver is the time over which demand is measured.
const measureOver = 50 * time.Millisecond

// demand measures how fast the tokens of a purse are used.
type demand struct {
	estimate purse.Demand // by the time since began
	began    time.Time
	measured time.Time // when the estimate was last made
	own      int64     // tokens that requests of this process have used since then
	used     int64     // tokens that all nodes have used since then, as far as seen
	left     int64     // in the purse, when it was last seen
	lowest   int64     // the fewest tokens seen in the purse since then
}

func newDemand(now time.Time) demand { return demand{began: now, measured: now} }

// use notes tokens that a request of this process was granted.
func (d *demand) use(tokens int64) { d.own += tokens }

// see notes the tokens that a grant has left in the purse. Results may come in another order than they were decided in,
// so only a new lowest number shows that other nodes have used tokens.
func (d *demand) see(left int64) {
	if d.left = left; left < d.lowest {
		d.used, d.lowest = d.used+d.lowest-left, left
	}
}

// measure updates the estimate, if it is time.
func (d *demand) measure(now time.Time) {
	if now.Sub(d.measured) < measureOver {
		return
	}
	d.estimate.Ask(d.rest())
	d.estimate.Measure(now.Sub(d.began), measureOver)
	d.measured, d.own, d.used, d.lowest = now, 0, 0, d.left
}

// rest is what has been used and is not in the estimate yet.
func (d *demand) rest() int64 { return max(d.own, d.used) }

// in returns how many tokens are expected to be used in a time.
func (d *demand) in(ahead time.Duration) float64 { return d.estimate.In(ahead) }

// rising returns how many tokens would be used in a time if at least as many were used in each measureOver as since
// the last estimate.
func (d *demand) rising(ahead time.Duration) int64 { return d.rest() * int64(ahead/measureOver) }
