package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// CheckPolicy returns [ErrState] unless a decoded operation is one on a policy that can be applied.
func CheckPolicy(o *engine.Op) error {
	switch o.Verb {
	case engine.Restrict, engine.KeepOverflow:
		return checkRestrict(o)
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

// checkRestrict reports whether an operation on restrictions that was read from somewhere can be applied, or [ErrState].
func checkRestrict(o *engine.Op) error {
	switch {
	case o.Verb == engine.Restrict && len(o.Parts) == 0 && len(o.Key) <= engine.MaxKeyBytes && len(o.Who) <= engine.MaxKeyBytes && o.Options == 0 && o.NewKeys <= engine.OverflowNew:
		return nil
	case o.Verb == engine.KeepOverflow && len(o.Parts) == 1 && o.Parts[0].Limit.IsAskable() && len(o.Key) <= engine.MaxPrefix+database.MaxNameBytes && o.Options == 0 && o.Instance < engine.MaxParts:
		var room [algorithm.MaxState]byte
		_, err := algorithm.CheckState(&o.Parts[0].Limit, o.Who, &room)
		return err
	}
	return keyspace.ErrState
}
