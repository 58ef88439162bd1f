package rlqs

import (
	"time"

	"github.com/stintdb/stint/engine/limits"
)

// The times of an assignment. Envoy reports every 5 seconds.
const (
	// TTL is an assignment's time to live, in which Envoy reports twice.
	TTL = 12 * time.Second
	// Margin is within which an assignment is in use that was sent, and reports from before have arrived.
	Margin = 2 * time.Second
	// LoanTTL is after which home takes back the loans of a node that does not renew them.
	LoanTTL = TTL + Margin + renewEvery
)

const (
	reportsEvery = 5 * time.Second
	ahead        = 12 * time.Second // the demand that a bucket without a rate is to serve
	byRateBelow  = 20 * time.Second // a limit that refills in less is divided by rates
	homePart     = 24               // of such a limit's rate, the part that refills the tokens at home, and so pays for changes
	smallLimit   = 16               // tokens: of a smaller limit, the one token that each node may keep in a bucket can add up to more than the limit
	rateInterval = 60               // seconds in which a unit of a rate is one token of any limit: so old units count against a changed rate
	idleTime     = time.Minute      // after which a bucket without requests is abandoned, if nothing of the limit is taken
)

// Limit is the limit of a bucket: so many tokens, which refill in a period.
type Limit struct {
	Capacity int64
	Tokens   int64 // that a period refills
	Period   time.Duration
}

// division is how a limit is divided between streams. All streams together hold at most as many tokens as the limit has, and units of the rate
// beyond what refills the tokens at home.
type division struct {
	tokens   limits.Limit // at home
	units    limits.Limit // at home, as many as the rate has; its capacity is 0 if the streams' buckets do not refill
	interval int64        // in seconds: a unit of the rate is one token in it; 0 without units
}

// demandLimit is that of a key whose loans are the demands of the nodes, in thousandths of requests per second.
var demandLimit = unitLimit(limits.MaxTokens)

// unitLimit is a limit of units that are back as soon as they are stated as unused.
func unitLimit(units int64) limits.Limit {
	return limits.Limit{Algorithm: limits.TokenBucket, Capacity: units, Rate: limits.Rate{Tokens: units, Period: int64(time.Millisecond)}}
}

func (l Limit) perSecond() float64 { return float64(l.Tokens) / l.Period.Seconds() }

func (l Limit) divide() (d division) {
	d.tokens = limits.Limit{Algorithm: limits.TokenBucket, Capacity: l.Capacity, Rate: limits.Rate{Tokens: l.Tokens, Period: int64(l.Period)}}
	rate := l.perSecond()
	if float64(l.Capacity) >= rate*byRateBelow.Seconds() {
		return d
	}
	d.interval = rateInterval
	d.units = unitLimit(min(int64(rate*rateInterval*(homePart-1)/homePart), limits.MaxTokens))
	d.tokens.Rate.Period *= homePart
	return d
}

// keys are those of a quota's tokens, units and demands at home. A changed limit has the same: loans under the old one count against it.
func keys(base string) (tokens, units, demand string) {
	return base + "|tokens", base + "|rate", base + "|demand"
}
