package keyspace

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/engine/limits"
)

// Update is what a transaction makes of a key.
type Update struct {
	engine.Value
	Key   []byte
	Limit limits.Limit // of a limiter, whose whole state is Data
	Gone  bool
	Size  int          // of the state
	Large *large.Value // changes of a value in blocks; nil if Value is all of the key
	Build bool         // Value is to be in blocks from now on
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
	version := uint64(now)
	if at.Found {
		r := s.record(at.ref)
		limit, had := s.stateOf(r)
		wasInBlocks := s.large.Owns(limit, had)
		if wasInBlocks && p.Large == nil {
			version = max(version, large.ReadHead(algorithm.DataOf(had)).Version+1)
		}
		if !limit.Is(&p.Limit) || len(had) != p.Size || wasInBlocks != (p.Large != nil) {
			s.drop(at)
			at = Place{}
		} else {
			s.preserve(r)
		}
	}
	if p.Large != nil || p.Build {
		writeBlocks(s, p, version, res)
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
