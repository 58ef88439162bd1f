package limiter

import (
	"bytes"
	"cmp"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// warnWord is the name of the option, and of the parameter in [limits.Limit.Params].
const warnWord = "WARN"

var optWarn = command.Option{Name: warnWord, HasValue: true, Set: setWarn}

// optShowWarn asks a check for the field warn. Without it the reply has no such field, because callers may be older
// than a policy's WARN.
var optShowWarn = command.Option{Name: warnWord, Set: func(r *command.Request, _ *engine.Op, _ []byte) error {
	if r.Shape == resp.Same {
		r.Shape = resp.Warning
	}
	return nil
}}

func setWarn(_ *command.Request, op *engine.Op, value []byte) error {
	if a := op.Limit.Algorithm; !a.Warns() {
		k := specOf(a)
		return errWarnsNothing.With(k.word, cmp.Or(k.noWarn, "it has no threshold"))
	}
	percent, err := wholePercentage(warnWord, value)
	op.Limit.Warn = percent
	return err
}

// wholePercentage parses the value of an option, 1% to 100%.
func wholePercentage(option string, value []byte) (uint8, error) {
	digits, isShare := bytes.CutSuffix(value, []byte("%"))
	percent, ok := command.ParseInteger(digits)
	if !isShare || !ok || digits[0] == '+' || percent < 1 || percent > 100 {
		return 0, command.ArgumentError(option, "must be a whole percentage between 1% and 100%", value)
	}
	return uint8(percent), nil
}

// percentOf returns the threshold of the i-th limit of a reply, 0 if the reply has no field warn for it.
func percentOf(op *engine.Op, res *engine.Result, i int, shape resp.Shape) uint8 {
	switch op = op.Request(); {
	case op.Verb == engine.AcquireAll:
		return op.Parts[i].Limit.Warn
	case shape == resp.Warning, shape == resp.Split:
		return uint8(res.Parts[i].Number)
	}
	return 0
}

// warnField returns 1 if the use of a limit has reached its threshold, otherwise 0.
func warnField(res *engine.Result, percent uint8) int64 {
	if res.Warns(percent) {
		return 1
	}
	return 0
}
