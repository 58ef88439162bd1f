package purses

import (
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
)

// SpendAll takes tokens of several keys, all or none, and fills in res.Parts. Each part has its key, limit and tokens.
//
// If others is nil, this process must hold all the tokens. If some are missing and all keys are in demand, due has the
// operations that bring the missing tokens. Otherwise others is called with the parts whose tokens are held. It takes
// the tokens of all other parts from elsewhere, all or none, or returns the parts for which there are too few there as
// well: due then has the operations for those in demand. The keys are locked meanwhile, so nothing has to be given
// back.
func (t *Table) SpendAll(
	mono time.Duration, now int64, parts []engine.Op, peek bool, res *engine.Result,
	others func(held engine.PartSet) (missing engine.PartSet),
) (done bool, due []*Operation) {
	if len(parts) > engine.MaxParts || t.ahead.Load() == 0 {
		return false, nil
	}
	var purses [engine.MaxParts]*keyPurse
	unlock := t.lockAll(parts)
	defer unlock()
	held, ok := t.find(parts, &purses)
	if !ok {
		return false, nil
	}
	all := engine.Parts(len(parts))
	missing, wanted := all&^held, all
	if missing != 0 && others != nil {
		missing = others(held)
		wanted = missing
	}
	switch {
	case missing != 0 && peek:
		return false, nil
	case missing != 0:
		return false, t.want(mono, parts, &purses, wanted, others == nil)
	}
	for i, p := range purses[:len(parts)] {
		if !held.Has(i) {
			continue
		}
		if !peek {
			p.use(mono, parts[i].Tokens)
			p.Tokens -= parts[i].Tokens
		}
		if p.answer(now, parts[i].Tokens, &res.Parts[i]); !peek {
			due = t.appendDue(due, p, mono, parts[i].Tokens)
		}
	}
	t.Decisions.Add(1)
	return true, due
}

// find looks up the purses of parts, which are locked, and returns the parts whose purse has enough tokens. It returns
// false if a purse has another limit, or if two parts have the same purse.
func (t *Table) find(parts []engine.Op, purses *[engine.MaxParts]*keyPurse) (held engine.PartSet, ok bool) {
	for i := range parts {
		s, _ := t.of(parts[i].Key)
		p := s.byKey[string(parts[i].Key)]
		if p == nil {
			continue
		}
		if p.limit != parts[i].Limit || slices.Contains(purses[:i], p) {
			return 0, false
		}
		if purses[i] = p; p.Tokens > 0 && p.Tokens >= parts[i].Tokens {
			held.Add(i)
		}
	}
	return held, true
}

// want notes a request that finds too few tokens, and returns the operations that bring tokens of the wanted parts
// whose keys are in demand; with together it returns none unless all are.
func (t *Table) want(
	mono time.Duration, parts []engine.Op, purses *[engine.MaxParts]*keyPurse, wanted engine.PartSet, together bool,
) (due []*Operation) {
	for i := range parts {
		if purses[i] != nil || !wanted.Has(i) {
			continue
		}
		s, h := t.of(parts[i].Key)
		if t.hot.count(h, parts[i].Limit, mono) {
			purses[i] = t.add(s, &parts[i], mono)
		}
		if purses[i] == nil && together {
			return nil
		}
	}
	for i, p := range purses[:len(parts)] {
		if p != nil && wanted.Has(i) {
			p.use(mono, parts[i].Tokens)
			due = t.appendDue(due, p, mono, parts[i].Tokens)
		}
	}
	return due
}

// appendDue appends the operation that is due for a purse that should have more tokens, if there is one.
func (t *Table) appendDue(due []*Operation, p *keyPurse, mono time.Duration, tokens int64) []*Operation {
	if p.isLow() || p.Tokens < tokens {
		if o := t.due(p, mono); o != nil {
			return append(due, o)
		}
	}
	return due
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
