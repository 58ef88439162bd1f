package tracking

import (
	"slices"
	"strings"

	"github.com/stintdb/stint/server/fanout"
)

// pattern is one client's prefix, with its place among the keys that changed.
type pattern struct {
	prefix string
	place  *fanout.Place[[]byte]
}

// row is a prefix with the keys that changed and begin with it, for all clients who asked for them.
type row struct {
	prefix string
	parent int // the row of the longest other prefix that this one begins with, or -1
	depth  int // how many others it begins with
	keys   *fanout.Log[[]byte]
}

// rows are all prefixes, in order. A list is never changed once others see it.
type rows []row

// each visits the rows whose prefixes a key begins with. In the order, all of them come before the key, and each is a
// prefix of every row between itself and the key. So they are the last row before the key, or among its parents.
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
	return slices.BinarySearchFunc(all, prefix, func(r row, prefix string) int {
		return strings.Compare(r.prefix, prefix)
	})
}

// with returns a list with more prefixes.
func (all rows) with(prefixes []string, queue *fanout.Queue) rows {
	next := all
	for _, prefix := range prefixes {
		at, found := next.find(prefix)
		if found {
			continue
		}
		if len(next) == len(all) {
			next = slices.Clone(all)
		}
		next = slices.Insert(next, at, row{prefix: prefix, keys: fanout.NewLog(queue, maxUnreadBytes, keyBytes)})
	}
	return next.linked(len(all))
}

// without returns a list without some prefixes, except those that a client has.
func (all rows) without(prefixes []string) rows {
	next := all
	for _, prefix := range prefixes {
		at, found := next.find(prefix)
		if !found || next[at].keys.Len() > 0 {
			continue
		}
		if len(next) == len(all) {
			next = slices.Clone(all)
		}
		next = slices.Delete(next, at, at+1)
	}
	return next.linked(len(all))
}

// linked fills in the parents of a list whose length has changed.
func (all rows) linked(before int) rows {
	if len(all) == before {
		return all
	}
	for i := range all {
		parent, depth := i-1, 0
		for parent >= 0 && !strings.HasPrefix(all[i].prefix, all[parent].prefix) {
			parent = all[parent].parent
		}
		if parent >= 0 {
			depth = all[parent].depth + 1
		}
		all[i].parent, all[i].depth = parent, depth
	}
	return all
}

// depth is the largest number of other prefixes that a prefix begins with.
func (all rows) depth() (most int) {
	for i := range all {
		most = max(most, all[i].depth)
	}
	return most
}
