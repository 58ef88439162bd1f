package policy

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// Check returns [keyspace.ErrState] unless an operation that was read from somewhere is one on a policy that can be
// applied.
func Check(o *engine.Op) error {
	switch {
	case o.Verb != engine.SetPolicy && o.Verb != engine.DropPolicy && o.Verb != engine.SetOverride, len(o.Parts) > engine.MaxParts,
		o.Verb == engine.SetPolicy && len(o.Parts) == 0, len(o.Key) > engine.MaxPolicyName, len(o.Who) > engine.MaxKeyBytes:
		return keyspace.ErrState
	}
	for i := range o.Parts {
		p := &o.Parts[i]
		if !p.Limit.IsAskable() || len(p.Key) > engine.MaxKeyBytes || len(p.Who) > engine.MaxKeyBytes || p.Options&^(engine.FixedCost|engine.Spread|engine.Else) != 0 ||
			p.Tokens < 0 || p.Tokens > limits.MaxTokens || !p.KeepsValidly() || !p.WeighsValidly() || !p.SpreadsValidly() {
			return keyspace.ErrState
		}
	}
	if _, err := o.CheckTemplates(); err != nil || !o.TreesValidly() || !o.ElseValidly() {
		return keyspace.ErrState
	}
	return nil
}
