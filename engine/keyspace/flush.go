package keyspace

// Flush empties the store, with every shard locked, so that a journal can order it among the other changes. Policies
// stay: they are settings, not counts.
// So do the loans, whose tokens may still be spent, and purses.
func (s *Keyspace) Flush(now int64, locked bool) {
	if !locked {
		s.lockAll()
		defer s.unlockAll()
	}
	flush(s, now)
}

// flush is Flush with every shard locked.
func flush(s *Keyspace, now int64) {
	lent := make([][]lentRecord, len(s.shards))
	for i := range s.shards {
		lent[i] = append(s.shards[i].lentRecords(s, now), s.shards[i].purseRecords(s)...)
		s.shards[i].free()
		s.shards[i].gone = nil
	}
	s.Admission.Shared.Clear()
	if s.changes.IsOn() { // recovery flushes too, and that is no new change
		s.changes.flushes.Add(1)
	}
	s.changes.tell(nil)
	for i := range lent {
		s.shards[i].putBack(s, now, lent[i])
	}
}

// Clear empties the keyspace, the restrictions of new keys included, as if it were new. Nothing is noted as changed. It
// must not be called while operations are applied.
func (s *Keyspace) Clear() {
	s.each(func(sh *Shard) {
		sh.free()
		sh.gone, sh.latest = nil, 0
	})
	s.Admission.Clear()
	s.changes.tell(nil)
}
