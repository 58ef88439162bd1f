package limiter

import (
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// doublingWord is the name of the option, and of the parameter in [limits.Limit.Params].
const doublingWord = "DOUBLING"

var optDoubling = command.Option{Name: doublingWord, HasValue: true, IsText: true, Set: setDoubling}

func readPenalty(_ *command.Request, a [][]byte) (l limits.Limit, err error) {
	if l.Capacity, err = command.ParseIntegerBetween("denials", a[0], 1, limits.MaxTokens); err != nil {
		return l, err
	}
	if l.Rate.Period, err = command.ParseDuration("window", a[1]); err != nil {
		return l, err
	}
	l.Ban, err = command.ParseDuration("ban", a[2])
	l.LongestBan = l.Ban
	return l, err
}

func setDoubling(_ *command.Request, op *engine.Op, value []byte) (err error) {
	l := &op.Limit
	if l.Algorithm != limits.Penalty {
		return errDoublesNothing.With(specOf(l.Algorithm).word)
	}
	if l.LongestBan, err = command.ParseDuration(doublingWord, value); err == nil && l.LongestBan < l.Ban {
		err = command.ArgumentError(doublingWord, fmt.Sprintf("must be no shorter than the ban, %s", limits.FormatDuration(l.Ban)), value)
	}
	return err
}
