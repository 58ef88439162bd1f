package tracking

import (
	"slices"
	"strings"
)

// pattern is one client's prefix.
type pattern struct {
	prefix string
	client *Client
}

// row is a prefix with all its patterns.
type row struct {
	prefix   string
	parent   int // the row of the longest other prefix that this one begins with, or -1
	patterns []*pattern
}

// rows are all prefixes, in order. A list is never changed once others see it.
type rows []row

// each visits the rows whose prefixes a key begins with. They all stand before the key in the order, and each is a prefix of every row between
// itself and the key: so they are among the parents of the last row before the key.
func (all rows) each(key []byte, visit func(*row)) {
	at, _ := slices.BinarySearchFunc(all, key, func(r row, key []byte) int {
		if r.prefix <= string(key) {
			return -1
		}
		return 1
	})
	for at--; at >= 0; at = all[at].parent {
		if r := &all[at]; len(key) >= len(r.prefix) && string(key[:len(r.prefix)]) == r.prefix {
			visit(r)
		}
	}
}

func (all rows) find(prefix string) (at int, found bool) {
	return slices.BinarySearchFunc(all, prefix, func(r row, prefix string) int { return strings.Compare(r.prefix, prefix) })
}

// with returns a list with more patterns.
func (all rows) with(more []*pattern) rows {
	all = slices.Clone(all)
	for _, p := range more {
		at, found := all.find(p.prefix)
		if !found {
			all = slices.Insert(all, at, row{prefix: p.prefix})
		}
		all[at].patterns = append(slices.Clip(all[at].patterns), p)
	}
	return all.linked()
}

// without returns a list without some patterns.
func (all rows) without(some []*pattern) rows {
	all = slices.Clone(all)
	for _, p := range some {
		at, found := all.find(p.prefix)
		if !found {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(all[at].patterns), func(other *pattern) bool { return other == p })
		if all[at].patterns = rest; len(rest) == 0 {
			all = slices.Delete(all, at, at+1)
		}
	}
	return all.linked()
}

// linked fills in the parents.
func (all rows) linked() rows {
	for i := range all {
		parent := i - 1
		for parent >= 0 && !strings.HasPrefix(all[i].prefix, all[parent].prefix) {
			parent = all[parent].parent
		}
		all[i].parent = parent
	}
	return all
}
