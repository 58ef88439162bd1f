package keyspace

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// Update is what a transaction makes of a key.
type Update struct {
	engine.Value
	Key   []byte
	Limit limits.Limit // of a limiter, whose whole state is Data
	Gone  bool
	Size  int // of the state
}

// Write carries out an update of the key at a place, for which there is room, and reports whether the key is another
// than before.
func (s *Shard) Write(now int64, tag uint32, at Place, p *Update, res *engine.Result) (changed bool) {
	if p.Gone {
		if !at.Found {
			return false
		}
		changed = !s.expired(s.record(at.ref), now) // whether an expired one is still there depends on the replica
		s.remove(at)
		return changed
	}
	if at.Found {
		r := s.record(at.ref)
		if limit, had := s.stateOf(r); *limit != p.Limit || len(had) != p.Size {
			s.drop(at)
			at = Place{}
		} else {
			s.preserve(r)
		}
	}
	res.Work += p.Size / WorkBytes
	ref := at.ref
	if !at.Found {
		ref = s.newRecord(now, tag, p.Key, &p.Limit, p.Size)
	}
	r := s.record(ref)
	state := r.rest()[:p.Size:p.Size]
	if p.Kind.IsData() {
		algorithm.StoreValue(state, &p.Value)
	} else {
		copy(state, p.Data)
	}
	if !at.Found { // otherwise limit and size are those of before
		s.countGrowing(s.growable(r))
	}
	s.note(ref)
	return true
}
