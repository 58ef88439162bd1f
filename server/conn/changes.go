package conn

import (
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/events"
)

// noteChange notes who has changed the limits of a policy.
func (e *Env) noteChange(r *reply, batch *commandBatch, by *command.Client, addr string) {
	if r.count == 0 {
		return
	}
	policy := func() string { return string(batch.key(r.first, 0)) }
	caller := func() string {
		if e.config().TopKeys == "plain" {
			return "caller " + string(batch.key(r.first, 1))
		}
		return "a caller"
	}
	text := ""
	switch op, res := &batch.decision.Ops[r.first], &batch.decision.Results[r.first]; {
	case res.Status != engine.OK:
		return
	case op.Verb == engine.SetPolicy:
		text = fmt.Sprintf("Policy %s was set", policy())
		if op.Options&engine.Shadow != 0 {
			text += " in shadow mode"
		}
	case op.Verb == engine.DropPolicy:
		text = fmt.Sprintf("Policy %s was deleted", policy())
	case op.Verb == engine.SetOverride && len(op.Parts) == 0:
		text = fmt.Sprintf("The override of %s in policy %s was removed", caller(), policy())
	case op.Verb == engine.SetOverride:
		text = fmt.Sprintf("The limits of %s in policy %s were overridden", caller(), policy())
	default:
		return
	}
	e.Events.Add(e.Clock.Now(), clusterstatus.Event{Kind: events.Policy, Text: text, User: by.User, From: addr})
}
