package keyspace

import (
	"cmp"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// ErrNoRoom is returned by Load when the memory bound is reached.
var ErrNoRoom = errors.New("more keys than the memory bound allows")

// loading is the scratch of Load.
type loading struct {
	call    algorithm.Call
	op      engine.Op
	state   [algorithm.MaxState]byte
	touched uint64
}

// Load puts an entry into the store as it was, in place of one of the same key. It is for recovery: nothing is noted as
// changed. An expired entry is left out. State may lack zero bytes at its end.
func (s *Keyspace) Load(now int64, e Entry) error {
	l := s.loads.Get().(*loading)
	defer s.loads.Put(l)
	sh, tag := s.Locate(e.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.put(l, tag, now, &e)
}

// loadAtOnce is how many entries LoadAll puts into the store side by side.
const loadAtOnce = 16

// arrival is an entry with its place.
type arrival struct {
	entry *Entry
	shard uint64
	tag   uint32
}

// LoadAll is [Store.Load] for many entries, in their order. With an error, any of them may have been loaded. It locks
// the shards of some at a time, so that the processor can fetch their places from memory side by side: loading spends
// most of its time on these fetches.
func (s *Keyspace) LoadAll(now int64, entries []Entry) error {
	l := s.loads.Get().(*loading)
	defer s.loads.Put(l)
	for group := range slices.Chunk(entries, loadAtOnce) {
		if err := s.loadGroup(l, now, group); err != nil {
			return err
		}
	}
	return nil
}

func (s *Keyspace) loadGroup(l *loading, now int64, group []Entry) error {
	var room [loadAtOnce]arrival
	arrivals := room[:len(group)]
	for i := range group {
		h := maphash.Bytes(s.seed, group[i].Key)
		arrivals[i] = arrival{&group[i], s.shardOf(h), uint32(h)}
	}
	// in the order of shards, which is the lock order; entries of one key keep their order
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.shard, b.shard) })
	for i, a := range arrivals {
		if i == 0 || a.shard != arrivals[i-1].shard {
			s.shards[a.shard].mu.Lock()
			defer s.shards[a.shard].mu.Unlock()
		}
	}
	for _, a := range arrivals {
		l.touched |= s.shards[a.shard].index.Touch(a.tag)
	}
	for _, a := range arrivals {
		if err := s.shards[a.shard].put(l, a.tag, now, a.entry); err != nil {
			return err
		}
	}
	return nil
}

// put is Load in the shard of an entry's key, which is locked.
func (s *Shard) put(l *loading, tag uint32, now int64, e *Entry) error {
	state, err := e.check(&l.state)
	if err != nil {
		return err
	}
	p, isExpired := s.Find(tag, e.Key), algorithm.Table[e.Limit.Algorithm].Expired(state, &e.Limit, now)
	form := algorithm.Flat
	if e.Limit.Algorithm.IsValue() {
		form = algorithm.FormOf(state)
	}
	if form == algorithm.Log && !isExpired {
		if p.Found {
			if limit, had := s.StateAt(p); *limit == e.Limit && s.large.Owns(limit, had) {
				err := s.large.Redo(limit, had, state)
				noteLongest(s, limit, had)
				return err
			}
		}
		return nil // it is a change of a value that is deleted later
	}
	if p.Found {
		s.drop(p)
	}
	if isExpired {
		return nil
	}
	if form == algorithm.Whole {
		if !s.mem.allows(int64(len(state)), true) {
			return ErrNoRoom
		}
		state = LargeValues(s).Load(engine.KindOf(e.Limit.Algorithm), state)
		s.mem.large.Add(s.Number, 1)
		noteLongest(s, &e.Limit, state)
	}
	l.op.Key, l.op.Limit = e.Key, e.Limit
	l.call = algorithm.Call{Now: now, Op: &l.op, Limit: e.Limit, Prev: e.Limit, IsNew: true, Loading: state}
	if !s.insert(&l.call, tag, len(state)) {
		return ErrNoRoom
	}
	return nil
}

// Unload removes a key without recording a change, for recovery.
func (s *Keyspace) Unload(key []byte) {
	sh, tag := s.Locate(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if p := sh.Find(tag, key); p.Found {
		sh.drop(p)
	}
}
