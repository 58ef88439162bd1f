package admission

import (
	"slices"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// Quota bounds how many keys may begin with one of some texts. Expired keys count until they
// are dropped.
type Quota struct {
	Name     string
	Prefixes []string
	MaxKeys  int64
}

// Quotas count keys by how they begin.
type Quotas struct {
	all     []Quota
	counts  []atomic.Int64
	lengths []int // of the prefixes, ascending
	byText  map[string][]int
}

// NewQuotas begins to count; no key counts yet. Without any quota it returns nil.
func NewQuotas(all []Quota) *Quotas {
	if len(all) == 0 {
		return nil
	}
	q := &Quotas{all: slices.Clone(all), counts: make([]atomic.Int64, len(all)), byText: map[string][]int{}}
	for i := range all {
		for _, p := range all[i].Prefixes {
			if q.byText[p] = append(q.byText[p], i); !slices.Contains(q.lengths, len(p)) {
				q.lengths = append(q.lengths, len(p))
			}
		}
	}
	slices.Sort(q.lengths)
	return q
}

// each calls f for every quota that a key counts for, whatever its database. A key that begins as several of one
// quota's texts do counts for each of them.
func (q *Quotas) each(name []byte, f func(i int)) {
	key := database.KeyOf(name)
	for _, n := range q.lengths {
		if n > len(key) {
			return
		}
		for _, i := range q.byText[string(key[:n])] {
			f(i)
		}
	}
}

// Add counts n more keys that begin as this one, or fewer if n is below zero.
func (q *Quotas) Add(key []byte, n int64) { q.each(key, func(i int) { q.counts[i].Add(n) }) }

// isFull reports whether one more key like this would be beyond a quota. Others that are about to be made count too.
func (q *Quotas) isFull(key []byte, others [][]byte) (full bool) {
	q.each(key, func(i int) {
		n, most := q.counts[i].Load(), q.all[i].MaxKeys
		if n < most && n+int64(len(others)) >= most { // it depends on the other keys
			for _, other := range others {
				q.each(other, func(j int) {
					if i == j {
						n++
					}
				})
			}
		}
		full = full || n >= most
	})
	return full
}

// QuotaCounts calls visit with each quota and the keys that count for it.
func (r *Admission) QuotaCounts(visit func(q Quota, keys int64)) {
	if q := r.Quotas.Load(); q != nil {
		for i := range q.all {
			visit(q.all[i], q.counts[i].Load())
		}
	}
}

// Pressure returns the operations that adapt a replicated store's restrictions to its quotas and, with full, to its
// memory. The decider must apply them on all replicas. It returns none if nothing has to change.
func (r *Admission) Pressure(rules Rules, full bool) []engine.Op {
	wanted := map[string]Rules{}
	if full {
		wanted[""] = rules
	}
	r.QuotaCounts(func(q Quota, keys int64) {
		for _, p := range q.Prefixes {
			if keys >= q.MaxKeys && len(wanted) < MaxRestrictions {
				wanted[p] = rules
			}
		}
	})
	return r.changesTo(wanted)
}

// Follow returns the operations that give a replicated store the restrictions of another. It returns none if it has
// them.
func (r *Admission) Follow(other *Admission) []engine.Op {
	wanted := map[string]Rules{}
	if set := other.set.Load(); set != nil {
		for _, x := range *set {
			wanted[x.beginning] = x.Rules
		}
	}
	return r.changesTo(wanted)
}

// changesTo returns the operations that lead to other restrictions, by what the keys begin with.
func (r *Admission) changesTo(wanted map[string]Rules) (ops []engine.Op) {
	if set := r.set.Load(); set != nil {
		for _, x := range *set {
			if rules, is := wanted[x.beginning]; !is {
				ops = append(ops, engine.Op{Verb: engine.Restrict, Key: []byte(x.beginning)})
			} else if x.Rules == rules {
				delete(wanted, x.beginning)
			}
		}
	}
	for beginning, rules := range wanted {
		ops = append(ops, engine.Op{Verb: engine.Restrict, NewKeys: rules.NewKeys, Key: []byte(beginning), Who: []byte(rules.Delimiters)})
	}
	return ops
}
