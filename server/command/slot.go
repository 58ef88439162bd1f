package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/slot"
)

// SlotOf is the slot of an operation's first key, 0 if it has none.
func SlotOf(op *engine.Op) int {
	op = op.Request()
	switch {
	case op.Verb == engine.Flush:
		return 0
	case op.Verb == engine.Command, op.Verb == engine.Script, op.Verb == engine.Expect:
		if op.KeyCount == 0 {
			return 0
		}
		return slot.Of(op.DeclaredKeys()[0])
	case op.Verb == engine.AcquireAll:
		return slot.Of(database.KeyOf(op.Parts[0].Key))
	}
	return slot.Of(database.KeyOf(op.Key))
}
