package keyspace

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// applyTank carries out a Prepare or Deposit. With readOnly it changes nothing, and returns false if it would have.
func (s *Shard) applyTank(c *algorithm.Call, tag uint32, p Place, readOnly bool) (done bool) {
	switch {
	case !c.IsNew && c.Prev.Algorithm.Home() == limits.NoAlgorithm, !c.IsNew && c.Op.Verb == engine.Prepare && c.Prev.Algorithm != c.Limit.Algorithm:
		c.WrongType(c.Limit.Algorithm)
		return true
	case c.IsNew && c.Op.Verb == engine.Prepare && !s.mayHaveTank(c, p):
		c.Result.Status = engine.OutOfRoom
		return true
	}
	t, isGone := engine.LoadTank(c.State), false
	changed := false
	if c.Op.Verb == engine.Prepare {
		changed = algorithm.PrepareTank(&t, c)
	} else {
		c.Limit = c.Prev
		changed, isGone = algorithm.DepositTank(&t, c)
	}
	if changed && readOnly {
		return false
	}
	algorithm.ReportTank(&t, c)
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

// mayHaveTank reports whether a new key may get a tank.
func (s *Shard) mayHaveTank(c *algorithm.Call, p Place) bool {
	return s.mem.tanks.Load() < engine.MaxTanks && s.admission.RulesFor(c.Op.Key, p.Found, nil) == nil
}

// Tanks passes on every key whose limit has its home elsewhere. visit must not use the store.
func (s *Keyspace) Tanks(visit func(key []byte, limit limits.Limit, t engine.Tank)) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for key := range sh.kept.tanks {
			_, tag := s.Locate([]byte(key))
			if p := sh.Find(tag, []byte(key)); p.Found {
				r := sh.record(p.ref)
				visit(r.key(), *sh.limitOf(r), engine.LoadTank(r.rest()))
			}
		}
		sh.mu.Unlock()
	}
}

// tankRecords are the tanks of a shard as they are: resetting a key here does not reset it at home.
func (s *Shard) tankRecords(keys *Keyspace) (all []lentRecord) {
	for key := range s.kept.tanks {
		_, tag := keys.Locate([]byte(key))
		if p := s.Find(tag, []byte(key)); p.Found {
			r := s.record(p.ref)
			all = append(all, lentRecord{[]byte(key), *s.limitOf(r), slices.Clone(r.rest()[:engine.TankBytes])})
		}
	}
	slices.SortFunc(all, func(a, b lentRecord) int { return slices.Compare(a.key, b.key) })
	return all
}
