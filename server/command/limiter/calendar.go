package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// The options of fixed windows that follow the calendar. [limits.Limit.Params] uses the same names.
const (
	zoneWord = "TZ"
	fromWord = "FROM"
)

var (
	optZone = command.Option{Name: zoneWord, HasValue: true, IsText: true, Set: setZone}
	optFrom = command.Option{Name: fromWord, HasValue: true, IsText: true, Set: setFrom}
)

func setZone(_ *command.Request, op *engine.Op, value []byte) error {
	if _, err := unitOf(zoneWord, &op.Limit); err != nil {
		return err
	}
	zone, known := calendar.ParseZone(value)
	if !known {
		return errZone.With(command.Truncate(value, 64))
	}
	op.Limit.Anchor.Zone = zone
	return nil
}

func setFrom(_ *command.Request, op *engine.Op, value []byte) error {
	unit, err := unitOf(fromWord, &op.Limit)
	if err != nil {
		return err
	}
	if op.Limit.Anchor.From, err = calendar.ParseFrom(unit, string(value)); err != nil {
		return command.ArgumentError(fromWord, err.Error(), value)
	}
	return nil
}

// unitOf returns the unit of a limit's windows. If they do not follow the calendar, it returns the error of the option.
func unitOf(option string, limit *limits.Limit) (calendar.Unit, error) {
	unit, ok := limit.Span.Unit()
	if !ok {
		return unit, errNotOfCalendar.With(option, lastWord(limit))
	}
	return unit, nil
}

// lastWord is what a limit has in the place of a window: the last of its parameters, or its own word if it has none.
func lastWord(limit *limits.Limit) string {
	words := paramWords([]string{specOf(limit.Algorithm).word}, *limit)
	return words[len(words)-1]
}
