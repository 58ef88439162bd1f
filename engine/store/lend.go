package store

import (
	"maps"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// MaxLentKeys bounds the keys with loans. No others are lent.
const MaxLentKeys = 65536

// applyLoan carries out an operation on loans. With readOnly it changes nothing, and returns false if it would have.
func (s *shard) applyLoan(c *call, tag uint32, p place, readOnly bool) (done bool) {
	if c.loans == nil {
		c.loans = new(loans)
	}
	if !c.hasLoans {
		c.loans.all = c.loans.all[:0]
		c.inner = [maxLentState]byte{}
		copy(c.inner[:], c.state)
	}
	switch {
	case c.op.Verb != engine.Lend && c.isNew:
		return true
	case c.op.Verb != engine.Lend && !c.prev.Algorithm.CanBeLent():
		if !c.prev.Algorithm.Decides() {
			c.wrongType(limits.NoAlgorithm)
		}
		return true
	case c.op.Verb == engine.Loans:
		c.result.Reply = c.loans.list(c.result.Reply[:0], c.now)
		return true
	case c.op.Verb == engine.Lend && !c.isNew && c.prev.Algorithm != c.limit.Algorithm:
		c.wrongType(c.limit.Algorithm)
		return true
	case !c.decideLoan(s.mayLend(c, p, readOnly)):
		return true
	case readOnly:
		return false
	}
	c.hasLoans = true
	copy(c.next[:], c.inner[:])
	if !s.keepLent(c, tag, p) {
		status := engine.NoRoomToGrow
		if c.isNew {
			status = engine.OutOfRoom
		}
		c.result.Clear()
		c.result.Status = status
	}
	return true
}

// mayLend reports whether the key may get a loan, or a larger one. Replicas leave the bound on keys to the one that decides: they
// drop expired keys at different times.
func (s *shard) mayLend(c *call, p place, readOnly bool) bool {
	if c.isNew && s.admission.rulesFor(c.op.Key, p.found, nil) != nil {
		return false
	}
	return c.hasLoans || s.admission.replicated && !readOnly || s.mem.lentKeys.Load() < MaxLentKeys
}

// reset has the limiter at its full limit. Loans stay.
func (s *shard) reset(c *call, tag uint32, p place) {
	switch {
	case c.prev.Algorithm.Home() != limits.NoAlgorithm:
		return // it would not be reset at home
	case c.lent == 0:
		s.remove(p)
		return
	}
	clear(c.next[:])
	s.keepLent(c, tag, p) // it takes no more room than before
}

// addLent and dropLent count the keys with loans of the shard.
func (s *shard) addLent(key []byte) {
	if s.lent == nil {
		s.lent = map[string]struct{}{}
	}
	s.lent[string(key)] = struct{}{}
	s.mem.lentKeys.Add(1)
}

func (s *shard) dropLent(key []byte) {
	delete(s.lent, string(key))
	s.mem.lentKeys.Add(-1)
}

// LentKeys is the number of keys with loans. Those whose loans have ended count until they are dropped.
func (s *Store) LentKeys() int64 { return s.mem.lentKeys.Load() }

// lentRecord is a key with loans and nothing taken.
type lentRecord struct {
	key   []byte
	limit limits.Limit
	state []byte
}

// lentRecords are the keys of a shard with loans, in the state that a Flush leaves.
func (s *shard) lentRecords(store *Store, now int64) (all []lentRecord) {
	var c call
	var res engine.Result
	for _, key := range slices.Sorted(maps.Keys(s.lent)) {
		op := engine.Op{Verb: engine.Delete, Key: []byte(key)}
		_, tag := store.locate(op.Key)
		if s.load(&c, now, &op, &res, s.find(tag, op.Key)); c.lent > 0 {
			c.limit = c.prev
			limit, state := c.lentState(noState[:])
			all = append(all, lentRecord{op.Key, limit, slices.Clone(state)})
		}
	}
	return all
}

// putBack puts the keys with loans into an empty shard, whatever the bound on memory: they were there before.
func (s *shard) putBack(store *Store, now int64, all []lentRecord) {
	if len(all) == 0 {
		return
	}
	bytes := 0
	for i := range all {
		bytes += recordBytes(len(all[i].state), len(all[i].key))
	}
	s.index.resize(max(len(all)+len(all)/2, minEntries))
	s.arena.current, _ = s.arena.add(s.mem.block(wholePages(max(bytes, minArena))))
	for i := range all {
		r := &all[i]
		_, tag := store.locate(r.key)
		ref := s.newRecord(now, tag, r.key, &r.limit, len(r.state))
		copy(s.record(ref).rest(), r.state)
		s.note(ref)
	}
}
