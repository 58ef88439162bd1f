package store

import "github.com/stintdb/stint/engine"

// rulesFor returns the rules for a new key, nil if it is kept.
func (g *acquireAllCall) rulesFor(key []byte, there bool) *Rules {
	if rules := g.admission.rulesFor(key, there, g.made); rules != nil || !g.full {
		return rules
	}
	return g.admission.own.Load()
}

// decideAdmission decides part i, whose key is new and must not be kept.
func (g *acquireAllCall) decideAdmission(c *call, i int) {
	t, o := &g.targets[i], &g.admission.shared
	switch t.rules.NewKeys {
	case engine.AllowNew:
		c.ask()
		return
	case engine.DenyNew:
		c.refuse()
		return
	}
	g.lockShared()
	prefix, instance := t.rules.prefixOf(c.op.Key), uint8(0)
	for j := range i { // each further key of this request that would share the same limiter gets a separate one
		if x := &g.targets[j]; x.rules != nil && x.rules.NewKeys == engine.OverflowNew && g.calls[j].limit == c.limit && x.rules.prefixOf(g.calls[j].op.Key) == prefix {
			instance++
		}
	}
	var found bool
	if t.shared, found = o.ref(c.now, prefix, c.limit, instance); !found {
		c.refuse()
		return
	}
	o.ask(c, t.shared)
}

func (g *acquireAllCall) lockShared() {
	if !g.sharedLocked {
		g.admission.shared.mu.Lock()
		g.sharedLocked = true
	}
}

func (g *acquireAllCall) unlockShared() {
	if g.sharedLocked {
		g.sharedLocked = false
		g.admission.shared.mu.Unlock()
	}
}

// countAdmissions counts the parts whose keys were not kept.
func (g *acquireAllCall) countAdmissions(parts []engine.Op, res *engine.Result) {
	for i := range parts {
		if t := &g.targets[i]; t.rules != nil {
			one := *g.calls[i].result
			one.Allowed = res.Allowed
			g.admission.count(t.rules.NewKeys, &one)
		}
	}
}
