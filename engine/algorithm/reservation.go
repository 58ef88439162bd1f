package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/reservation"
)

func reservationExpired(state []byte, _ *limits.Limit, now int64) bool {
	return reservation.State(state).End() <= now
}

// lookReservation reports the time until it is forgotten.
func lookReservation(c *Call) { c.Result.Reset = reservation.State(c.State).End() - c.Now }

// writeReservation keeps a new reservation, or the credits of a balance: the content of the call is all of the state but
// the size.
func writeReservation(c *Call, state []byte) {
	clear(state[layout.VariableHead+copy(state[layout.VariableHead:], c.Content):])
}

// NeedReservation is the size of the state that holds the content of a call.
func NeedReservation(c *Call) int { return engine.Align(layout.VariableHead + len(c.Content)) }
