package conn

import (
	"fmt"
	"time"

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
	text := ""
	switch op, res := &batch.decision.Ops[r.first], &batch.decision.Results[r.first]; {
	case res.Status != engine.OK:
		return
	case op.Verb == engine.SetPolicy && op.Options&engine.Shadow != 0:
		text = fmt.Sprintf("Policy %s was set as a shadow", batch.key(r.first, 0))
	case op.Verb == engine.SetPolicy:
		text = fmt.Sprintf("Policy %s was set", batch.key(r.first, 0))
	case op.Verb == engine.DropPolicy:
		text = fmt.Sprintf("Policy %s was deleted", batch.key(r.first, 0))
	case op.Verb == engine.SetOverride:
		who := "a caller"
		if e.config().TopKeys == "plain" {
			who = string(batch.key(r.first, 1))
		}
		what := "was overridden"
		if len(op.Parts) == 0 {
			what = "is as before: its override ended"
		}
		text = fmt.Sprintf("The limit of %s on policy %s %s", who, batch.key(r.first, 0), what)
	default:
		return
	}
	e.Events.Add(clusterstatus.Event{At: e.Clock.Now() / int64(time.Millisecond), Kind: events.Policy, Text: text, User: by.User, From: addr})
}
