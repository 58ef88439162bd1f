package request

import (
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/internal/ahead"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/engine/reservation"
	"github.com/stintdb/stint/engine/spread"
)

// groups are the scratch of requests that are not under way, which all runners share: one takes tens of kilobytes.
var groups = sync.Pool{New: func() any { g := new(group); new(partRoom).give(g, 0); return g }}

// group is the scratch of an all-or-nothing request. The slices have room for engine.MaxParts parts.
type group struct {
	*carrying
	targets      []target
	order        []uint32    // the numbers of the shards, for locking
	parts        []engine.Op // room for the limits of a policy, or of a reservation
	check        policy.Filled
	admission    *admission.Admission
	denied       *spread.Table
	full         bool // new keys are treated as beyond the bound on memory
	sharedLocked bool // the lock of the shared limiters is held

	reserving   *engine.Op // the Reserve or Extend that is carried out, or nil
	fingerprint uint64
	repeated    bool         // it was answered before
	id          target       // of its id
	text        []byte       // room for its state as it was, and its parameters
	varies      bool         // the state of a limit that is asked has a variable size
	isLocated   bool         // its keys were located, and their shards locked, together with those of other requests
	settlements []settlement // of the limits of the reservation in text
}

// carrying is the scratch of a request that nothing outside of it needs once it is carried out.
type carrying struct {
	calls    [engine.MaxParts]algorithm.Call
	made     [][]byte // keys that are new and will be kept
	idOp     engine.Op
	idCall   algorithm.Call
	idResult engine.Result
	content  []byte // room for the new state of the id
	marks    []reservation.Mark
	division division
	ahead    ahead.List // the records that are looked up
}

// partRoom is room for requests that are carried out together: for their parts side by side, so that they need few pages
// of memory, and for carrying out one after the other in the same lines of the processor's cache.
type partRoom struct {
	carrying
	targets [keysTogether + engine.MaxParts]target
	order   [keysTogether + engine.MaxParts + 1]uint32
	parts   [keysTogether + engine.MaxParts]engine.Op
}

// give gives a request what follows the first keys of the room.
func (r *partRoom) give(g *group, after int) {
	g.carrying, g.targets, g.order, g.parts = &r.carrying, r.targets[after:], r.order[after:], r.parts[after:]
}

// target is where a part's key lives.
type target struct {
	shard *keyspace.Shard
	tag   uint32

	look    look // what is known of place
	place   keyspace.Place
	moves   uint32 // of the shard when place was found
	entries int    // that keeping the part may add to the shard
	bytes   int    // that their records take

	rules  *admission.Rules    // of a new key that is not to be kept
	shared admission.SharedRef // of the limiter it shares
}

// look is how much of a look-up is done.
type look uint8

const (
	located look = iota // the shard and the tag are known
	sought              // the slot at which the look-up begins, too
	found               // it is done
)

// locate finds out where a key is to be looked up. It returns the number of the shard.
func (t *target) locate(r *Runner, key []byte) (shard uint32) {
	t.shard, shard, t.tag = r.keys.LocateNumber(key)
	t.look = located
	return shard
}

// seek finds the slot at which the look-up of the key begins, and returns the record there, if it may have the key.
func (t *target) seek() (head []byte) {
	t.look, t.moves = sought, t.shard.Moves
	t.place.At, head = t.shard.Seek(t.tag)
	return head
}

// find looks up the key of a target, as far as that is not done, or done anew since records have moved.
func (t *target) find(key []byte) {
	if t.look == located || t.moves != t.shard.Moves {
		t.seek()
	}
	if t.look == sought {
		t.place, t.look = t.shard.FindFrom(t.place.At, t.tag, key), found
	}
}

// findMoved is find, unless nothing has moved since the key was looked up. It reports whether something has.
func (t *target) findMoved(key []byte) (moved bool) {
	if moved = t.moves != t.shard.Moves; moved {
		t.find(key)
	}
	return moved
}

// settlement is what a limit of a reservation is to be charged.
type settlement struct {
	reservation.Part
	amount int64
	atHome int64 // tokens that a home elsewhere is to be given back, or to be asked for if below zero
}

// loadPart loads the state of part i, whose key has been found.
func (g *group) loadPart(now int64, part *engine.Op, i int, res *engine.Result) {
	res.Clear()
	t := &g.targets[i]
	t.shard.Load(&g.calls[i], now, part, res, t.place)
}
