package keyspace

import (
	"maps"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// MaxLentKeys bounds the keys with loans. No others are lent.
const MaxLentKeys = 65536

// applyLoan carries out an operation on loans. With readOnly it changes nothing, and returns false if it would have.
func (s *Shard) applyLoan(c *algorithm.Call, tag uint32, p Place, readOnly bool) (done bool) {
	if !c.Wrapped {
		c.Wrap()
		c.Inner = [layout.MaxLentState]byte{}
		copy(c.Inner[:], c.State)
	}
	switch {
	case c.Op.Verb != engine.Lend && c.IsNew:
		return true
	case c.Op.Verb != engine.Lend && !c.Prev.Algorithm.CanBeLent():
		if !c.Prev.Algorithm.Decides() {
			c.WrongType(limits.NoAlgorithm)
		}
		return true
	case c.Op.Verb == engine.Loans:
		c.Result.Reply = c.Loans.List(c.Result.Reply[:0], c.Now)
		return true
	case c.Op.Verb == engine.Lend && !c.IsNew && c.Prev.Algorithm != c.Limit.Algorithm:
		c.WrongType(c.Limit.Algorithm)
		return true
	case !c.DecideLoan(s.maxHolders(c, p, readOnly)):
		return true
	case readOnly:
		return false
	}
	copy(c.Next[:], c.Inner[:])
	if !s.Keep(c, tag, p) {
		status := engine.NoRoomToGrow
		if c.IsNew {
			status = engine.OutOfRoom
		}
		c.Result.Clear()
		c.Result.Status = status
	}
	return true
}

// maxHolders bounds the holders of the key; it is 0 if the key may not get a loan, or a larger one. Replicas leave the
// bound on keys to the one that decides: they drop expired keys at different times.
func (s *Shard) maxHolders(c *algorithm.Call, p Place, readOnly bool) int {
	isNew := c.IsNew && s.admission.RulesFor(c.Op.Key, p.Found, nil) != nil
	switch {
	case isNew, !c.Around.IsLent() && (!s.admission.Replicated || readOnly) && s.mem.lentKeys.Load() >= MaxLentKeys:
		return 0
	case !s.mem.LendsToMany.Load():
		return layout.FewLoans
	}
	return layout.MaxLoans
}

// reset has the limiter at its full limit. Loans stay.
func (s *Shard) reset(c *algorithm.Call, tag uint32, p Place) {
	switch {
	case c.Prev.Algorithm.IsPurse():
		return // it would not be reset at home
	case c.Lent == 0:
		s.remove(p)
		return
	}
	clear(c.Next[:])
	c.History.Clear()
	s.keepWrapped(c, tag, p) // it takes no more room than before
}

// lentRecord is a key with loans and nothing taken.
type lentRecord struct {
	key   []byte
	limit limits.Limit
	state []byte
}

// lentRecords are the keys of a shard with loans, in the state that a Flush leaves.
func (s *Shard) lentRecords(keys *Keyspace, now int64) (all []lentRecord) {
	var c algorithm.Call
	var res engine.Result
	for _, key := range slices.Sorted(maps.Keys(s.kept.lent)) {
		op := engine.Op{Verb: engine.Delete, Key: []byte(key)}
		_, tag := keys.Locate(op.Key)
		if s.Load(&c, now, &op, &res, s.Find(tag, op.Key)); c.Lent > 0 {
			c.Limit = c.Prev
			c.History.Clear()
			limit, state := c.WrappedState(algorithm.NoState[:])
			all = append(all, lentRecord{op.Key, limit, slices.Clone(state)})
		}
	}
	return all
}

// putBack puts the keys with loans into an empty shard, whatever the bound on memory: they were there before.
func (s *Shard) putBack(keys *Keyspace, now int64, all []lentRecord) {
	if len(all) == 0 {
		return
	}
	bytes := 0
	for i := range all {
		bytes += RecordBytes(len(all[i].state), len(all[i].key))
	}
	s.index.Resize(max(len(all)+len(all)/2, minEntries), pages{s.mem})
	s.arena.Current, _ = s.arena.Add(s.mem.block(wholePages(max(bytes, minArena))))
	for i := range all {
		r := &all[i]
		_, tag := keys.Locate(r.key)
		ref := s.newRecord(now, tag, r.key, &r.limit, len(r.state))
		copy(s.record(ref).rest(), r.state)
		s.note(ref)
	}
}
