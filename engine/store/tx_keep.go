package store

import (
	"cmp"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
)

// run carries out a Command or a Script. It locks the shards of the declared keys, unless the caller holds the locks of all
// that the operation may touch. With readOnly it changes nothing, and returns false if it would have.
func (s *Store) run(now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	if s.commands == nil {
		res.StartReply()
		res.Status = engine.Unreadable
		return true
	}
	t := txs.Get().(*Tx)
	defer t.end() // the only one: with more, the compiler calls each of them by way of a list
	t.store, t.all, t.locked, t.alone = s, locked, t.locked[:0], readOnly || !s.IsReplicated()
	if !locked {
		t.locked = s.Lock(s.appendShards(t.locked, op))
	}
	writes := !readOnly && op.Writes()
	if !locked && t.copies.take(s, op) {
		now = s.Instant(t.locked, now, false)
		s.Unlock(t.locked)
		t.locked = t.locked[:0]
	}
	t.carryOut(now, writes, op, res)
	if t.stopped {
		t.copies.inUse = false
		s.Unlock(t.locked)
		t.locked, t.all = s.Lock(s.AppendAllShards(t.locked[:0])), true
		t.carryOut(now, writes, op, res)
	}
	res.Work += t.work
	changesScripts := len(t.scripts) > 0 && t.changesScripts()
	switch {
	case t.dropped:
		return true
	case t.used == 0 && !changesScripts && len(t.published) == 0:
		return true
	case readOnly:
		return false
	}
	if status := t.keep(res); status != engine.OK {
		res.StartReply()
		res.Status = status
		return true
	}
	if s.warned != nil {
		for i := range t.warnings {
			s.warned(&t.warnings[i])
		}
	}
	if changesScripts {
		var one engine.Result
		for i := range t.scripts {
			s.applyScripts(&t.scripts[i], &one)
		}
		res.Granted++
	}
	if len(t.published) > 0 {
		t.deliver(res)
	}
	return true
}

// carryOut carries out an operation from its beginning.
func (t *Tx) carryOut(now int64, writes bool, op *engine.Op, res *engine.Result) {
	res.StartReply()
	t.begin(t.store.Instant(t.locked, now, writes), op)
	t.store.commands.Run(t, op, res)
}

// appendShards appends the numbers of the shards of the declared keys.
func (s *Store) appendShards(numbers []uint32, op *engine.Op) []uint32 {
	var names database.Room
	for _, key := range op.DeclaredKeys() {
		sh, _ := s.Locate(names.NameOf(op.Database, key))
		numbers = append(numbers, sh.Number)
	}
	return numbers
}

// keep writes all changes, after making room for all of them.
func (t *Tx) keep(res *engine.Result) engine.Status {
	changed := t.pending[:t.used]
	if len(changed) > 1 {
		slices.SortFunc(changed, func(a, b *pending) int { return cmp.Compare(a.shard.Number, b.shard.Number) })
	}
	if status := t.makeRoom(changed); status != engine.OK {
		return status
	}
	for _, p := range changed {
		if p.shard.Write(t.now, p.tag, &p.Update, res) {
			res.Granted++
		}
	}
	return engine.OK
}

// makeRoom makes room for the changes, or says why there is none.
func (t *Tx) makeRoom(changed []*pending) engine.Status {
	entries, bytes := 0, 0
	t.made = t.made[:0]
	for i, p := range changed {
		if i == 0 || changed[i-1].shard != p.shard {
			entries, bytes = 0, 0
		}
		if p.Gone {
			continue
		}
		place, had := p.shard.Find(p.tag, p.Key), 0
		p.new = !place.Found
		if place.Found {
			limit, state := p.shard.StateAt(place)
			p.new = algorithm.Table[limit.Algorithm].Expired(state, limit, t.now) // making room for another key may drop it: it is no place for this one
			if !p.new && *limit == p.Limit {
				had = len(state)
			}
		}
		if p.new {
			if t.store.Admission.RulesFor(p.Key, place.Found, t.made) != nil {
				return engine.OutOfRoom
			}
			if !place.Found {
				t.made = append(t.made, p.Key)
			}
		}
		p.Size = len(p.Data)
		if p.Kind.IsValue() {
			p.Size = algorithm.ValueSize(&p.Value, had)
		}
		if p.Size != had {
			entries, bytes = entries+1, bytes+keyspace.RecordBytes(p.Size, len(p.Key))
		}
		if bytes > 0 && !p.shard.Reserve(t.now, entries, bytes) {
			if p.new {
				return engine.OutOfRoom
			}
			return engine.NoRoomToGrow
		}
	}
	return engine.OK
}
