package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Reserved is a reservation as it is remembered.
type Reserved struct {
	Granted int64
	Settled bool
	Ends    int64       // nanoseconds since the Unix epoch
	Parts   []engine.Op // the limits, with keys and holders; Tokens are those that they are charged
}

// Reserved returns the contents of an entry whose limit's algorithm is [Reservation].
func (e *Entry) Reserved() (Reserved, error) {
	state, err := e.check(nil)
	if err != nil || e.Limit.Algorithm != limits.Reservation {
		return Reserved{}, ErrState
	}
	v := Reserved{Settled: reservation(state).isSettled(), Ends: reservation(state).end()}
	granted, _, parts := reservation(state).parts()
	for v.Granted = granted; len(parts.Rest) > 0; {
		p := nextPart(&parts)
		op := engine.Op{Key: p.key, Who: p.who, Limit: p.limit, Tokens: p.charged()}
		if p.fixedCost {
			op.Options = engine.FixedCost
		}
		v.Parts = append(v.Parts, op)
	}
	return v, nil
}
