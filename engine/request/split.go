package request

import "github.com/stintdb/stint/engine"

// A request whose last part has [engine.Else] divides its cost: the included limits, see [engine.Op.IsIncluded], are an
// allowance, and the last part is a balance. From each of the limits as much is taken as all of them can give now, at
// most the cost, and the rest from the balance, or nothing at all. All other limits give the whole cost, or their own.

// division is how a request divides its cost. The zero value is of a request that does not.
type division struct {
	cost     int64
	included engine.PartSet // the included limits
}

// open returns the parts of a request. If it divides its cost, they are copies in a room, which may be changed.
func (d *division) open(whole *engine.Op, parts, room []engine.Op) []engine.Op {
	*d = division{}
	if !engine.HasElse(parts) || whole.Tokens == 0 {
		return parts
	}
	d.cost = whole.Tokens
	parts = room[:copy(room, parts)]
	for i := range parts {
		if parts[i].IsIncluded() {
			d.included.Add(i)
			parts[i].MaxWait = 0 // it gives what it has now
		}
	}
	return parts
}

// split finds out how much the included limits can give, and makes each part ask for its amount.
func (d *division) split(g *group, now int64, parts []engine.Op, results []engine.Result) {
	made, most, last := len(g.made), d.cost, len(parts)-1
	for i := range parts {
		if d.included.Has(i) {
			setCost(&parts[i], d.cost, engine.UpTo)
			g.askPart(now, &parts[i], i, &results[i])
			most = min(most, results[i].Granted)
			g.targets[i].rules = nil
		}
	}
	for i := range parts {
		if d.included.Has(i) {
			setCost(&parts[i], most, 0)
		}
	}
	setCost(&parts[last], d.cost-most, 0)
	g.made = g.made[:made]
}

// setCost asks a part for tokens, or only for its state if they are 0.
func setCost(part *engine.Op, tokens int64, options engine.Option) {
	part.Tokens, part.Options = tokens, part.Options&^(engine.FixedCost|engine.UpTo)|options
	if tokens == 0 {
		part.Options |= engine.FixedCost
	}
}

// bind returns the part that binds a request that was denied, given the part that denied it. If the balance has too
// little, the request has to wait until the included limits can give what the balance lacks.
func (d *division) bind(g *group, now int64, parts []engine.Op, results []engine.Result, binding int) int {
	last := len(parts) - 1
	for i := range parts {
		if d.included.Has(i) || i == last { // FixedCost meant that nothing was asked
			parts[i].Options &^= engine.FixedCost
		}
	}
	if binding != last || results[last].Status != engine.OK {
		return binding
	}
	lacks := d.cost - max(0, results[last].Remaining)
	for i := range parts {
		if !d.included.Has(i) {
			continue
		}
		parts[i].Tokens = lacks
		g.askPart(now, &parts[i], i, &results[i])
		if !results[i].Allowed && results[i].Wait == engine.NeverWait {
			return last
		}
	}
	if binding = bindingOf(results[:last]); binding < 0 {
		return last
	}
	return binding
}

// divideUse divides the tokens that a request with [engine.Else] has used, as the request itself would: what was taken from
// the balance goes back first. What was used beyond the amounts is taken from the included limits as far as they reach,
// then from the balance, even as a debt.
func divideUse(g *group, now int64, op *engine.Op, isSettled bool) {
	count := len(g.settlements)
	last := &g.settlements[count-1]
	if !last.Else || len(op.Parts) > 0 {
		return
	}
	used, most := last.amount, int64(0)
	var included engine.PartSet
	for i := range g.settlements[:count-1] {
		p := &g.settlements[i]
		if one := p.asPart(); one.IsIncluded() {
			included.Add(i)
			most = p.Charged()
		}
	}
	if beyond := used - most - last.Charged(); beyond > 0 && !isSettled {
		most += reach(g, now, included, beyond)
	}
	for i := range g.settlements[:count-1] {
		if included.Has(i) {
			g.settlements[i].amount = min(used, most)
		}
	}
	last.amount = max(0, used-most)
}

// asPart is the part of a request that a limit of a reservation was.
func (p *settlement) asPart() engine.Op {
	op := engine.Op{Key: p.Key, Who: p.Who, Limit: p.Limit}
	if p.FixedCost {
		op.Options = engine.FixedCost
	}
	if p.Else {
		op.Options |= engine.Else
	}
	return op
}

// reach is how many more tokens all the included limits of a reservation can give, at most some.
func reach(g *group, now int64, included engine.PartSet, most int64) int64 {
	for i := range g.settlements {
		if !included.Has(i) {
			continue
		}
		p, c := &g.settlements[i], &g.calls[i]
		g.parts[i] = engine.Op{Key: p.Key, Limit: p.Limit, Tokens: most, Options: engine.UpTo}
		if g.loadPresent(now, i, &g.idResult); c.IsNew || c.Prev.Algorithm == c.Limit.Algorithm {
			c.Ask()
		}
		most = min(most, g.idResult.Granted)
	}
	return most
}
