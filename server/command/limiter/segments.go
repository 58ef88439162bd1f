package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// segmentsWord is the name of the option, and of the parameter in [limits.Limit.Params].
const segmentsWord = "SEGMENTS"

var optSegments = command.Option{Name: segmentsWord, HasValue: true, Set: setSegments}

// setSegments makes a sliding window one that is exact.
func setSegments(_ *command.Request, op *engine.Op, value []byte) error {
	if a := op.Limit.Algorithm; a != limits.SlidingWindow && a != limits.SlidingSegments {
		return errNotSegmented.With(specOf(a).word)
	}
	n, err := command.ParseIntegerBetween(segmentsWord, value, 2, limits.MaxSegments)
	op.Limit.Algorithm, op.Limit.Segments = limits.SlidingSegments, uint8(n)
	return err
}
