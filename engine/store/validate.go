package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
)

// CheckPolicy returns [keyspace.ErrState] unless an operation that was read from somewhere is one of those that
// [Store.PolicyOps] and [Store.Changes] report, and can be applied.
func CheckPolicy(o *engine.Op) error {
	switch o.Verb {
	case engine.Restrict, engine.KeepOverflow:
		return admission.Check(o)
	case engine.KeepScript, engine.DropScripts:
		if len(o.Who) > engine.MaxScriptBytes || len(o.Key) > 0 || len(o.Parts) > 0 {
			return keyspace.ErrState
		}
		return nil
	}
	return policy.Check(o)
}
