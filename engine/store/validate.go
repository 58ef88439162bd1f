package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// CheckPolicy returns [ErrState] unless a decoded operation is one on a policy that can be applied.
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
	switch {
	case o.Verb != engine.SetPolicy && o.Verb != engine.DropPolicy && o.Verb != engine.SetOverride, len(o.Parts) > engine.MaxParts,
		o.Verb == engine.SetPolicy && len(o.Parts) == 0, len(o.Key) > engine.MaxPolicyName, len(o.Who) > engine.MaxKeyBytes:
		return keyspace.ErrState
	}
	for i := range o.Parts {
		p := &o.Parts[i]
		if !p.Limit.IsAskable() || len(p.Key) > engine.MaxKeyBytes || len(p.Who) > engine.MaxKeyBytes || p.Options&^engine.FixedCost != 0 ||
			p.Tokens < 0 || p.Tokens > limits.MaxTokens || !p.KeepsValidly() || !p.WeighsValidly() {
			return keyspace.ErrState
		}
	}
	if _, err := o.CheckTemplates(); err != nil || !o.TreesValidly() {
		return keyspace.ErrState
	}
	return nil
}
