// Package largevalues has what the values in blocks of one shard of a keyspace share: the heap of their blocks, and the
// changes that the journal does not have yet. It turns the state of such a value, which is a head in memory, into one
// that files have, and back.
package largevalues

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/blocks"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/engine/limits"
)

// Values are the values in blocks of a shard. Nil is none of them. The caller holds the shard's lock.
type Values struct {
	Heap  blocks.Heap
	logs  map[string]*changeLog // by the names of keys that changed since the journal took them
	value large.Value           // scratch
}

// changeLog is the changes of a value since a version that the journal has. It has none if they are too many.
type changeLog struct {
	after   uint64
	changes []byte
}

// New returns no values, whose blocks will be in a memory.
func New(memory blocks.Memory) *Values { return &Values{Heap: blocks.Heap{Memory: memory}} }

// IsHead reports whether a state is the head of a value in blocks.
func IsHead(limit *limits.Limit, state []byte) bool {
	return limit.Algorithm.IsValue() && algorithm.FormOf(state) == algorithm.InBlocks
}

// Owns is [IsHead] for a shard that may have no values in blocks.
func (l *Values) Owns(limit *limits.Limit, state []byte) bool {
	return l != nil && IsHead(limit, state)
}

// open begins to read the value of a head.
func (l *Values) open(limit *limits.Limit, state []byte) *large.Value {
	l.value.Open(engine.KindOf(limit.Algorithm), algorithm.DataOf(state), &l.Heap)
	return &l.value
}

// Whole returns the state that files have for a head.
func (l *Values) Whole(limit *limits.Limit, state []byte) []byte {
	v := l.open(limit, state)
	return algorithm.AppendForm(nil, algorithm.Whole, algorithm.ExpiryOf(state), v.Version, v.Flatten())
}

// Flat returns a state, for a head a state with the value as flat bytes.
func (l *Values) Flat(limit *limits.Limit, state []byte) []byte {
	if !l.Owns(limit, state) {
		return state
	}
	return flatState(algorithm.ExpiryOf(state), l.open(limit, state).Flatten())
}

// FlatSize returns the bytes of a state, for a head those of the value as flat bytes. longest is about the most bytes
// of an element: of flat bytes, all of them.
func FlatSize(limit *limits.Limit, state []byte) (bytes, longest int) {
	if limit == nil || !IsHead(limit, state) {
		return len(state), len(state)
	}
	head := large.ReadHead(algorithm.DataOf(state))
	return head.FlatBytes(engine.KindOf(limit.Algorithm)), int(head.Longest)
}

// AppendVersion appends what tells a value of a head from the same key's other values: its version, its size, and the
// time at which the key expires.
func AppendVersion(b, state []byte) []byte {
	head := large.ReadHead(algorithm.DataOf(state))
	for _, n := range [...]uint64{head.Version, uint64(head.Bytes), uint64(head.Main.Count), uint64(algorithm.ExpiryOf(state))} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// Stored returns the bytes of the blocks of a head.
func Stored(state []byte) int { return int(large.ReadHead(algorithm.DataOf(state)).Stored) }

// Free frees the blocks of a head that is dropped.
func (l *Values) Free(key []byte, limit *limits.Limit, state []byte) {
	l.open(limit, state).Free()
	delete(l.logs, string(key))
}

// Build puts a value of flat bytes into blocks, and returns its head.
func (l *Values) Build(kind engine.Kind, flat []byte, version uint64) large.Head {
	l.value.Build(kind, flat, version, &l.Heap)
	return l.value.Head
}

// Keep makes the changes of a value in its blocks, and notes them for the journal: unless the journal will take the
// whole value, or they take half as many bytes.
func (l *Values) Keep(key []byte, v *large.Value) large.Head {
	v.Keep()
	if !v.Logs { // a journal that begins later does not have these changes
		v.Journaled = 0
	}
	c, found := l.logs[string(key)]
	switch {
	case v.Journaled == 0 || found && c.changes == nil:
		return v.Head
	case !found:
		if l.logs == nil {
			l.logs = map[string]*changeLog{}
		}
		c = &changeLog{after: v.Before, changes: []byte{}}
		l.logs[string(key)] = c
	}
	if c.changes = append(c.changes, v.Log...); len(c.changes) > v.FlatBytes()/2 {
		c.changes = nil
	}
	return v.Head
}

// TakeChanges returns the state that the journal gets for a head, which it has then: the changes since the last time,
// or the whole value. If that has more bytes than a bound, it returns false.
func (l *Values) TakeChanges(key []byte, limit *limits.Limit, state []byte, most int) (journaled []byte, ok bool) {
	v := l.open(limit, state)
	c, expiry := l.logs[string(key)], algorithm.ExpiryOf(state)
	switch {
	case c != nil && c.changes != nil:
		journaled = algorithm.AppendForm(nil, algorithm.Log, expiry, c.after, c.changes)
	case c == nil && v.Journaled == v.Version: // only the time at which the key expires has changed
		journaled = algorithm.AppendForm(nil, algorithm.Log, expiry, v.Version, nil)
	case v.FlatBytes() > most:
		return nil, false
	default:
		journaled = algorithm.AppendForm(nil, algorithm.Whole, expiry, v.Version, v.Flatten())
	}
	delete(l.logs, string(key))
	large.SetJournaled(algorithm.DataOf(state))
	return journaled, true
}

// Load puts the value of a state from a file into blocks, and returns its head as a state.
func (l *Values) Load(kind engine.Kind, state []byte) (head []byte) {
	data := algorithm.DataOf(state)
	version, flat := algorithm.SplitVersion(data)
	h := l.Build(kind, flat, version)
	h.Journaled = h.Version
	v := engine.Value{Kind: kind, InBlocks: true, ExpiresAt: algorithm.ExpiryOf(state), Data: h.Append(nil)}
	head = make([]byte, algorithm.ValueSize(&v, 0))
	algorithm.StoreValue(head, &v)
	return head
}

// Redo carries out the changes in a state from the journal on the value of a head. It passes over the changes of
// another value, and over changes before which others are missing: those of a value that is deleted later, or of a
// journal that a failing disk has lost.
func (l *Values) Redo(limit *limits.Limit, head, state []byte) error {
	data, v := algorithm.DataOf(state), &l.value
	v.Edit(engine.KindOf(limit.Algorithm), large.ReadHead(algorithm.DataOf(head)), &l.Heap)
	after, changes := algorithm.SplitVersion(data)
	if after > v.Version {
		return nil
	}
	if !v.Redo(after, changes) {
		return algorithm.ErrState
	}
	v.Keep()
	v.Journaled = v.Version
	algorithm.StoreValue(head, &engine.Value{InBlocks: true, ExpiresAt: algorithm.ExpiryOf(state), Data: v.Head.Append(nil)})
	return nil
}

// Forget gives up the changes that are noted for the journal. The heads are to be passed to [ClearJournaled].
func (l *Values) Forget() { l.logs = nil }

// ClearJournaled makes the journal take the whole value of a head next time.
func ClearJournaled(state []byte) { large.ClearJournaled(algorithm.DataOf(state)) }

// flatState is the state of a collection of flat bytes.
func flatState(expiresAt int64, data []byte) []byte {
	v := engine.Value{Kind: engine.StringKind, ExpiresAt: expiresAt, Data: data}
	state := make([]byte, algorithm.ValueSize(&v, 0))
	algorithm.StoreValue(state, &v)
	return state
}
