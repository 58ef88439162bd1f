package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// rolloverWord is the name of the option, and of the parameter in [limits.Limit.Params].
const rolloverWord = "ROLLOVER"

var optRollover = command.Option{Name: rolloverWord, HasValue: true, Set: setRollover}

// rolloverHistory is the closed windows that ROLLOVER keeps without a HISTORY: enough to know the caller after a window
// in which it took nothing.
const rolloverHistory = 2

func setRollover(_ *command.Request, op *engine.Op, value []byte) (err error) {
	l := &op.Limit
	if l.Algorithm != limits.FixedWindow || l.Span == limits.FromFirst {
		return errRollsNothing.With(lastWord(l))
	}
	if l.History == 0 {
		l.History = rolloverHistory
	}
	l.Rollover, err = wholePercentage(rolloverWord, value)
	return err
}
