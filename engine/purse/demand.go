package purse

import "time"

// Demand estimates how many tokens are asked for in a time.
type Demand struct {
	asked    int64         // since the last measurement
	measured time.Duration // when that was, by a clock of the holder
	rate     float64       // tokens per nanosecond
}

// NewDemand returns a Demand that begins with tokens that were asked for since a time.
func NewDemand(since time.Duration, asked int64) Demand { return Demand{measured: since, asked: asked} }

// Ask notes that tokens are asked for.
func (d *Demand) Ask(tokens int64) { d.asked += tokens }

// Measure updates the estimate with the tokens asked for, once the time every has passed since the last measurement.
// The estimate follows a rise at once and a fall slowly.
func (d *Demand) Measure(now, every time.Duration) {
	span := now - d.measured
	if span < every {
		return
	}
	sample := float64(d.asked) / float64(span)
	if sample < d.rate {
		sample = (float64(3*d.rate) + sample) / 4
	}
	d.rate, d.asked, d.measured = sample, 0, now
}

// In returns the tokens that are expected to be asked for in a time ahead.
func (d *Demand) In(ahead time.Duration) float64 { return d.rate * float64(ahead) }
