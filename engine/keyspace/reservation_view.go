package keyspace

import (
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/reservation"
)

// Reserved returns the contents of an entry whose limit's algorithm is [limits.Reservation].
func (e *Entry) Reserved() (reservation.View, error) {
	if e.Limit.Algorithm != limits.Reservation {
		return reservation.View{}, ErrState
	}
	state, err := e.check(nil)
	if err != nil {
		return reservation.View{}, err
	}
	return reservation.State(state).View(), nil
}
