package rights

import (
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
)

// SpendAll takes tokens of several keys, all or nothing. Each part has its key, limit and tokens. Once all of the keys are in demand, due is
// the operations that bring tokens of those without.
func (t *Table) SpendAll(mono time.Duration, now int64, parts []engine.Op, peek bool, results []engine.Result) (done bool, due []*Operation) {
	if len(parts) > engine.MaxParts || t.ahead.Load() == 0 {
		return false, nil
	}
	var rights [engine.MaxParts]*right
	unlock := t.lockAll(parts)
	defer unlock()
	enough := true
	for i := range parts {
		s, h := t.of(parts[i].Key)
		r := s.byKey[string(parts[i].Key)]
		switch {
		case r == nil && (peek || !t.hot.count(h, parts[i].Limit, mono)):
			return false, nil
		case r == nil:
			if r = t.add(s, &parts[i], mono); r == nil {
				return false, nil
			}
		case r.limit != parts[i].Limit || slices.Contains(rights[:i], r):
			return false, nil
		}
		rights[i] = r
		enough = enough && r.tokens > 0 && r.tokens >= parts[i].Tokens
	}
	for i, r := range rights[:len(parts)] {
		if !peek {
			r.use(mono, parts[i].Tokens)
		}
		if enough {
			if !peek {
				r.tokens -= parts[i].Tokens
			}
			r.answer(now, parts[i].Tokens, &results[i])
		}
		if !peek && (r.isLow() || r.tokens < parts[i].Tokens) {
			if o := t.due(r, mono); o != nil {
				due = append(due, o)
			}
		}
	}
	if enough {
		t.Decisions.Add(1)
	}
	return enough, due
}

// lockAll locks the stripes of several keys, in the order of the stripes.
func (t *Table) lockAll(parts []engine.Op) (unlock func()) {
	var order [engine.MaxParts]int
	for i := range parts {
		_, h := t.of(parts[i].Key)
		order[i] = int(h % stripes)
	}
	slices.Sort(order[:len(parts)])
	locked := slices.Compact(order[:len(parts)])
	for _, i := range locked {
		t.stripes[i].mu.Lock()
	}
	return func() {
		for _, i := range locked {
			t.stripes[i].mu.Unlock()
		}
	}
}
