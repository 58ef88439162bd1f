package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// rulesFor returns the rules for a new key, nil if it is kept.
func (g *acquireAllCall) rulesFor(key []byte, there bool) *Rules {
	if rules := g.admission.rulesFor(key, there, g.made); rules != nil || !g.full {
		return rules
	}
	return g.admission.own.Load()
}

// decideAdmission decides part i, whose key is new and must not be kept.
func (g *acquireAllCall) decideAdmission(c *algorithm.Call, i int) {
	t, o := &g.targets[i], &g.admission.shared
	switch t.rules.NewKeys {
	case engine.AllowNew:
		c.Ask()
		return
	case engine.DenyNew:
		c.Refuse()
		return
	}
	g.lockShared()
	prefix, instance := t.rules.prefixOf(c.Op.Key), uint8(0)
	for j := range i { // each further key of this request that would share the same limiter gets a separate one
		if x := &g.targets[j]; x.rules != nil && x.rules.NewKeys == engine.OverflowNew && g.calls[j].Limit == c.Limit && x.rules.prefixOf(g.calls[j].Op.Key) == prefix {
			instance++
		}
	}
	var found bool
	if t.shared, found = o.ref(c.Now, prefix, c.Limit, instance); !found {
		c.Refuse()
		return
	}
	o.ask(c, t.shared)
}

func (g *acquireAllCall) lockShared() {
	if !g.sharedLocked {
		g.admission.shared.lock()
		g.sharedLocked = true
	}
}

func (g *acquireAllCall) unlockShared() {
	if g.sharedLocked {
		g.sharedLocked = false
		g.admission.shared.unlock()
	}
}

// countAdmissions counts the parts whose keys were not kept.
func (g *acquireAllCall) countAdmissions(parts []engine.Op, res *engine.Result) {
	for i := range parts {
		if t := &g.targets[i]; t.rules != nil {
			one := *g.calls[i].Result
			one.Allowed = res.Allowed
			g.admission.count(t.rules.NewKeys, &one)
		}
	}
}
