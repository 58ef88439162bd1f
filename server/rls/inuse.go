package rls

import "sync/atomic"

// InUse is the rules in use. A source replaces them as a whole.
type InUse struct {
	rules atomic.Pointer[Rules]
	// Refused counts how often a source was wrong, so that the rules stayed as they were.
	Refused atomic.Int64
}

// Rules returns the last valid rules. They are empty before the first.
func (u *InUse) Rules() *Rules {
	if r := u.rules.Load(); r != nil {
		return r
	}
	return &Rules{}
}

// Replace brings other rules into use. A rule with the same path as an earlier one continues its counts. Calls must not
// overlap.
func (u *InUse) Replace(r *Rules) {
	r.setCounts(u.Rules())
	u.rules.Store(r)
}
