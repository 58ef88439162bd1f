package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Suggestion is a token bucket that denies few requests, and the amounts that it still grants.
type Suggestion struct {
	Limits    string   `json:"limits"`
	Most      float64  `json:"most_share"` // the share of requests that may be denied
	Except    int      `json:"except_keys"`
	RestShare float64  `json:"rest_denied_share"`
	Others    []Bucket `json:"choices"` // the smallest capacity for each rate
	InMinute  int64    `json:"grants_in_a_minute"`
	InHour    int64    `json:"grants_in_an_hour"`
	TopShare  float64  `json:"excepted_denied_share"` // of the requests of the excepted keys
}

// Bucket is the smallest bucket with a rate that denies few enough.
type Bucket struct {
	Capacity  int64   `json:"capacity"`
	Rate      string  `json:"rate"`
	RestShare float64 `json:"rest_denied_share"`

	perSecond float64
	limits    *Limits
}

// grants is the most that a key can be granted within a time.
func (b *Bucket) grants(within time.Duration) int64 {
	return b.Capacity + int64(b.perSecond*within.Seconds())
}

// errTwice is the reason that standard input does not do.
var errTwice = errors.New("a suggestion reads the log several times; name a file instead of -")

// suggestRates are the rates tried, as multiples of the average rate of the busiest key that is not excepted.
var suggestRates = []float64{1, 2, 4, 10}

// Suggest finds the smallest token bucket with which less than the share most of the requests would have been denied,
// those of the Except keys with the most requests left out. It tries several rates, and for each the smallest capacity,
// by halving. The log is read once, or some 15 times if the times of its requests do not fit into MaxMemory. Of these
// buckets it chooses the one that grants a key least within a minute, and adds it to the plan's limits.
func (p *Plan) Suggest(ctx context.Context, most float64) (*Suggestion, error) {
	return p.suggest(ctx, most, &record{})
}

func (p *Plan) suggest(ctx context.Context, most float64, requests *record) (*Suggestion, error) {
	if slices.Contains(p.Paths, "-") {
		return nil, errTwice
	}
	trial := *p
	trial.Limits, trial.Top, trial.record = nil, p.Except+1, requests
	seen, err := trial.Run(ctx)
	if err != nil {
		return nil, err
	}
	if len(seen.Top) <= p.Except {
		return nil, fmt.Errorf("the log has only %d keys, and --except leaves out %d: lower --except", seen.Keys, p.Except)
	}
	busiest := seen.Top[p.Except].Requests
	average := float64(busiest) / max(seen.To.Sub(seen.From).Seconds(), 1)
	var found []Bucket
	for _, times := range suggestRates {
		b := Bucket{Capacity: busiest}
		if b.Rate, b.perSecond = rateText(average * times); len(found) == 0 || found[len(found)-1].Rate != b.Rate {
			found = append(found, b)
		}
	}
	shares := func(tried []*Limits) ([]float64, error) { return trial.sharesByReading(ctx, tried) }
	if requests.canDecide(found) {
		shares = func(tried []*Limits) ([]float64, error) { return requests.shares(tried, most), nil }
	}
	if err := narrow(found, most, shares); err != nil {
		return nil, err
	}
	best := &found[0]
	for i := range found {
		if found[i].grants(time.Minute) < best.grants(time.Minute) {
			best = &found[i]
		}
	}
	p.Limits, p.readings = append(p.Limits, best.limits), trial.readings
	return &Suggestion{Limits: best.limits.Text, Most: most, Except: p.Except, RestShare: best.RestShare, Others: found,
		InMinute: best.grants(time.Minute), InHour: best.grants(time.Hour)}, nil
}

// sharesByReading reads the log for the share of requests that each limit denies.
func (p *Plan) sharesByReading(ctx context.Context, tried []*Limits) (shares []float64, err error) {
	p.Limits, p.record = tried, nil
	o, err := p.Run(ctx)
	if err != nil {
		return nil, err
	}
	for i := range tried {
		shares = append(shares, o.Limits[i].RestShare)
	}
	return shares, nil
}

// narrow finds the smallest capacity of each bucket, whose capacities are large enough. The shares that limits deny
// need be right below most only.
func narrow(found []Bucket, most float64, shares func(tried []*Limits) ([]float64, error)) error {
	small := make([]int64, len(found)) // too small
	for round := 0; ; round++ {
		var tried []*Limits
		var of []int
		for i := range found {
			b := &found[i]
			capacity := b.Capacity // first, so that its share is known
			if round > 0 {
				capacity = (small[i] + b.Capacity) / 2
			}
			if round > 0 && capacity == small[i] {
				continue
			}
			l, err := ParseLimits(fmt.Sprintf("TB {} %d %s", capacity, b.Rate))
			if err != nil {
				return err
			}
			tried, of = append(tried, l), append(of, i)
		}
		if len(tried) == 0 {
			return nil
		}
		denied, err := shares(tried)
		if err != nil {
			return err
		}
		for at, l := range tried {
			b := &found[of[at]]
			if denied[at] < most {
				b.Capacity, b.RestShare, b.limits = l.first.Capacity, denied[at], l
			} else {
				small[of[at]] = l.first.Capacity
			}
		}
	}
}

// rateText writes a rate in requests a second, rounded up to two digits, with a unit in which it is 1 or more.
func rateText(perSecond float64) (text string, rounded float64) {
	unit, seconds := "s", 1.0
	switch {
	case perSecond*60 < 1:
		unit, seconds = "h", 3600
	case perSecond < 1:
		unit, seconds = "m", 60
	}
	n := perSecond * seconds
	scale := math.Pow(10, max(0, math.Floor(math.Log10(max(n, 1)))-1))
	n = max(1, math.Ceil(n/scale)*scale)
	return fmt.Sprintf("%.0f/%s", n, unit), n / seconds
}

// Complete adds the denials of the excepted keys, from a report whose last limits are the suggested ones.
func (s *Suggestion) Complete(o *Report) {
	last := &o.Limits[len(o.Limits)-1]
	var requests int64
	for _, k := range o.except {
		requests += k.Requests
	}
	s.TopShare = share(last.Denied-last.RestDenied, requests)
	o.Suggestion = s
}
