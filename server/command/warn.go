package command

import (
	"bytes"
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// warnWord is the option of a limit that warns, and its field in [limits.Limit.Params].
const warnWord = "WARN"

var optWarn = option{name: warnWord, hasValue: true, set: setWarn}

func setWarn(_ *Request, op *engine.Op, value []byte) error {
	if a := op.Limit.Algorithm; !a.Warns() {
		return errWarnsNothing.With(specOf(a).word)
	}
	digits, isShare := bytes.CutSuffix(value, []byte("%"))
	percent, ok := integer(digits)
	if !isShare || !ok || digits[0] == '+' || percent < 1 || percent > limits.MaxWarn {
		return argumentError(warnWord, fmt.Sprintf("must be a whole percentage between 1%% and %d%%", limits.MaxWarn), value)
	}
	op.Limit.Warn = uint8(percent)
	return nil
}

// warnField is 1 if the use of a limit has reached its threshold.
func warnField(res *engine.Result, percent uint8) int64 {
	if res.Warns(percent) {
		return 1
	}
	return 0
}
