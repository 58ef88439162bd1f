// Package callers finds the callers of policies by the keys of their limits, and asks limits on their behalf.
package callers

import (
	"bytes"
	"context"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/server"
)

// TemplateOf parses the key of a policy's limit, which was checked when the policy was set or the draft was parsed.
func TemplateOf(text []byte) engine.Template {
	t, _ := engine.ParseTemplate(text)
	return t
}

// Caller is a key of a policy's limit, and the id and fields that make it.
type Caller struct {
	ID, Key []byte
	Fields  [][]byte
}

// Find looks through at most scan keys, in an order that does not depend on their names, for keys of the
// limits, at most most for each limit. If all callers share a key, it is always included.
func Find(s *server.Server, limits []engine.Op, scan, most int) (callers [][]Caller, looked int) {
	callers = make([][]Caller, len(limits))
	templates := make([]engine.Template, len(limits))
	open := false
	for i := range limits {
		templates[i] = TemplateOf(limits[i].Key)
		if !templates[i].IsShared() {
			open = true
			continue
		}
		key, _ := templates[i].AppendTo(nil, nil, nil)
		callers[i] = []Caller{{Key: key}}
	}
	if !open {
		return callers, 0
	}
	const stride = 1000 // keys visited while a lock is held
	for cursor := uint64(0); looked < scan; {
		cursor = s.Keys().Scan(cursor, stride, s.Now(), func(e keyspace.Entry) {
			number, name := database.Split(e.Key)
			for i := range templates {
				if number != 0 || templates[i].IsShared() || len(callers[i]) >= most {
					continue
				}
				if _, _, is := templates[i].Values(name); is {
					key := bytes.Clone(name)
					id, fields, _ := templates[i].Values(key)
					callers[i] = append(callers[i], Caller{id, key, fields})
				}
			}
		})
		looked += stride
		if cursor == 0 {
			break
		}
	}
	return callers, min(looked, s.Keys().Len())
}

// Peek asks limit i for tokens on behalf of callers without taking any. It asks a class together with its ancestors.
func Peek(ctx context.Context, s *server.Server, limits []engine.Op, i int, callers []Caller, tokens int64) ([]engine.Result, error) {
	if len(callers) == 0 {
		return nil, nil
	}
	levels := max(1, engine.TreeAt(limits, i))
	ops := make([]engine.Op, len(callers))
	for j, c := range callers {
		parts := make([]engine.Op, levels)
		for n := range parts {
			limit := &limits[i+n]
			key := TemplateOf(limit.Key)
			who, _ := limit.WhoTemplate(true)
			parts[n] = engine.Op{Options: engine.Peek, Limit: limit.Limit, Tokens: tokens, Weight: limit.Weight}
			parts[n].Key, _ = key.AppendTo(nil, c.ID, c.Fields)
			parts[n].Key = database.EscapeFrom(parts[n].Key, 0)
			parts[n].Who, _ = who.AppendTo(nil, c.ID, c.Fields)
		}
		if ops[j] = parts[0]; levels > 1 {
			ops[j] = engine.Op{Verb: engine.AcquireAll, Options: engine.Peek, Tokens: tokens, Parts: parts}
		}
	}
	results, err := s.DecideReadOnly(ctx, ops)
	for j := range results {
		if res := &results[j]; levels > 1 && res.Status == engine.OK {
			*res = res.Parts[0]
		}
	}
	return results, err
}

// Overridden returns the ids of callers with other limits than the policy's.
func Overridden(p *policy.Policy) map[string]bool {
	apart := map[string]bool{}
	for _, o := range p.Overrides {
		apart[o.ID] = true
	}
	return apart
}
