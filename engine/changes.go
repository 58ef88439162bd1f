package engine

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"sync/atomic"
)

// Change is what has become of one key, or of all, since the last [Store.Changes].
type Change struct {
	Kind  ChangeKind
	Entry Entry // Changed: the state as it is now; Deleted: its Key alone. Slices are only valid during the call
	Op    *Op   // PolicyChanged: the operation that changed a policy
}

// ChangeKind says what a Change is.
type ChangeKind uint8

// The kinds of changes.
const (
	Changed       ChangeKind = iota
	Deleted                  // the key was made as good as new
	Flushed                  // every key was
	PolicyChanged            // a policy was set, dropped or overridden
	// PoliciesForgotten says that what comes next tells of every policy there is. A store does not report it.
	PoliciesForgotten
)

// changes is what the store notes for a journal: which keys were written, and which were deleted, since it was asked
// last. A key that is written a million times in between is noted once.
type changes struct {
	on      atomic.Bool
	dirty   []atomic.Uint64 // a bit for every shard with something noted
	flushes atomic.Uint64   // how often every key was deleted
	seen    uint64          // flushes that Changes has reported; only it uses this
	lost    atomic.Bool     // more was deleted between two calls than is noted
}

// maxGone bounds the bytes of deleted keys that a shard notes. Beyond it the next snapshot has to tell.
const maxGone = 64 << 10

func (r record) isDirty() bool { return binary.LittleEndian.Uint32(r[4:])&dirtyBit != 0 }

func (r record) setDirty(dirty bool) {
	n := binary.LittleEndian.Uint32(r[4:]) &^ dirtyBit
	if dirty {
		n |= dirtyBit
	}
	binary.LittleEndian.PutUint32(r[4:], n)
}

func (c *changes) mark(shard uint32) { c.dirty[shard/64].Or(1 << (shard % 64)) }

// note marks a record as written.
func (s *shard) note(ref uint32) {
	if !s.changes.on.Load() {
		return
	}
	if r := s.record(ref); !r.isDirty() {
		r.setDirty(true)
		s.noteRef(ref)
	}
}

func (s *shard) noteRef(ref uint32) {
	if len(s.dirty) == 0 {
		s.changes.mark(s.number)
	}
	s.dirty = append(s.dirty, ref)
}

// noteGone marks a key as deleted.
func (s *shard) noteGone(key []byte) {
	if !s.changes.on.Load() {
		return
	}
	if len(s.gone) > 0 && len(s.gone)+len(key)+4 > maxGone {
		s.changes.lost.Store(true)
		return
	}
	s.changes.mark(s.number)
	s.gone = append(binary.LittleEndian.AppendUint32(s.gone, uint32(len(key))), key...)
}

// noteDropped marks a key as deleted that is dropped before its last state was told: the journal may know an older one,
// which lasts longer.
func (s *shard) noteDropped(r record) {
	if r.isDirty() {
		s.noteGone(r.key())
	}
}

// Track starts or stops noting changes. It must be called before the store is used by others.
func (s *Store) Track(on bool) { s.changes.on.Store(on) }

// Changes calls visit for everything that changed since the last call, once for each key, and forgets it. A key's
// deletion comes before a state it was given afterwards. visit runs under a shard's lock: it must be quick and must not
// call the store. complete is false if something deleted could not be noted: only a snapshot then tells all. Calls must
// not overlap.
func (s *Store) Changes(now int64, visit func(Change)) (complete bool) {
	s.policies.takeChanges(func(op *Op) { visit(Change{Kind: PolicyChanged, Op: op}) })
	for i := range s.changes.dirty {
		for set := s.changes.dirty[i].Swap(0); set != 0; set &= set - 1 {
			sh := &s.shards[i*64+bits.TrailingZeros64(set)]
			sh.mu.Lock()
			s.reportFlush(visit)
			sh.takeChanges(now, visit)
			sh.mu.Unlock()
		}
	}
	s.reportFlush(visit)
	return !s.changes.lost.Swap(false)
}

// HasChanges reports whether Changes would find any.
func (s *Store) HasChanges() bool {
	for i := range s.changes.dirty {
		if s.changes.dirty[i].Load() != 0 {
			return true
		}
	}
	return s.changes.flushes.Load() != s.changes.seen || s.policies.changed.Load()
}

// reportFlush tells of a deletion of all keys before anything that came after it. What was reported before came before:
// a flush holds every shard's lock.
func (s *Store) reportFlush(visit func(Change)) {
	if n := s.changes.flushes.Load(); n != s.changes.seen {
		s.changes.seen = n
		visit(Change{Kind: Flushed})
	}
}

func (s *shard) takeChanges(now int64, visit func(Change)) {
	for gone := s.gone; len(gone) > 0; {
		n := 4 + int(binary.LittleEndian.Uint32(gone))
		visit(Change{Kind: Deleted, Entry: Entry{Key: gone[4:n]}})
		gone = gone[n:]
	}
	s.gone = s.gone[:0]
	for _, ref := range s.dirty {
		r := s.record(ref)
		if !r.isDirty() {
			continue // it was deleted, or moved and noted anew
		}
		r.setDirty(false)
		limit := s.limitOf(r)
		alg := &algorithms[limit.Algorithm]
		state := alg.stateOf(r.rest())
		if alg.expired(state, limit, now) { // an older state that was told may last longer
			visit(Change{Kind: Deleted, Entry: Entry{Key: r.key()}})
			continue
		}
		visit(Change{Kind: Changed, Entry: Entry{Key: r.key(), Limit: *limit, State: state}})
	}
	s.dirty = s.dirty[:0]
}

// takeChanges hands out the operations that changed policies, in order.
func (p *policies) takeChanges(visit func(*Op)) {
	p.mu.Lock()
	ops := p.changes
	p.changes = nil
	p.changed.Store(false)
	p.mu.Unlock()
	for i := range ops {
		visit(&ops[i])
	}
}

// ErrState refuses an entry whose parts do not fit together.
var ErrState = errors.New("state does not fit its limit")

// CheckPolicy reports whether an operation read from somewhere is one on a policy that can be applied, or [ErrState].
func (o *Op) CheckPolicy() error {
	if o.Verb == Restrict || o.Verb == KeepOverflow {
		return o.checkRestrict()
	}
	switch {
	case o.Verb != SetPolicy && o.Verb != DropPolicy && o.Verb != SetOverride, len(o.Parts) > MaxParts,
		o.Verb == SetPolicy && len(o.Parts) == 0, len(o.Key) > MaxPolicyName, len(o.Who) > MaxKeyBytes:
		return ErrState
	}
	for i := range o.Parts {
		p := &o.Parts[i]
		if !p.Limit.isWhole() || len(p.Key) > MaxKeyBytes || len(p.Who) > MaxKeyBytes {
			return ErrState
		}
	}
	return nil
}

// isWhole reports whether every field is in its range and all fit together.
func (l *Limit) isWhole() bool {
	if l.Algorithm == NoAlgorithm || int(l.Algorithm) >= len(algorithms) || l.Capacity < 1 || l.Capacity > MaxTokens ||
		l.Rate.Period < 0 || l.Rate.Tokens < 0 || l.Rate.Tokens > MaxTokens || l.Span > EachMonth {
		return false
	}
	return algorithms[l.Algorithm].rate == (l.Rate.Tokens > 0) && (l.Rate.Period == 0) == (l.Span > Aligned) &&
		(l.Span == FromFirst || l.Algorithm == FixedWindow) && l.Check() == nil
}

// check returns the entry's state in its full size, in room if that is enough, once nothing in it can mislead the
// algorithm.
func (e *Entry) check(room *[maxState]byte) ([]byte, error) {
	l := &e.Limit
	if !l.isWhole() || len(e.Key) > MaxKeyBytes {
		return nil, ErrState
	}
	alg := &algorithms[l.Algorithm]
	if alg.bytes != 0 {
		if len(e.State) > alg.bytes {
			return nil, ErrState
		}
		clear(room[copy(room[:], e.State):])
		return room[:alg.bytes], nil
	}
	if len(e.State) < 4 {
		return nil, ErrState
	}
	size := binary.LittleEndian.Uint32(e.State)
	if int64(size) < int64(len(e.State)) || size > maxVariableState || size%recordAlign != 0 {
		return nil, ErrState
	}
	state := make([]byte, size)
	copy(state, e.State)
	if !alg.valid(state) {
		return nil, ErrState
	}
	return state, nil
}

const (
	// MaxKeyBytes bounds a key.
	MaxKeyBytes = 1 << 20
	// maxVariableState bounds a log or a set of leases.
	maxVariableState = 32 << 20
)
