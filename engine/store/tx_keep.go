package store

import (
	"cmp"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// run carries out a Command or a Script. It locks the shards of the declared keys, unless the caller holds the locks of all
// that the operation may touch. With readOnly it changes nothing, and returns false if it would have.
func (s *Store) run(now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	if s.commands == nil {
		res.StartReply()
		res.Status = engine.Unreadable
		return true
	}
	t := s.txs.Get().(*Tx)
	defer s.txs.Put(t)
	defer t.end()
	t.store, t.all, t.locked, t.alone = s, locked, t.locked[:0], readOnly || !s.isReplicated()
	if !locked {
		t.locked = s.lock(s.appendShards(t.locked, op))
		defer func() { s.unlock(t.locked) }()
	}
	t.carryOut(now, op, res)
	if t.stopped {
		s.unlock(t.locked)
		t.locked, t.all = s.lock(s.appendAllShards(t.locked[:0])), true
		t.carryOut(now, op, res)
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
func (t *Tx) carryOut(now int64, op *engine.Op, res *engine.Result) {
	res.StartReply()
	t.begin(now, op)
	t.store.commands.Run(t, op, res)
}

// appendShards appends the numbers of the shards of the declared keys.
func (s *Store) appendShards(numbers []uint32, op *engine.Op) []uint32 {
	for _, key := range op.DeclaredKeys() {
		sh, _ := s.locate(key)
		numbers = append(numbers, sh.number)
	}
	return numbers
}

// keep writes all changes, after making room for all of them.
func (t *Tx) keep(res *engine.Result) engine.Status {
	changed := t.pending[:t.used]
	if len(changed) > 1 {
		slices.SortFunc(changed, func(a, b *pending) int { return cmp.Compare(a.shard.number, b.shard.number) })
	}
	if status := t.makeRoom(changed); status != engine.OK {
		return status
	}
	for _, p := range changed {
		if p.shard.write(t.now, p.tag, &p.update, res) {
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
		if p.gone {
			continue
		}
		place, had := p.shard.find(p.tag, p.key), 0
		p.new = !place.found
		if place.found {
			limit, state := p.shard.stateAt(place)
			p.new = algorithm.Table[limit.Algorithm].Expired(state, limit, t.now) // making room for another key may drop it: it is no place for this one
			if !p.new && *limit == p.limit {
				had = len(state)
			}
		}
		if p.new {
			if t.store.admission.RulesFor(p.key, place.found, t.made) != nil {
				return engine.OutOfRoom
			}
			if !place.found {
				t.made = append(t.made, p.key)
			}
		}
		p.size = len(p.Data)
		if p.Kind.IsValue() {
			p.size = algorithm.ValueSize(&p.Value, had)
		}
		if p.size != had {
			entries, bytes = entries+1, bytes+recordBytes(p.size, len(p.key))
		}
		if bytes > 0 && !p.shard.reserve(t.now, entries, bytes) {
			if p.new {
				return engine.OutOfRoom
			}
			return engine.NoRoomToGrow
		}
	}
	return engine.OK
}
