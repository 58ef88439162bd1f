package request

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/algorithm"
)

// rulesFor returns the rules for a new key, nil if it is kept.
func (g *group) rulesFor(key []byte, there bool) *admission.Rules {
	if rules := g.admission.RulesFor(key, there, g.made); rules != nil || !g.full {
		return rules
	}
	return g.admission.Own.Load()
}

// decideAdmission decides part i, whose key is new and must not be kept.
func (g *group) decideAdmission(c *algorithm.Call, i int) {
	t, o := &g.targets[i], &g.admission.Shared
	switch t.rules.NewKeys {
	case engine.AllowNew:
		c.Ask()
		return
	case engine.DenyNew:
		c.Refuse()
		return
	}
	g.lockShared()
	prefix, instance := t.rules.PrefixOf(c.Op.Key), uint8(0)
	for j := range i { // each further key of this request that would share the same limiter gets a separate one
		if x := &g.targets[j]; x.rules != nil && x.rules.NewKeys == engine.OverflowNew && g.calls[j].Limit == c.Limit && x.rules.PrefixOf(g.calls[j].Op.Key) == prefix {
			instance++
		}
	}
	var found bool
	if t.shared, found = o.Ref(c.Now, prefix, c.Limit, instance); !found {
		c.Refuse()
		return
	}
	o.Ask(c, t.shared)
}

func (g *group) lockShared() {
	if !g.sharedLocked {
		g.admission.Shared.Lock()
		g.sharedLocked = true
	}
}

func (g *group) unlockShared() {
	if g.sharedLocked {
		g.sharedLocked = false
		g.admission.Shared.Unlock()
	}
}

// countAdmissions counts the parts whose keys were not kept.
func (g *group) countAdmissions(parts []engine.Op, res *engine.Result) {
	for i := range parts {
		if rules := g.targets[i].rules; rules != nil {
			one := *g.calls[i].Result
			one.Allowed = res.Allowed
			g.admission.Count(rules.NewKeys, &one)
		}
	}
}
