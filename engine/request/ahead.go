package request

import (
	"slices"
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/reservation"
)

// The most reservations whose keys are looked up in advance, and the most keys.
const (
	reservationsAtOnce = 16
	keysAhead          = 64
)

var aheads = sync.Pool{New: func() any { return new(ahead) }}

// ahead is the keys that reservations will look up next. Their slots and records are read side by side, so that the
// processor fetches them from memory at the same time. Nothing depends on what was read: a key whose shard another
// goroutine has locked is left out.
type ahead struct {
	keys, limits []keyAhead
	key          []byte // room for the key of a policy's limit
	touched      uint64
}

// keyAhead is where a key is.
type keyAhead struct {
	shard *keyspace.Shard
	tag   uint32
	at    uint64
	id    []byte // the key, if a reservation is to be found there
	makes bool   // a record will be made for it
}

// applyReservations carries out the reservations, extensions and settlements at the front of ops, in order, and returns
// their number. For a single one it does nothing: [Runner.Apply] carries it out.
func (r *Runner) applyReservations(now int64, ops []engine.Op, results []engine.Result) (n int) {
	for n < min(reservationsAtOnce, len(ops)) && isReservation(ops[n].Verb) {
		n++
	}
	if n < 2 {
		return 0
	}
	r.LookAhead(ops[:n])
	for i := range ops[:n] {
		r.Apply(now, &ops[i], &results[i], false, false)
	}
	return n
}

// LookAhead looks up the keys of ops, as far as these are reservations, extensions and settlements, for callers that will
// look them up one after the other.
func (r *Runner) LookAhead(ops []engine.Op) {
	a := aheads.Get().(*ahead)
	defer aheads.Put(a)
	for group := range slices.Chunk(ops, reservationsAtOnce) {
		a.lookUp(r, group)
	}
}

func isReservation(v engine.Verb) bool {
	return v == engine.Reserve || v == engine.Extend || v == engine.Settle
}

// lookUp looks up the ids of ops and the limits that they ask, then the limits of reservations that exist.
func (a *ahead) lookUp(r *Runner, ops []engine.Op) {
	a.keys, a.limits = a.keys[:0], a.limits[:0]
	for i := 0; i < len(ops) && len(a.keys) < keysAhead; i++ {
		op := &ops[i]
		switch {
		case !isReservation(op.Verb):
			continue
		case op.Verb != engine.Reserve:
			a.keys = r.appendAhead(a.keys, op.Key, op.Key)
			continue
		}
		if a.keys = r.appendAhead(a.keys, op.Key, nil); len(a.keys) > 0 {
			a.keys[len(a.keys)-1].makes = true
		}
		request := &op.Parts[0]
		for part := 0; request.Verb == engine.Check; part++ {
			a.key = r.policies.AppendKey(a.key[:0], request.Key, request.Who, request.Args, part)
			if len(a.key) == 0 {
				break
			}
			a.keys = r.appendAhead(a.keys, a.key, nil)
		}
		parts := request.Parts
		for j := range parts {
			a.keys = r.appendAhead(a.keys, parts[j].Key, nil)
		}
	}
	a.touch(r, a.keys)
	a.touch(r, a.limits)
}

// appendAhead adds a key, and reads the head of its shard, for the locks that follow.
func (r *Runner) appendAhead(keys []keyAhead, key, id []byte) []keyAhead {
	if len(keys) == keysAhead {
		return keys
	}
	shard, tag := r.keys.Locate(key)
	if !shard.TouchHead() {
		return keys
	}
	return append(keys, keyAhead{shard: shard, tag: tag, id: id})
}

// touch reads the slots and records of keys, and adds the limits of the reservations among them to those that follow.
func (a *ahead) touch(r *Runner, keys []keyAhead) {
	locked := keys[:0]
	for _, k := range keys {
		if k.shard.TryLock() {
			locked = append(locked, k)
		}
	}
	for i := range locked {
		a.touched |= locked[i].shard.Touch(locked[i].tag)
	}
	for i := range locked {
		k := &locked[i]
		at, head := k.shard.Seek(k.tag)
		if k.at, a.touched = at, a.touched|head; k.makes {
			a.touched |= keyspace.TouchRoom(k.shard)
		}
	}
	for i := range locked {
		k := &locked[i]
		if k.id == nil {
			continue
		}
		if state := reservationAt(k.shard, k.shard.FindFrom(k.at, k.tag, k.id)); state != nil {
			for _, _, parts := state.Parts(); len(parts.Rest) > 0; {
				a.limits = r.appendAhead(a.limits, reservation.NextPart(&parts).Key, nil)
			}
		}
	}
	for i := range locked {
		locked[i].shard.Unlock()
	}
}
