package rlqs

import (
	"time"

	"github.com/stintdb/stint/engine/limits"
)

// The times of an assignment. Envoy reports every 5 seconds.
const (
	// TTL is an assignment's time to live. Envoy reports twice in it.
	TTL = 12 * time.Second
	// Margin is the time in which an assignment that was sent comes into use, and earlier reports arrive.
	Margin = 2 * time.Second
	// LoanTTL is the time after which home takes back the loans of a node that does not renew them.
	LoanTTL = TTL + Margin + renewEvery
)

const (
	reportsEvery = 5 * time.Second
	ahead        = 12 * time.Second // a bucket without a rate is to serve the demand of this time
	byRateBelow  = 20 * time.Second // a limit that refills in less is divided by rates
	homePart     = 24               // divides such a rate: this part refills the tokens at home, and pays for changes
	smallLimit   = 16               // tokens: the one token that each node may keep in a bucket can exceed a smaller limit
	rateInterval = 60               // seconds in which a unit is one token of any limit, so old units count after a change
	idleTime     = time.Minute      // a bucket without requests is abandoned then, if nothing of the limit is taken
)

// Limit is the limit of a bucket: a capacity, and tokens that refill in a period.
type Limit struct {
	Capacity int64
	Tokens   int64 // that a period refills
	Period   time.Duration
}

// division says how a limit is divided between streams. All streams together hold no more tokens than the limit has,
// and no more units than the rate has beyond what refills the tokens at home.
type division struct {
	tokens   limits.Limit // at home
	units    limits.Limit // at home, as many as the rate has; of capacity 0 if the streams' buckets do not refill
	interval int64        // seconds in which a unit of the rate is one token; 0 without units
}

// demandLimit is the limit of a key whose loans state the demands of the nodes, in thousandths of requests per second.
var demandLimit = unitLimit(limits.MaxTokens)

// unitLimit returns a limit of units, which are back at home as soon as they are stated as unused.
func unitLimit(units int64) limits.Limit {
	rate := limits.Rate{Tokens: units, Period: int64(time.Millisecond)}
	return limits.Limit{Algorithm: limits.TokenBucket, Capacity: units, Rate: rate}
}

func (l Limit) perSecond() float64 { return float64(l.Tokens) / l.Period.Seconds() }

func (l Limit) divide() (d division) {
	d.tokens = limits.Limit{Algorithm: limits.TokenBucket, Capacity: l.Capacity}
	d.tokens.Rate = limits.Rate{Tokens: l.Tokens, Period: int64(l.Period)}
	rate := l.perSecond()
	if float64(l.Capacity) >= rate*byRateBelow.Seconds() {
		return d
	}
	d.interval = rateInterval
	d.units = unitLimit(min(int64(rate*rateInterval*(homePart-1)/homePart), limits.MaxTokens))
	d.tokens.Rate.Period *= homePart
	return d
}

// keys returns the keys of a quota's tokens, units and demands at home. They stay when the limit changes, so that loans
// under the old limit count against the new one.
func keys(base string) (tokens, units, demand string) {
	return base + "|tokens", base + "|rate", base + "|demand"
}
