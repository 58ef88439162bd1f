package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/grouping"
)

// together returns an error if the limits of a SetPolicy or SetOverride are in different groups for some callers.
func (b *Bounds) together(op *engine.Op) error {
	groups := grouping.Groups{Count: b.Groups}
	if b.Shared != nil {
		groups.Shared = *b.Shared
	}
	d := groups.Divide(op)
	switch {
	case d == nil:
		return nil
	case d.Escaped:
		return errDividedTags.With(truncate(d.One, 64), truncate(d.Other, 64))
	}
	return errDividedKeys.With(truncate(d.One, 64), truncate(d.Other, 64))
}
