package loans

import (
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
)

// maxTurns is the number of steps of operations on loans that one node or group carries out at a time.
const maxTurns = 256

// Turns bounds the steps that a node or group is asked to carry out at a time. One that does not answer so holds up
// no steps of others.
type Turns chan struct{}

// NewTurns returns the turns of one node or group.
func NewTurns() Turns { return make(Turns, maxTurns) }

// take calls do when it is its turn. If that takes too long, nothing is carried out.
func (t Turns) take(timeout time.Duration, ops []engine.Op, do func(ops ...engine.Op) []engine.Result) []engine.Result {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		defer func() { <-t }()
		return do(ops...)
	case <-timer.C:
		return slices.Repeat([]engine.Result{{Status: engine.Overloaded}}, len(ops))
	}
}
