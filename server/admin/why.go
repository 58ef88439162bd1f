package admin

import (
	"bytes"
	"context"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/admin/callers"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// policiesMatched limits the policies that are searched for a key, in the order of their names.
const policiesMatched = 1000

// policyKey is the key of a limit of a policy.
type policyKey struct {
	policy   string
	template engine.Template
}

// policyKeys lists the keys of the limits of all policies.
func policyKeys(s *server.Server) (keys []policyKey) {
	names := s.Keys().PolicyNames()
	for _, name := range names[:min(len(names), policiesMatched)] {
		s.Keys().PolicyTemplates(name, func(key []byte) bool {
			keys = append(keys, policyKey{name, callers.TemplateOf(bytes.Clone(key))})
			return true
		})
	}
	return keys
}

// deniedBy names the policy and the limit to which a key belongs: the first by name, "" if there is none.
func deniedBy(s *server.Server, keys []policyKey, key []byte) string {
	for i := range keys {
		id, fields, is := keys[i].template.Values(key)
		if !is {
			continue
		}
		parts := partsOf(s, keys[i].policy, id)
		for j := range parts {
			if string(keyOf(&parts[j], callers.Caller{ID: id, Fields: fields})) == string(key) {
				return keys[i].policy + ": " + limiter.SpecText(parts[j])
			}
		}
	}
	return ""
}

// partsOf returns the limits of a policy for a caller.
func partsOf(s *server.Server, policy string, id []byte) []engine.Op {
	p, _ := s.Keys().PolicyOf(policy, id)
	return p.Parts
}

// keyOf returns the key of a limit for a caller, nil if the caller's id or a field is unknown.
func keyOf(limit *engine.Op, c callers.Caller) []byte {
	template := callers.TemplateOf(limit.Key)
	key, missing := template.AppendTo(nil, c.ID, c.Fields)
	if missing != "" || c.ID == nil && bytes.Contains(limit.Key, []byte(engine.Placeholder)) {
		return nil
	}
	return key
}

// keyPolicy is a policy to which a key belongs, and its limits for the same caller.
type keyPolicy struct {
	Name   string     `json:"name"`
	Shadow bool       `json:"shadow"`
	Limits []keyLimit `json:"limits"`

	ID         string   `json:"id"`         // of the caller, "" if all callers share the key
	Overridden bool     `json:"overridden"` // the caller has other limits than the policy's
	Own        []string `json:"own"`        // the caller's limits
	Version    string   `json:"version"`    // of these limits

	id        []byte
	templates []engine.Template // the keys of these limits
}

// viewOf returns the view of a policy for a caller, without what its limits leave.
func viewOf(s *server.Server, known *policy.Policy, id []byte) keyPolicy {
	view := keyPolicy{Name: known.Name, ID: string(id), Shadow: known.Shadow, Version: versionOf(known, true), Limits: []keyLimit{}, id: id}
	for i := range known.Parts {
		view.Own = append(view.Own, limiter.SpecText(known.Parts[i]))
		view.templates = append(view.templates, callers.TemplateOf(known.Parts[i].Key))
	}
	all, _ := s.Keys().PolicyOf(known.Name, nil)
	view.Overridden = versionOf(&all, true) != view.Version
	return view
}

// keyLimit is what a limit leaves for a caller.
type keyLimit struct {
	Spec   string `json:"spec"`
	Key    string `json:"key"`
	Left   int64  `json:"left"`
	Limit  int64  `json:"limit"`
	Denies bool   `json:"denies"` // it would deny the next check
	WaitMs int64  `json:"waitMs"` // until it would grant the next check; -1 for never
}

// policiesOf lists the policies to which a key belongs. It asks each limit without taking a token.
func policiesOf(ctx context.Context, s *server.Server, key []byte) (policies []keyPolicy, err error) {
	policies = []keyPolicy{}
	last := ""
	for _, k := range policyKeys(s) {
		id, fields, is := k.template.Values(key)
		if !is || k.policy == last && len(policies) > 0 {
			continue
		}
		last = k.policy
		known, _ := s.Keys().PolicyOf(k.policy, id)
		view := viewOf(s, &known, id)
		for i := range known.Parts {
			limit := &known.Parts[i]
			who := callers.Caller{ID: id, Fields: fields}
			if who.Key = keyOf(limit, who); who.Key == nil {
				continue
			}
			now, err := callers.Peek(ctx, s, known.Parts, i, []callers.Caller{who}, 0)
			if err != nil {
				return nil, err
			}
			next, err := callers.Peek(ctx, s, known.Parts, i, []callers.Caller{who}, max(1, limit.Tokens))
			if err != nil {
				return nil, err
			}
			if now, next := &now[0], &next[0]; next.Status == engine.OK {
				view.Limits = append(view.Limits, keyLimit{limiter.SpecText(*limit), string(who.Key), now.Remaining, next.Limit, !next.Allowed, command.Millis(next.Wait)})
			}
		}
		policies = append(policies, view)
	}
	return policies, nil
}
