package upstream

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
)

// Down says how requests for one limit are treated while home does not answer.
type Down struct {
	Decides bool // they are decided here; otherwise they get an error
	Allows  bool // all are granted
	Share   int  // the percentage of the limit within which they are granted; 0 denies all
}

// retryAlone is when a denied caller is told to come back: home may answer again.
const retryAlone = time.Second

// aloneDatabase is the number of the database whose keys count the shares. A server with a home has fewer databases.
const aloneDatabase = database.Most - 1

// shareOf returns the request as a limiter for a share of its limit takes it. It returns false if there is no such
// limit.
func shareOf(op *engine.Op, percent int) (own engine.Op, ok bool) {
	own = op.Clone()
	own.Key = database.Append(nil, aloneDatabase, database.KeyOf(op.Key))
	l, share := &own.Limit, int64(percent)
	l.Capacity, l.Warn, l.History, l.Rollover = part(l.Capacity, share), 0, 0, 0
	if period := l.Rate.Period; l.Rate.Tokens > 0 {
		if period > limits.MaxDuration/100*share {
			return own, false
		}
		l.Rate.Period = period/share*100 + (period%share*100+share-1)/share
	}
	return own, share > 0 && l.IsAskable()
}

// part is a percentage of a capacity, at least 1.
func part(capacity, percent int64) int64 {
	return max(1, capacity/100*percent+capacity%100*percent/100)
}
