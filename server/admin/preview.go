package admin

import (
	"bytes"
	"context"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server"
)

// template is a policy's key, with the place for the caller's id.
type template struct {
	before, after []byte
	open          bool // it has such a place; without, all callers share the key
}

func templateOf(key []byte) template {
	before, after, open := bytes.Cut(key, []byte(engine.Placeholder))
	return template{before, after, open}
}

// id is the caller whose key this is.
func (t template) id(key []byte) (id []byte, is bool) {
	if len(key) < len(t.before)+len(t.after) || !bytes.HasPrefix(key, t.before) || !bytes.HasSuffix(key, t.after) {
		return nil, false
	}
	return key[len(t.before) : len(key)-len(t.after)], t.open || len(key) == len(t.before)
}

func (t template) fill(id []byte) []byte {
	if !t.open {
		return t.before
	}
	return bytes.Join([][]byte{t.before, t.after}, id)
}

// caller is one key that a limit of a policy is asked for.
type caller struct{ id, key []byte }

// findCallers looks through at most scan keys, which are in an order that has nothing to do with their names, for those of
// the limits; at most most of each limit. A key shared by all callers is looked for in any case.
func findCallers(s *server.Server, limits []engine.Op, scan, most int) (callers [][]caller, looked int) {
	callers = make([][]caller, len(limits))
	templates := make([]template, len(limits))
	open := false
	for i := range limits {
		templates[i] = templateOf(limits[i].Key)
		open = open || templates[i].open
		if !templates[i].open {
			callers[i] = []caller{{key: templates[i].before}}
		}
	}
	if !open {
		return callers, 0
	}
	const stride = 1000 // a lock is held for that long
	for cursor := uint64(0); looked < scan; {
		cursor = s.Keys().Scan(cursor, stride, s.Now(), func(e engine.Entry) {
			for i := range templates {
				if !templates[i].open || len(callers[i]) >= most {
					continue
				}
				if _, is := templates[i].id(e.Key); is {
					key := bytes.Clone(e.Key)
					id, _ := templates[i].id(key)
					callers[i] = append(callers[i], caller{id, key})
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

// peek asks a limit for tokens on behalf of callers, without taking any.
func peek(ctx context.Context, s *server.Server, limit engine.Op, callers []caller, tokens int64) ([]engine.Result, error) {
	if len(callers) == 0 {
		return nil, nil
	}
	who := templateOf(limit.Who)
	ops := make([]engine.Op, len(callers))
	for i, c := range callers {
		ops[i] = engine.Op{Verb: engine.Acquire, Options: engine.Peek, Key: c.key, Limit: limit.Limit, Tokens: tokens, Who: who.fill(c.id)}
	}
	return s.DecideReadOnly(ctx, ops)
}
