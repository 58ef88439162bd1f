package keyspace

import (
	"bytes"

	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/layout"
)

// NodeHolder and GroupHolder begin the names of holders that are nodes of a cluster, and its groups. Clients have other
// names.
const (
	NodeHolder  = "node/"
	GroupHolder = "group/"
)

// ScanLoans calls visit for each loan in one part of the store, once that part is no longer locked. Loans whose end is
// over may be among them.
func (s *Keyspace) ScanLoans(shard int, visit func(key, holder []byte, tokens int64)) {
	type found struct {
		key, holder []byte
		tokens      int64
	}
	var all []found
	var l layout.Loans
	sh := &s.shards[shard]
	sh.mu.Lock()
	for key := range sh.kept.lent {
		name := []byte(key)
		_, tag := s.Locate(name)
		p := sh.Find(tag, name)
		if !p.Found {
			continue
		}
		r := sh.record(p.ref)
		alg := &algorithm.Table[sh.limitOf(r).Algorithm]
		if !alg.Wraps {
			continue
		}
		if _, ok := l.Read(alg.StateOf(r.rest())); !ok {
			continue
		}
		for i := range l.All {
			all = append(all, found{name, bytes.Clone(l.All[i].Holder), l.All[i].Tokens})
		}
	}
	sh.mu.Unlock()
	for i := range all {
		visit(all[i].key, all[i].holder, all[i].tokens)
	}
}
