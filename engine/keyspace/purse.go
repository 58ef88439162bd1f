package keyspace

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// applyPurse carries out a Prepare or Deposit. With readOnly it changes nothing, and returns false if it would have.
func (s *Shard) applyPurse(c *algorithm.Call, tag uint32, p Place, readOnly bool) (done bool) {
	switch {
	case !c.IsNew && !c.Prev.Algorithm.IsPurse(), !c.IsNew && c.Op.Verb == engine.Prepare && c.Prev.Algorithm != c.Limit.Algorithm:
		c.WrongType(c.Limit.Algorithm)
		return true
	case c.IsNew && c.Op.Verb == engine.Prepare && !s.mayHavePurse(c, p):
		c.Result.Status = engine.OutOfRoom
		return true
	}
	t, isGone := purse.Load(c.State), false
	changed := false
	if c.Op.Verb == engine.Prepare {
		changed = algorithm.PreparePurse(&t, c)
	} else {
		c.Limit = c.Prev
		changed, isGone = algorithm.DepositPurse(&t, c)
	}
	if changed && readOnly {
		return false
	}
	algorithm.ReportPurse(&t, c)
	switch {
	case isGone && changed:
		s.remove(p)
	case changed:
		t.Store(c.Next[:])
		if !s.Keep(c, tag, p) {
			c.Result.Clear()
			c.Result.Status = engine.OutOfRoom
		}
	}
	return true
}

// mayHavePurse reports whether a new key may get a purse.
func (s *Shard) mayHavePurse(c *algorithm.Call, p Place) bool {
	return s.mem.PurseCount()+s.mem.AwayPurseCount() < purse.Max && s.admission.RulesFor(c.Op.Key, p.Found, nil) == nil
}

// Purses passes on every key whose limit has its home elsewhere. visit must not use the store.
func (s *Keyspace) Purses(visit func(key []byte, limit limits.Limit, t purse.Purse)) {
	s.each(func(sh *Shard) {
		for key := range sh.kept.purses {
			_, tag := s.Locate([]byte(key))
			if p := sh.Find(tag, []byte(key)); p.Found {
				r := sh.record(p.ref)
				visit(r.key(), *sh.limitOf(r), purse.Load(r.rest()))
			}
		}
	})
}

// purseRecords are the purses of a shard as they are: resetting a key here does not reset it at home.
func (s *Shard) purseRecords(keys *Keyspace) (all []lentRecord) {
	for key := range s.kept.purses {
		_, tag := keys.Locate([]byte(key))
		if p := s.Find(tag, []byte(key)); p.Found {
			r := s.record(p.ref)
			all = append(all, lentRecord{[]byte(key), *s.limitOf(r), slices.Clone(r.rest()[:purse.Bytes])})
		}
	}
	slices.SortFunc(all, func(a, b lentRecord) int { return slices.Compare(a.key, b.key) })
	return all
}
