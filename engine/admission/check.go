package admission

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
)

// Check returns [algorithm.ErrState] unless a Restrict or KeepOverflow that was read from somewhere can be applied.
func Check(o *engine.Op) error {
	switch {
	case o.Verb == engine.Restrict && len(o.Parts) == 0 && len(o.Key) <= engine.MaxKeyBytes && len(o.Who) <= engine.MaxKeyBytes && o.Options == 0 && o.NewKeys <= engine.OverflowNew:
		return nil
	case o.Verb == engine.KeepOverflow && len(o.Parts) == 1 && o.Parts[0].Limit.IsAskable() && len(o.Key) <= engine.MaxPrefix+database.MaxNameBytes && o.Options == 0 && o.Instance < engine.MaxParts:
		var room [algorithm.MaxState]byte
		_, err := algorithm.CheckState(&o.Parts[0].Limit, o.Who, &room)
		return err
	}
	return algorithm.ErrState
}
