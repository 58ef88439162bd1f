package rls

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// The limits of a bucket's id.
const (
	MaxPairs   = 16
	mostOrders = 256 // the descriptors that are tried for one id
)

// Quota is the rule of a bucket of the rate limit quota service.
type Quota struct {
	Rule *Rule // nil if nothing limits the bucket
	// NoDomain reports that the domain has no rules.
	NoDomain bool
	Key      string
	ID       string            // the id of a policy's caller, "" if the bucket names no caller
	With     map[string]string // the fields of a policy
}

// Quota finds the rule of a bucket. The pairs of its id are the entries of a descriptor, in the order of the rules.
func (r *Rules) Quota(name string, pairs map[string]string) (q Quota) {
	d := r.domains[name]
	q.NoDomain = d == nil
	if d == nil || len(pairs) == 0 || len(pairs) > MaxPairs {
		return q
	}
	left := mostOrders
	entries := d.order(nil, slices.Sorted(maps.Keys(pairs)), pairs, &left)
	if entries == nil {
		return q
	}
	m := d.match(entries)
	p := &Plan{request: &Request{Domain: name, Descriptors: []Descriptor{{Entries: entries}}}, matches: []match{m}}
	q.Rule, q.Key = m.rule, p.key(0)
	if m.rule.Policy == "" || m.namesNobody(entries) {
		return q
	}
	q.ID = entries[len(entries)-1].Value
	for _, field := range m.rule.With {
		if q.With == nil {
			q.With = map[string]string{}
		}
		q.With[field] = valueOf(entries, field)
	}
	return q
}

// order finds an order of the pairs for which the rules have a limit, nil if there is none.
func (d *domain) order(entries []Entry, keys []string, pairs map[string]string, left *int) []Entry {
	if len(keys) == 0 {
		if d.match(entries).rule == nil {
			return nil
		}
		return entries
	}
	for i, key := range keys {
		next := append(slices.Clip(entries), Entry{key, pairs[key]})
		if *left--; *left < 0 || !d.begins(next) {
			continue
		}
		if found := d.order(next, slices.Delete(slices.Clone(keys), i, i+1), pairs, left); found != nil {
			return found
		}
	}
	return nil
}

// begins reports whether a descriptor of the rules begins with some entries.
func (d *domain) begins(entries []Entry) bool {
	at := &d.node
	for _, e := range entries {
		v := at.children[e.Key]
		if v == nil {
			return false
		}
		if at = v.find(e.Value); at == nil {
			return false
		}
	}
	return true
}

// Report counts the decisions of an Envoy by a quota of the rule.
func (r *Rule) Report(allowed, denied int64) {
	if r.counts != nil {
		addReported(&r.counts.Granted, allowed)
		addReported(&r.counts.Denied, denied)
	}
}

// mostReported is the maximum of a count, so that false reports cannot make it negative.
const mostReported = 1 << 61

func addReported(to *atomic.Int64, n int64) {
	if to.Add(min(n, mostReported)) > mostReported {
		to.Store(mostReported)
	}
}

// Period is the time in which a rule without a policy grants Requests.
func (r *Rule) Period() time.Duration { return time.Duration(units[r.Unit].seconds) * time.Second }
