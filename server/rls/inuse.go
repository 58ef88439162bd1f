package rls

import "sync/atomic"

// InUse is the rules in use. A source replaces them as a whole.
type InUse struct {
	rules atomic.Pointer[Rules]
	// Refused is how often a source had a mistake, so that the rules stayed as they were.
	Refused atomic.Int64
}

// Rules returns the rules that came last without a mistake; empty ones before the first.
func (u *InUse) Rules() *Rules {
	if r := u.rules.Load(); r != nil {
		return r
	}
	return &Rules{}
}

// Replace has other rules used. Its calls must not overlap. A rule with the path of an earlier one continues its counts.
func (u *InUse) Replace(r *Rules) {
	r.setCounts(u.Rules())
	u.rules.Store(r)
}
