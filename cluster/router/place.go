package router

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/slot"
)

// Places of an operation other than a group's number.
const (
	anywhere   = 0  // no keys: group 0, or in an atomic batch the group of the other operations
	everywhere = -1 // each group carries it out
	crossing   = -2 // the keys are in several groups
)

// Place returns the number of the group that decides an operation: 0 without keys, and below 0 if it is not one group.
func (r *Router) Place(op *engine.Op) int {
	switch op.Verb {
	case engine.Flush, engine.SetPolicy, engine.DropPolicy, engine.SetOverride, engine.Restrict, engine.KeepOverflow,
		engine.KeepScript, engine.DropScripts:
		return everywhere
	case engine.Command, engine.Script, engine.Expect:
		if op.KeyCount == 0 && op.Writes() && isScriptCommand(op) {
			return everywhere
		}
		at := anywhere
		for _, key := range op.DeclaredKeys() {
			if op.Verb == engine.Expect {
				key = database.KeyOf(key)
			}
			at = meet(at, r.groupOf(key))
		}
		return at
	case engine.AcquireAll:
		if op.Options&engine.FromPurses != 0 {
			at, _ := r.Gather(op.Parts)
			return at
		}
		at := anywhere
		for i := range op.Parts {
			at = meet(at, r.ofName(op.Parts[i].Key))
		}
		return at
	case engine.Check:
		return r.ofCheck(op)
	case engine.Reserve:
		return meet(r.ofName(op.Key), r.Place(&op.Parts[0]))
	}
	return r.ofName(op.Key)
}

// isScriptCommand reports whether a command is SCRIPT LOAD or SCRIPT FLUSH: every group keeps the scripts.
func isScriptCommand(op *engine.Op) bool {
	return len(op.Args) > 0 && bytes.EqualFold(op.Args[0], []byte("script"))
}

// ofCheck returns the group of the policy's first key, as far as this node knows the policy. The group itself refuses a
// check if it does not own every key.
func (r *Router) ofCheck(op *engine.Op) int {
	var room [64]byte
	var fields [][]byte
	if op.Options&engine.NamedFields != 0 {
		fields = op.Args
	}
	if op.Options&engine.FromPurses != 0 {
		g := gathering{router: r}
		for i := range engine.MaxParts {
			key := r.policies.AppendPolicyKey(room[:0], op.Key, op.Who, fields, i)
			if len(key) == 0 {
				break
			}
			g.add(key)
		}
		return g.place()
	}
	key := r.policies.AppendPolicyKey(room[:0], op.Key, op.Who, fields, 0)
	if len(key) == 0 {
		return anywhere // group 0 owns no key, and knows whether there is such a policy
	}
	return r.groupOf(key)
}

func (r *Router) ofName(name []byte) int { return r.groupOf(database.KeyOf(name)) }

func (r *Router) groupOf(key []byte) int { return slot.GroupOf(slot.Of(key), r.count) }

// meet returns the place of two operations that belong together.
func meet(a, b int) int {
	switch {
	case a == b, b == anywhere:
		return a
	case a == anywhere && b > 0:
		return b
	}
	return crossing
}
