package store

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// applyTank carries out a Prepare or Deposit. With readOnly it changes nothing, and returns false if it would have.
func (s *shard) applyTank(c *call, tag uint32, p place, readOnly bool) (done bool) {
	switch {
	case !c.isNew && c.prev.Algorithm.Home() == limits.NoAlgorithm, !c.isNew && c.op.Verb == engine.Prepare && c.prev.Algorithm != c.limit.Algorithm:
		c.wrongType(c.limit.Algorithm)
		return true
	case c.isNew && c.op.Verb == engine.Prepare && !s.mayHaveTank(c, p):
		c.result.Status = engine.OutOfRoom
		return true
	}
	t, isGone := engine.LoadTank(c.state), false
	changed := false
	if c.op.Verb == engine.Prepare {
		changed = prepareTank(&t, c)
	} else {
		c.limit = c.prev
		changed, isGone = depositTank(&t, c)
	}
	if changed && readOnly {
		return false
	}
	reportTank(&t, c)
	switch {
	case isGone && changed:
		s.remove(p)
	case changed:
		t.Store(c.next[:])
		if !s.keep(c, tag, p) {
			c.result.Clear()
			c.result.Status = engine.OutOfRoom
		}
	}
	return true
}

// mayHaveTank reports whether a new key may get a tank.
func (s *shard) mayHaveTank(c *call, p place) bool {
	return s.mem.tanks.Load() < engine.MaxTanks && s.admission.rulesFor(c.op.Key, p.found, nil) == nil
}

// Tanks passes on every key whose limit has its home elsewhere. visit must not use the store.
func (s *Store) Tanks(visit func(key []byte, limit limits.Limit, t engine.Tank)) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for key := range sh.tanks {
			_, tag := s.locate([]byte(key))
			if p := sh.find(tag, []byte(key)); p.found {
				r := sh.record(p.ref)
				visit(r.key(), *sh.limitOf(r), engine.LoadTank(r.rest()))
			}
		}
		sh.mu.Unlock()
	}
}

// TankCount is the number of keys whose limit has its home elsewhere.
func (s *Store) TankCount() int64 { return s.mem.tanks.Load() }

// tankRecords are the tanks of a shard as they are: resetting a key here does not reset it at home.
func (s *shard) tankRecords(store *Store) (all []lentRecord) {
	for key := range s.tanks {
		_, tag := store.locate([]byte(key))
		if p := s.find(tag, []byte(key)); p.found {
			r := s.record(p.ref)
			all = append(all, lentRecord{[]byte(key), *s.limitOf(r), slices.Clone(r.rest()[:engine.TankBytes])})
		}
	}
	slices.SortFunc(all, func(a, b lentRecord) int { return slices.Compare(a.key, b.key) })
	return all
}
