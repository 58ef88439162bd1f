// Package trial decides requests of the past: it asks limits at the times of the requests, in a separate store that
// begins with full limits.
package trial

import (
	"errors"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command/limiter"
)

// Limits are the limits of a policy, whose keys have {} for the caller and {name} for a field.
type Limits struct {
	parts []part
	specs []string
}

// part is one of the limits.
type part struct {
	op       engine.Op // without its key
	key, who engine.Template
}

// NewLimits takes limits as RL.POLICY SET parses them.
func NewLimits(ops []engine.Op) (l Limits, err error) {
	for _, op := range ops {
		p := part{op: op}
		if p.key, err = engine.ParseTemplate(op.Key); err == nil {
			p.who, err = op.WhoTemplate(true)
		}
		if err != nil {
			return l, err
		}
		p.op.Key, p.op.Who = nil, nil
		l.parts, l.specs = append(l.parts, p), append(l.specs, limiter.SpecText(op))
	}
	return l, nil
}

// Specs returns the limits as RL.POLICY GET shows them.
func (l *Limits) Specs() []string { return l.specs }

// ErrNames is the error of limits whose keys need more fields than a policy may have.
var ErrNames = errors.New("a limit asks for more fields than a policy may")

// Names lists the fields that the keys need.
func (l *Limits) Names() (names []string, err error) {
	var fields [][]byte
	for _, p := range l.parts {
		for {
			missing := p.missing(nil, fields)
			if missing == "" {
				break
			}
			if len(names) > engine.MaxFields || slices.Contains(names, missing) {
				return nil, ErrNames
			}
			names = append(names, missing)
			fields = append(fields, []byte(missing), nil)
		}
	}
	return names, nil
}

// missing returns the first field that a key needs and a request lacks, "" if it has all.
func (p *part) missing(id []byte, fields [][]byte) string {
	_, missing := p.key.AppendTo(nil, id, fields)
	if missing == "" {
		_, missing = p.who.AppendTo(nil, id, fields)
	}
	return missing
}

// Trial is the state of limits during a replay. Only one goroutine may use it.
type Trial struct {
	limits *Limits
	store  *store.Store
	op     [1]engine.Op
	result [1]engine.Result
	parts  []engine.Op
	keys   []byte // the keys and holders of the parts, concatenated
	ends   [][2]int
}

// Begin returns a trial with full limits in a number of shards, 0 for the default. [Trial.Close] frees its memory.
func (l *Limits) Begin(shards int) *Trial {
	return &Trial{limits: l, store: store.New(store.Config{Shards: shards}), parts: make([]engine.Op, len(l.parts)), ends: make([][2]int, len(l.parts))}
}

// Ask decides a request for tokens. now is in nanoseconds since the Unix epoch and must not go back; fields alternates
// names and values. If the request is denied, binding is the position of the limit with the longest wait.
func (t *Trial) Ask(now, tokens int64, id []byte, fields [][]byte) (allowed bool, binding int) {
	t.keys = t.keys[:0]
	for i := range t.limits.parts {
		t.keys, _ = t.limits.parts[i].key.AppendTo(t.keys, id, fields)
		t.ends[i][0] = len(t.keys)
		t.keys, _ = t.limits.parts[i].who.AppendTo(t.keys, id, fields)
		t.ends[i][1] = len(t.keys)
	}
	from := 0
	for i := range t.parts {
		t.parts[i] = t.limits.parts[i].op
		mid, end := t.ends[i][0], t.ends[i][1]
		t.parts[i].Key, t.parts[i].Who = t.keys[from:mid:mid], t.keys[mid:end:end]
		from = end
		if t.parts[i].Options&engine.FixedCost == 0 {
			t.parts[i].Tokens = tokens
		}
	}
	if len(t.parts) == 1 {
		t.op[0] = t.parts[0]
	} else {
		t.op[0] = engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: t.parts}
	}
	t.store.Apply(now, t.op[:], t.result[:])
	if t.result[0].Allowed {
		return true, 0
	}
	if len(t.parts) > 1 {
		binding = max(t.result[0].Binding, 0)
	}
	return false, binding
}

// Bytes is the memory of the state.
func (t *Trial) Bytes() int64 { return t.store.Bytes() }

// Sweep removes some of the keys at their full limit, as a server does.
func (t *Trial) Sweep(now int64) { t.store.Sweep(now, max(t.store.Len()/50, 2000)) }

// Close frees the state.
func (t *Trial) Close() { t.store.Close() }
