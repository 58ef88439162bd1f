package loans

import (
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
)

// maxTurns is the number of steps that one node or group carries out at a time.
const maxTurns = 256

// Turns bounds the steps that a node or group is asked to carry out at a time. So a node that does not answer holds up no
// steps of other nodes.
type Turns chan struct{}

// NewTurns returns the turns of one node or group.
func NewTurns() Turns { return make(Turns, maxTurns) }

// take waits for a turn and carries out operations. If it waits for longer than timeout, nothing is carried out.
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
