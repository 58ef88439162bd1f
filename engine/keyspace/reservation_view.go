package keyspace

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/reservation"
)

// Reserved is a reservation as it is remembered.
type Reserved struct {
	Granted int64
	Settled bool
	Ends    int64       // nanoseconds since the Unix epoch
	Parts   []engine.Op // the limits, with keys and holders; Tokens are those that they are charged
}

// Reserved returns the contents of an entry whose limit's algorithm is [limits.Reservation].
func (e *Entry) Reserved() (Reserved, error) {
	if e.Limit.Algorithm != limits.Reservation {
		return Reserved{}, ErrState
	}
	state, err := e.check(nil)
	if err != nil {
		return Reserved{}, err
	}
	v := Reserved{Settled: reservation.State(state).IsSettled(), Ends: reservation.State(state).End()}
	granted, _, parts := reservation.State(state).Parts()
	for v.Granted = granted; len(parts.Rest) > 0; {
		p := reservation.NextPart(&parts)
		op := engine.Op{Key: p.Key, Who: p.Who, Limit: p.Limit, Tokens: p.Charged()}
		if p.FixedCost {
			op.Options = engine.FixedCost
		}
		v.Parts = append(v.Parts, op)
	}
	return v, nil
}
