package access

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
)

// Limit writes the rights of a user into calls of scripts and into extensions and settlements of
// reservations. These are decided where the user is
// not known, and only there is it known which keys they are about.
func Limit(u *acl.User, ops []engine.Op) {
	for i := range ops {
		op := &ops[i]
		ofReservation := op.Verb == engine.Extend || op.Verb == engine.Settle
		if (op.Verb == engine.Script || ofReservation) && !u.ReachesAll() {
			op.Options |= engine.DeclaredOnly
		}
		switch {
		case ofReservation && op.Options&engine.DeclaredOnly != 0:
			op.Args = u.WritePatterns()
		case op.Verb == engine.Script:
			op.Who = command.ScriptCommands(func(row *command.Row) bool {
				return u.May(row) && (row.Flags&command.PubSub == 0 || u.ReachesAllChannels())
			})
			markWriteOnly(u, op)
		}
	}
}

// markWriteOnly marks the keys of a script that the user may change, but not read.
func markWriteOnly(u *acl.User, script *engine.Op) {
	if script.Options&engine.DeclaredOnly == 0 {
		return
	}
	for i, key := range script.DeclaredKeys() {
		if !u.Reaches(key, false) {
			script.MarkWriteOnly(i)
		}
	}
}
