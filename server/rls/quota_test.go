package rls

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// chain returns descriptors nested a number of levels deep, with the keys k00, k01 and so on, and a limit at the end.
func chain(levels int) string {
	text := "rate_limit: {unit: day, requests_per_unit: 1}"
	for i := levels - 1; i >= 0; i-- {
		text = fmt.Sprintf("descriptors: [{key: k%02d, %s}]", i, text)
	}
	return "domain: d\n" + text + "\n"
}

// A bucket with 16 pairs finds its rule, but a bucket with 17 does not, although the rules have such a descriptor.
func TestPairsAreBounded(t *testing.T) {
	for n, want := range map[int]bool{1: true, 16: true, 17: false} {
		pairs := map[string]string{}
		for i := range n {
			pairs[fmt.Sprintf("k%02d", i)] = "v"
		}
		if q := rules(t, chain(n)).Quota("d", pairs); (q.Rule != nil) != want || q.NoDomain {
			t.Errorf("%d pairs: a rule %t, want %t", n, q.Rule != nil, want)
		}
	}
}

// The number of orders that are tried for an id is limited. These rules have half a million orders, and none ends at a
// limit.
func TestOrdersAreBounded(t *testing.T) {
	const keys = 9
	pairs := map[string]string{}
	for i := range keys {
		pairs[fmt.Sprint("k", i)] = "v"
	}
	d := &domain{node: node{children: map[string]*values{}}}
	for key := range pairs { // each key may follow any other
		d.children[key] = &values{any: &d.node}
	}
	left := mostOrders
	if d.order(nil, slices.Sorted(maps.Keys(pairs)), pairs, &left) != nil || left >= 0 {
		t.Errorf("an order was found, or %d of %d tries are left", left, mostOrders)
	}
	if tries := mostOrders - left; tries > keys*mostOrders {
		t.Errorf("%d tries", tries)
	}
}

// Descriptors may be nested 64 deep. TestMistakes has 65.
func TestNesting(t *testing.T) {
	if err := new(Rules).Add("f.yaml", []byte(chain(64))); err != nil {
		t.Error(err)
	}
}

// False reports do not make counts negative.
func TestReportedCountsEnd(t *testing.T) {
	r := &Rule{counts: new(Counts)}
	for range 8 {
		r.Report(1<<62+1, 1<<60)
		if granted, denied := r.counts.Granted.Load(), r.counts.Denied.Load(); granted != mostReported || denied <= 0 {
			t.Errorf("%d granted, %d denied", granted, denied)
		}
	}
}
