package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// update is what a transaction makes of a key.
type update struct {
	engine.Value
	key   []byte
	limit limits.Limit // of a limiter, whose whole state is Data
	gone  bool
	size  int // of the state
}

// write carries out an update, for which there is room, and reports whether the key is another than before.
func (s *shard) write(now int64, tag uint32, p *update, res *engine.Result) (changed bool) {
	at := s.find(tag, p.key)
	if p.gone {
		if !at.found {
			return false
		}
		changed = !s.expired(s.record(at.ref), now) // whether an expired one is still there depends on the replica
		s.remove(at)
		return changed
	}
	if at.found {
		r := s.record(at.ref)
		if limit := s.limitOf(r); *limit != p.limit || len(algorithm.Table[limit.Algorithm].StateOf(r.rest())) != p.size {
			s.drop(at)
			at = place{}
		} else {
			s.preserve(r)
		}
	}
	res.Work += p.size / workBytes
	ref := at.ref
	if !at.found {
		ref = s.newRecord(now, tag, p.key, &p.limit, p.size)
	}
	r := s.record(ref)
	state := r.rest()[:p.size:p.size]
	couldGrow := int64(0)
	if at.found {
		couldGrow = s.growable(r)
	}
	if p.Kind.IsValue() {
		algorithm.StoreValue(state, &p.Value)
	} else {
		copy(state, p.Data)
	}
	s.countGrowing(s.growable(r) - couldGrow)
	s.note(ref)
	return true
}
