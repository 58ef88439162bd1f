package keyspace

import (
	"maps"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
)

// DatabaseLen counts the keys of a database; expired ones that have not been dropped yet are included.
func (s *Keyspace) DatabaseLen(number uint8) int {
	if number != 0 {
		return s.memory.databases.Of(number)
	}
	return max(0, s.Len()-s.memory.databases.Sum())
}

// FlushDatabase empties one database, as Flush does all. Where others have keys, it locks one shard at a time, unless
// all are locked.
func (s *Keyspace) FlushDatabase(now int64, number uint8, locked bool) {
	if !locked {
		s.lockAll()
	}
	isOnly := number == 0 && s.LastDatabase() == 0
	if isOnly {
		flush(s, now)
	}
	if !locked {
		s.unlockAll()
	}
	if isOnly {
		return
	}
	for i := range s.shards {
		sh := &s.shards[i]
		if !locked {
			sh.mu.Lock()
		}
		sh.removeDatabase(s, now, number)
		if !locked {
			sh.mu.Unlock()
		}
	}
	s.Admission.Shared.ClearDatabase(number)
}

// removeDatabase removes the keys of a database. Loans and purses stay.
func (s *Shard) removeDatabase(keys *Keyspace, now int64, number uint8) {
	for at := uint64(0); at < uint64(len(s.index.Slots)); {
		ref := uint32(s.index.Slots[at])
		if ref == 0 {
			at++
			continue
		}
		r := s.record(ref)
		a := s.limitOf(r).Algorithm
		if n, _ := database.Split(r.key()); n != number || a.IsLent() || a.IsPurse() {
			at++
			continue
		}
		s.remove(Place{At: at, ref: ref, Found: true}) // the same position has the next entry
	}
	var c algorithm.Call
	var res engine.Result
	for _, key := range slices.Sorted(maps.Keys(s.kept.lent)) {
		op := engine.Op{Verb: engine.Delete, Key: []byte(key)}
		if n, _ := database.Split(op.Key); n == number {
			_, tag := keys.Locate(op.Key)
			s.Apply(&c, now, tag, &op, &res)
		}
	}
}
