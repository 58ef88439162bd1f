package purses

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
	var purses [engine.MaxParts]*keyPurse
	unlock := t.lockAll(parts)
	defer unlock()
	enough := true
	for i := range parts {
		s, h := t.of(parts[i].Key)
		p := s.byKey[string(parts[i].Key)]
		switch {
		case p == nil && (peek || !t.hot.count(h, parts[i].Limit, mono)):
			return false, nil
		case p == nil:
			if p = t.add(s, &parts[i], mono); p == nil {
				return false, nil
			}
		case p.limit != parts[i].Limit || slices.Contains(purses[:i], p):
			return false, nil
		}
		purses[i] = p
		enough = enough && p.Tokens > 0 && p.Tokens >= parts[i].Tokens
	}
	for i, p := range purses[:len(parts)] {
		if !peek {
			p.use(mono, parts[i].Tokens)
		}
		if enough {
			if !peek {
				p.Tokens -= parts[i].Tokens
			}
			p.answer(now, parts[i].Tokens, &results[i])
		}
		if !peek && (p.isLow() || p.Tokens < parts[i].Tokens) {
			if o := t.due(p, mono); o != nil {
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
