package policyfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stintdb/stint/cmd/stint/inspect"
	"github.com/stintdb/stint/server/policyset"
)

// show prints changes.
func (c *Command) show(answer *policyset.Reply) error {
	if c.asJSON {
		out := json.NewEncoder(c.Out)
		out.SetIndent("", "  ")
		return out.Encode(answer)
	}
	var b bytes.Buffer
	if len(answer.Changes) == 0 {
		b.WriteString("The server has these policies.\n")
	}
	for i := range answer.Changes {
		change := &answer.Changes[i]
		fmt.Fprintf(&b, "%s %s\n", verbOf(&change.Change), nameOf(&change.Change))
		showRule(&b, "-", change.Before)
		showRule(&b, "+", change.After)
		if change.Effect != nil {
			showEffect(&b, change.Effect)
		}
	}
	_, err := b.WriteTo(c.Out)
	return err
}

func verbOf(c *policyset.Change) string {
	switch {
	case c.Before == nil:
		return "add"
	case c.After == nil:
		return "remove"
	}
	return "change"
}

func nameOf(c *policyset.Change) string {
	if c.ID == "" {
		return "policy " + c.Policy
	}
	return fmt.Sprintf("override of policy %s for %s", c.Policy, c.ID)
}

// showRule prints the limits and options of one side of a change.
func showRule(b *bytes.Buffer, sign string, r *policyset.Rule) {
	if r == nil {
		return
	}
	for _, limit := range r.Limits {
		fmt.Fprintf(b, "  %s %s\n", sign, limit)
	}
	var options []string
	if r.Shadow {
		options = append(options, "shadow")
	}
	if r.Strict {
		options = append(options, "strict")
	}
	if len(options) > 0 {
		fmt.Fprintf(b, "  %s %s\n", sign, strings.Join(options, ", "))
	}
}

// showEffect prints what a change would do.
func showEffect(b *bytes.Buffer, e *policyset.Effect) {
	if e.Callers > 0 {
		fmt.Fprintf(b, "    next requests denied: %d now, %d then, of %s\n", e.DeniedNow, e.DeniedThen, inspect.Count(int64(e.Callers), "caller"))
	}
	if e.WrongType > 0 {
		fmt.Fprintf(b, "    %s would get errors until their keys expire, which are of another algorithm\n", inspect.Count(int64(e.WrongType), "caller"))
	}
	if r := e.Replay; r != nil {
		within := (time.Duration(r.WithinMs) * time.Millisecond).Round(time.Second)
		fmt.Fprintf(b, "    of %s in the last %s, denied: %d, with these limits %d", inspect.Count(r.Requests, "request"), within, r.Denied, r.Then)
		if r.OneIn > 1 {
			fmt.Fprintf(b, " (one in %d callers was recorded)", r.OneIn)
		}
		b.WriteByte('\n')
	}
}
