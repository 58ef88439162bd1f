package keyspace

import (
	"encoding/binary"
	"github.com/stintdb/stint/engine/internal/arena"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// Change is the change of one key, or of all, since the last [Store.Changes].
type Change struct {
	Kind  ChangeKind
	Entry Entry      // Changed: the state as it is now; Deleted: its Key alone. Slices are only valid during the call
	Op    *engine.Op // PolicyChanged: the operation that changed a policy
}

// ChangeKind is the kind of a Change.
type ChangeKind uint8

// The kinds of changes.
const (
	Changed       ChangeKind = iota
	Deleted                  // the key was reset
	Flushed                  // every key was
	PolicyChanged            // a policy was set, dropped or overridden
	// PoliciesForgotten drops all policies and scripts: the changes that follow contain every one. A store does not report
	// it.
	PoliciesForgotten
)

// Changes records for a journal the keys written and deleted since the last call of [Store.Changes]. A key that is
// written a million times in between is recorded once.
type Changes struct {
	uses    atomic.Uint32 // of the notes: what of journal and observed is on
	changed func(key []byte)
	warned  func(w *engine.Warning)
	dirty   []atomic.Uint64 // a bit for every shard with something noted
	flushes atomic.Uint64   // how often every key was deleted
	seen    uint64          // flushes that Changes has reported; only it uses this
	lost    atomic.Bool     // more was deleted between two calls than is noted
}

// notes are the changes that one shard has to report.
type notes struct {
	changes *Changes
	dirty   []uint32 // references of records written since the last Changes
	gone    []byte   // keys deleted since then: 4 bytes of length, the key
	Number  uint32   // of the shard
}

// maxGone bounds the bytes of deleted keys that a shard notes. Beyond it a snapshot is needed.
const maxGone = 64 << 10

func (r record) isDirty() bool { return binary.LittleEndian.Uint32(r[4:])&dirtyBit != 0 }

func (r record) setDirty(dirty bool) {
	n := binary.LittleEndian.Uint32(r[4:]) &^ dirtyBit
	if dirty {
		n |= dirtyBit
	}
	binary.LittleEndian.PutUint32(r[4:], n)
}

// The uses of notes.
const (
	journaled = 1 << iota // for [Keyspace.TakeChanges]
	observed              // for [Config].Changed
)

// IsOn reports whether changes are noted for a journal.
func (c *Changes) IsOn() bool { return c.uses.Load()&journaled != 0 }

func (c *Changes) set(use uint32, on bool) {
	if on {
		c.uses.Or(use)
	} else {
		c.uses.And(^use)
	}
}

// tell hands a key that changed, nil for all of them, to the observer.
func (c *Changes) tell(key []byte) {
	if c.uses.Load()&observed != 0 {
		c.changed(key)
	}
}

// Lose notes that a change could not be noted.
func (c *Changes) Lose() { c.lost.Store(true) }

func (c *Changes) mark(shard uint32) { c.dirty[shard/64].Or(1 << (shard % 64)) }

// note marks a record as written.
func (t *table) note(ref uint32) {
	uses := t.changes.uses.Load()
	if uses == 0 {
		return
	}
	r := t.record(ref)
	t.changes.tell(r.key())
	if uses&journaled != 0 && !r.isDirty() {
		r.setDirty(true)
		t.noteRef(ref)
	}
}

func (n *notes) noteRef(ref uint32) {
	if len(n.dirty) == 0 {
		n.changes.mark(n.Number)
	}
	n.dirty = append(n.dirty, ref)
}

// noteGone marks a key as deleted.
func (n *notes) noteGone(key []byte) {
	if !n.changes.IsOn() {
		return
	}
	if len(n.gone) > 0 && len(n.gone)+len(key)+4 > maxGone {
		n.changes.lost.Store(true)
		return
	}
	n.changes.mark(n.Number)
	n.gone = append(binary.LittleEndian.AppendUint32(n.gone, uint32(len(key))), key...)
}

// forget drops the notes of records in a segment of this many bytes.
func (n *notes) forget(number, bytes int) {
	count := uint32(arena.Numbers(bytes))
	n.dirty = slices.DeleteFunc(n.dirty, func(ref uint32) bool { return arena.SegmentOf(ref)-uint32(number) < count })
}

// noteDropped marks a key as deleted that is dropped before its last state was reported, because the journal may have
// an older state that expires later.
func (t *table) noteDropped(r record) {
	if r.isDirty() {
		t.noteGone(r.key())
	}
}

// Track starts or stops noting changes. It must be called before the store is used by others.
func (s *Keyspace) Track(on bool) { s.changes.set(journaled, on) }

// Observe starts or stops calls of [Config].Changed. It may be called at any time; a change that is under way may be
// missed, so an observer looks at the keys of interest after it has begun.
func (s *Keyspace) Observe(on bool) { s.changes.set(observed, on && s.changes.changed != nil) }

// Replaced reports to the observer that all keys may have changed, after loading.
func (s *Keyspace) Replaced() { s.changes.tell(nil) }

// TakeChanges reports the changes of all keys since the last call, but for states larger than stateBytes, and forgets
// them.
func (s *Keyspace) TakeChanges(stateBytes int, now int64, visit func(Change)) (complete, left bool) {
	for i := range s.changes.dirty {
		for set := s.changes.dirty[i].Swap(0); set != 0; set &= set - 1 {
			sh := &s.shards[i*64+bits.TrailingZeros64(set)]
			sh.mu.Lock()
			s.reportFlush(visit)
			if sh.takeChanges(stateBytes, now, visit) {
				left = true
				s.changes.mark(sh.Number)
			}
			sh.mu.Unlock()
		}
	}
	s.reportFlush(visit)
	return !s.changes.lost.Swap(false), left
}

// HasChanges reports whether takeChanges would find any.
func (s *Keyspace) HasChanges() bool {
	for i := range s.changes.dirty {
		if s.changes.dirty[i].Load() != 0 {
			return true
		}
	}
	return s.changes.flushes.Load() != s.changes.seen
}

// reportFlush reports a deletion of all keys before any later change. Changes reported earlier precede it:
// a flush holds every shard's lock.
func (s *Keyspace) reportFlush(visit func(Change)) {
	if n := s.changes.flushes.Load(); n != s.changes.seen {
		s.changes.seen = n
		visit(Change{Kind: Flushed})
	}
}

// takeChanges reports the noted changes, and keeps the notes of states larger than stateBytes.
func (t *table) takeChanges(stateBytes int, now int64, visit func(Change)) (left bool) {
	for gone := t.gone; len(gone) > 0; {
		n := 4 + int(binary.LittleEndian.Uint32(gone))
		visit(Change{Kind: Deleted, Entry: Entry{Key: gone[4:n]}})
		gone = gone[n:]
	}
	t.gone = t.gone[:0]
	kept := t.dirty[:0]
	for _, ref := range t.dirty {
		r := t.record(ref)
		if !r.isDirty() {
			continue // it was deleted, or moved and noted again
		}
		e := t.entry(r)
		fits := len(e.State) <= stateBytes
		if t.large.Owns(&e.Limit, e.State) {
			e.State, fits = t.large.TakeChanges(e.Key, &e.Limit, e.State, stateBytes)
		}
		if !fits {
			kept = append(kept, ref)
			continue
		}
		r.setDirty(false)
		if algorithm.Table[e.Limit.Algorithm].Expired(e.State, &e.Limit, now) { // an older reported state may expire later
			visit(Change{Kind: Deleted, Entry: Entry{Key: e.Key}})
			continue
		}
		visit(Change{Kind: Changed, Entry: e})
	}
	t.dirty = kept
	return len(kept) > 0
}
