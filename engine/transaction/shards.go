package transaction

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/internal/ahead"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// shards are the shards that a transaction has locked, and where its keys are in them. A script mostly calls several
// commands on one key, which is hashed and searched only once.
type shards struct {
	keys     *keyspace.Keyspace
	all      bool       // every shard is locked
	locked   []uint32   // the numbers of the shards that the transaction has locked itself, in order
	stopped  bool       // a key's shard was not locked: the operation has to begin again with all locks
	group    []lookup   // the declared keys of the operation, or of a group of them; operations on one key in a row share it
	next     int        // of group, the first key of the next operation that shares none
	declared []lookup   // of group, the keys of the operation
	last     int        // of declared, the one that was asked for last
	ahead    ahead.List // the records that touch reads
	other    lookup     // the key asked for last that is not among them
}

// lookup is a key and where it is. Its shard is locked; it is nil if there is no key.
type lookup struct {
	name  []byte
	again int // the operations that come next, and have this key alone
	spot
}

// spot is where a key is, or will be once it exists.
type spot struct {
	shard  *keyspace.Shard
	tag    uint32
	moves  uint32         // of the shard, when the place was found
	sought bool           // place.At is where the search for the key begins
	found  bool           // the place is known
	place  keyspace.Place // valid while the shard moves nothing
	read   bool           // limit and state are those of the place
	limit  *limits.Limit
	state  []byte
}

// find returns the place of the key.
func (s *spot) find(key []byte) keyspace.Place {
	switch {
	case s.moves != s.shard.Moves, !s.sought:
		s.place = s.shard.Find(s.tag, key)
	case !s.found:
		s.place = s.shard.FindFrom(s.place.At, s.tag, key)
	default:
		return s.place
	}
	s.moves, s.sought, s.found, s.read = s.shard.Moves, true, true, false
	return s.place
}

// stateOf returns what the shard has of the key; the limit is nil if it has nothing.
func (s *spot) stateOf(key []byte) (limit *limits.Limit, state []byte) {
	if p := s.find(key); !s.read {
		s.read, s.limit, s.state = true, nil, nil
		if p.Found {
			s.limit, s.state = s.shard.StateAt(p)
		}
	}
	return s.limit, s.state
}

// is reports whether the key is of this name.
func (l *lookup) is(name []byte) bool { return l.shard != nil && bytes.Equal(l.name, name) }

// begin gives up the places of an earlier operation. With locked the caller holds all locks.
func (s *shards) begin(keys *keyspace.Keyspace, locked bool) {
	s.keys, s.all, s.locked, s.group = keys, locked, s.locked[:0], s.group[:0]
	s.next = 0
	s.forget()
}

func (s *shards) forget() { s.declared, s.last, s.other.shard = nil, 0, nil }

// locate adds the declared keys of an operation to the group, unless they are many. Their shards need not be locked.
func (s *shards) locate(op *engine.Op) {
	if op.KeyCount > mostAtOnce {
		return
	}
	var names database.Room
	for _, key := range op.DeclaredKeys() {
		n, name := len(s.group), names.NameOf(op.Database, key)
		if op.KeyCount == 1 && n > 0 && s.group[n-1].is(name) {
			s.group[n-1].again++
			return
		}
		s.group = slices.Grow(s.group, 1)[:n+1]
		l := &s.group[n]
		l.name, l.again, l.found, l.sought = append(l.name[:0], name...), 0, false, false
		l.shard, l.tag = s.keys.Locate(name)
	}
}

// lock locks the shards of the declared keys of the next operation of the group.
func (s *shards) lock(op *engine.Op) {
	if op.KeyCount > mostAtOnce {
		s.locked = s.keys.Lock(appendShards(s.keys, s.locked, op))
		return
	}
	if !s.repeats(op) {
		from := s.next
		s.next += int(op.KeyCount)
		s.declared = s.group[from:s.next]
	}
	for i := range s.declared {
		s.declared[i].read = false // others may have written to it
		s.locked = append(s.locked, s.declared[i].shard.Number)
	}
	s.locked = s.keys.Lock(s.locked)
}

// repeats makes the last key of the group before the next operation its only key, if it is.
func (s *shards) repeats(op *engine.Op) bool {
	if s.next == 0 || op.KeyCount != 1 || s.group[s.next-1].again == 0 {
		return false
	}
	s.declared, s.last = s.group[s.next-1:s.next], 0
	s.declared[0].again--
	return true
}

// goOn is lock without a change of locks. It returns false if the next operation has another key than the last one.
func (s *shards) goOn(op *engine.Op) bool {
	return len(s.locked) == 1 && len(s.declared) == 1 && !s.all && s.repeats(op)
}

// touch reads the slots and the beginnings of the records of the group's keys, so that the processor fetches them from
// memory side by side. It passes over keys whose shards others have locked.
func (s *shards) touch() {
	for i := range s.group {
		if !s.group[i].shard.TouchHead() {
			return
		}
	}
	for i := range s.group {
		l := &s.group[i]
		l.sought = l.shard.TryLock()
	}
	for i := range s.group {
		if l := &s.group[i]; l.sought {
			s.ahead.Saw(l.shard.Touch(l.tag))
		}
	}
	for i := range s.group {
		if l := &s.group[i]; l.sought {
			at, head := l.shard.Seek(l.tag)
			l.place.At, l.moves = at, l.shard.Moves
			s.ahead.Add(head)
		}
	}
	s.ahead.Read()
	for i := range s.group {
		if l := &s.group[i]; l.sought {
			l.shard.Unlock()
		}
	}
}

// unlock unlocks what the transaction has locked. The places of its keys are no longer known.
func (s *shards) unlock() {
	s.keys.Unlock(s.locked)
	s.locked, s.all = s.locked[:0], false
	s.forget()
}

// lockAll locks all shards. The transaction has locked none.
func (s *shards) lockAll() { s.locked, s.all = s.keys.Lock(s.keys.AppendAllShards(s.locked)), true }

// spotOf returns where a key is, and false if its shard is not locked: then the transaction is stopped.
func (s *shards) spotOf(name []byte) (at *spot, held bool) {
	if l := s.known(name); l != nil {
		return &l.spot, true
	}
	l := &s.other
	l.shard, l.tag = s.keys.Locate(name)
	if !s.all {
		if _, held = slices.BinarySearch(s.locked, l.shard.Number); !held {
			at = &spot{shard: l.shard, tag: l.tag}
			s.stopped, l.shard = true, nil
			return at, false
		}
	}
	l.name, l.found, l.sought, l.read = append(l.name[:0], name...), false, false, false
	return &l.spot, true
}

// known returns the lookup of a key, nil if it is not known. Declared keys are mostly asked for in order, again and
// again.
func (s *shards) known(name []byte) *lookup {
	if n := len(s.declared); n > 0 {
		if l := &s.declared[s.last]; l.is(name) {
			return l
		}
		next := s.last + 1
		if next == n {
			next = 0
		}
		if l := &s.declared[next]; n > 1 && l.is(name) {
			s.last = next
			return l
		}
	}
	if s.other.is(name) {
		return &s.other
	}
	return nil
}

// appendShards appends the numbers of the shards of the declared keys.
func appendShards(keys *keyspace.Keyspace, numbers []uint32, op *engine.Op) []uint32 {
	var names database.Room
	for _, key := range op.DeclaredKeys() {
		sh, _ := keys.Locate(names.NameOf(op.Database, key))
		numbers = append(numbers, sh.Number)
	}
	return numbers
}
