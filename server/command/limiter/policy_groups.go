package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/grouping"
	"github.com/stintdb/stint/server/command"
)

// checkTogether returns an error if the limits of a SetPolicy or SetOverride are in different groups for some callers.
func checkTogether(b *command.Bounds, op *engine.Op) error {
	groups := grouping.Groups{Count: b.Groups}
	if b.Shared != nil {
		groups.Shared = *b.Shared
	}
	d := groups.Divide(op)
	switch {
	case d == nil:
		return nil
	case d.Escaped:
		return errDividedTags.With(command.Truncate(d.One, 64), command.Truncate(d.Other, 64))
	}
	return errDividedKeys.With(command.Truncate(d.One, 64), command.Truncate(d.Other, 64))
}
