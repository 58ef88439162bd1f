package rls

import "sync/atomic"

// Counts are the decisions of a rule since the server started.
type Counts struct {
	Granted, Denied atomic.Int64
	ShadowDenied    atomic.Int64 // granted in shadow mode although the limit would have denied
}

// add counts a decision. A nil c counts nothing.
func (c *Counts) add(over, shadow bool) {
	switch {
	case c == nil:
	case !over:
		c.Granted.Add(1)
	case shadow:
		c.ShadowDenied.Add(1)
	default:
		c.Denied.Add(1)
	}
}

// setCounts gives each rule the counts of the earlier rule with the same path, or new ones.
func (r *Rules) setCounts(before *Rules) {
	known := make(map[string]*Counts, len(before.all))
	for _, rule := range before.all {
		known[rule.Path] = rule.counts
	}
	for _, rule := range r.all {
		if rule.counts = known[rule.Path]; rule.counts == nil {
			rule.counts = new(Counts)
			known[rule.Path] = rule.counts
		}
	}
}

// VisitCounts calls a function with the path of each rule and its counts.
func (r *Rules) VisitCounts(visit func(path string, c *Counts)) {
	for _, rule := range r.all {
		visit(rule.Path, rule.counts)
	}
}
