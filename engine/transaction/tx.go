package transaction

import (
	"bytes"
	"slices"
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/engine/limits"
)

// Tx is the keys of a store as one command or script sees and changes them, at one instant. Its changes are kept
// when it ends, all of them or none.
type Tx struct {
	Room any // of the Commands, kept from one operation to the next

	selected
	shards   shards
	runner   *Runner
	now      int64
	ownTime  int64 // see OwnTime; 0 until the operation asks for it
	readOnly bool
	attempt  bool   // see IsAttempt
	alone    bool   // see Alone
	dropped  bool   // see Drop
	copies   copies // in use, they are all that it reads, and no shard is locked
	pending  []*pending
	used     int            // of pending; the rest is kept for reuse
	byKey    map[string]int // in pending, once they are many
	made     [][]byte       // of the changed keys, the new ones
	seen     seen
	call     algorithm.Call
	result   engine.Result
	reading  large.Value // see Large
	script   *engine.Op  // of a Script with PriorAt, or nil
	work     int         // see Work
	draws    uint64      // see Draw
	scripts  scriptChanges

	warnings       []engine.Warning // to be sent when the transaction is kept
	published      []message
	publishedBytes int
}

// pending is a key that the transaction has changed.
type pending struct {
	keyspace.Update
	spot
	new    bool
	edited large.Value // Large refers to it
}

// seen is a stored value that was looked at last, which is mostly the one that is changed next.
type seen struct {
	name    []byte
	value   engine.Value
	work    int // of looking at it
	isValid bool
}

// scriptChanges are operations on scripts, to be applied when the transaction ends.
type scriptChanges []engine.Op

// fewPending is the number of changed keys that are looked up one after the other.
const fewPending = 8

// Now is the time of the transaction, in nanoseconds since the Unix epoch.
func (t *Tx) Now() int64 { return t.now }

// OwnTime returns a time in nanoseconds since the Unix epoch that grows by at least a microsecond from each transaction
// that asks for it to the next. It is up to 10 ms later than [Tx.Now], and stays the same within the transaction.
func (t *Tx) OwnTime() int64 {
	switch {
	case t.ownTime != 0:
	case t.alone:
		t.ownTime = t.runner.OwnTimes.take(t.now)
	default:
		t.ownTime = t.runner.OwnTimes.peek(t.now)
	}
	return t.ownTime
}

// ReadOnly reports whether the transaction must not change anything: it was asked for by a READONLY connection or _RO.
func (t *Tx) ReadOnly() bool { return t.readOnly }

// Alone reports whether no other node carries out the transaction, or needs its outcome: that of a keyspace that is not
// replicated, and of one that is only answered if it changes nothing. It is false once the transaction needs more locks:
// nobody needs its outcome then, because it begins again.
func (t *Tx) Alone() bool { return t.alone && !t.shards.stopped }

// IsAttempt reports whether a transaction is answered only if it changes nothing, and proposed to the cluster otherwise,
// and whether it has changed anything so far. One that needs more locks begins again, so it is none.
func IsAttempt(t *Tx) (is, changes bool) {
	return t.attempt && !t.shards.stopped, t.used > 0 || len(t.scripts) > 0 || len(t.published) > 0
}

// Drop has nothing kept of the transaction. Only one that is [Tx.Alone] may be dropped.
func (t *Tx) Drop() { t.dropped = true }

// Work is the work that the transaction has taken so far, in units of [engine.Result.Work].
func (t *Tx) Work() int { return t.work }

// Draw numbers the random choices of the transaction, which all have the same own time.
func (t *Tx) Draw() uint64 {
	t.draws++
	return t.draws
}

// Spend adds to the work of the transaction what a command takes beyond the copying of values.
func (t *Tx) Spend(work int) { t.work += work }

// Get returns the value of a key, and false if it does not exist or has expired. Its data is valid until the next
// change of any key, and must not be written to.
func (t *Tx) Get(key []byte) (v engine.Value, found bool) {
	name := t.nameOf(key)
	if found = t.get(name, &v); v.InBlocks {
		if p := t.find(name); p != nil {
			flatten(t, &v, p.Large)
		} else {
			flattenStored(t, name, &v)
		}
	}
	return v, found
}

// get is Get of the key of a name, but for the data of a value in blocks, which is its head. All functions below take names. It sets v instead of returning it: a value is too
// large for registers, and copying what has just been written takes longer than writing it.
func (t *Tx) get(key []byte, v *engine.Value) (found bool) {
	if p := t.find(key); p != nil {
		if p.Gone {
			return false
		}
		t.work += len(p.Data) / keyspace.WorkBytes
		if *v = p.Value; !p.Kind.IsData() {
			*v = t.limiter(p.Limit, p.Data)
		}
		return true
	}
	limit, state := t.stateOf(key)
	switch {
	case limit == nil:
		return false
	case algorithm.Table[limit.Algorithm].Expired(state, limit, t.now):
		return false
	case !limit.Algorithm.IsValue():
		*v = t.limiter(*limit, state)
		return true
	}
	work := len(state) / keyspace.WorkBytes
	t.work += work
	v.Kind, v.ExpiresAt, v.Data = engine.KindOf(limit.Algorithm), algorithm.ExpiryOf(state), algorithm.DataOf(state)
	if v.InBlocks = algorithm.FormOf(state) == algorithm.InBlocks; !t.readOnly && !v.InBlocks {
		t.seen = seen{append(t.seen.name[:0], key...), *v, work, true}
	}
	return true
}

// stateOf is the limit and the state of a key that is not changed; the limit is nil if there is none, or if the
// transaction is stopped.
func (t *Tx) stateOf(key []byte) (limit *limits.Limit, state []byte) {
	if t.copies.inUse {
		c := t.copies.find(key)
		if t.shards.stopped = t.shards.stopped || c == nil; c == nil || !c.found {
			return nil, nil
		}
		return &c.limit, c.state
	}
	s, held := t.shards.spotOf(key)
	if !held {
		return nil, nil
	}
	return s.stateOf(key)
}

// limiter is the key of a limiter as Get returns it.
func (t *Tx) limiter(limit limits.Limit, state []byte) engine.Value {
	t.result.Clear()
	c := &t.call
	c.Begin(t.now, &lookOp, &t.result)
	c.Open(&limit, state)
	c.Limit = c.Prev
	algorithm.Table[c.Limit.Algorithm].Look(c)
	if t.result.Reset <= 0 { // it is there for something else, whose end is not known here
		return engine.Value{Kind: engine.KindOf(limit.Algorithm)}
	}
	return engine.Value{Kind: engine.KindOf(limit.Algorithm), ExpiresAt: t.now + t.result.Reset}
}

// transactions are the rooms of transactions that are not under way, which all runners share.
var transactions = sync.Pool{New: func() any { return new(Tx) }}

// lookOp is the operation of a look at a limiter.
var lookOp = engine.Op{Verb: engine.Look}

// Edit returns the value of a key to be changed in place: its Data is the caller's to append to and to write to. A key
// that does not exist begins empty, of the given kind, and never expires. The caller has made sure that an existing
// key is of that kind. Data must not exceed [engine.MaxValueBytes].
func (t *Tx) Edit(key []byte, kind engine.Kind) *engine.Value {
	key = t.nameOf(key)
	if p := t.find(key); p != nil {
		unfold(t, p)
		if p.Gone {
			p.Gone, p.Limit, p.Value = false, limits.Limit{Algorithm: kind.Algorithm()}, engine.Value{Kind: kind, Data: p.Data[:0]}
		}
		t.work += len(p.Data) / keyspace.WorkBytes
		return &p.Value
	}
	v := engine.Value{Kind: kind}
	if s := &t.seen; s.isValid && bytes.Equal(s.name, key) {
		v = s.value
		t.work += s.work // a change costs two looks, as it always has: replicas count alike
	} else if t.get(key, &v); v.InBlocks {
		flattenStored(t, key, &v)
	}
	p := t.add(key)
	p.set(&v)
	return &p.Value
}

// Set replaces the value of a key. It copies the data.
func (t *Tx) Set(key []byte, v engine.Value) {
	p := t.changed(t.nameOf(key))
	p.Gone = false
	p.set(&v)
}

// set makes it the key of a value, whose data it copies.
func (p *pending) set(v *engine.Value) {
	p.Limit, p.Large = limits.Limit{Algorithm: v.Kind.Algorithm()}, nil
	p.Kind, p.InBlocks, p.ExpiresAt, p.Data = v.Kind, v.InBlocks, v.ExpiresAt, append(p.Data[:0], v.Data...)
}

// Delete drops a key, a limiter's too, and reports whether it existed. Of a limiter with loans the loans stay.
func (t *Tx) Delete(key []byte) (existed bool) { return t.delete(t.nameOf(key)) }

func (t *Tx) delete(key []byte) (existed bool) {
	var v engine.Value
	if !t.get(key, &v) {
		return false
	}
	if v.Kind.Algorithm().IsPurse() {
		return false // it would not be reset at home
	}
	if v.Kind.Algorithm().IsLent() {
		c := &t.call
		if t.loadLimiter(c, &engine.Op{Verb: engine.Delete, Key: key}, &t.result); c.Lent > 0 {
			c.Limit = c.Prev
			c.History.Clear()
			t.keepLimiter(c, algorithm.NoState[:])
			return true
		}
	}
	p := t.changed(key)
	p.Gone, p.Large = true, nil
	return true
}

// find returns a changed key, nil if it is not changed.
func (t *Tx) find(key []byte) *pending {
	if t.used > fewPending {
		if i, ok := t.byKey[string(key)]; ok {
			return t.pending[i]
		}
		return nil
	}
	for _, p := range t.pending[:t.used] {
		if bytes.Equal(p.Key, key) {
			return p
		}
	}
	return nil
}

// changed returns a key as one that is changed.
func (t *Tx) changed(key []byte) *pending {
	if p := t.find(key); p != nil {
		return p
	}
	return t.add(key)
}

// add makes a key one that is changed.
func (t *Tx) add(key []byte) *pending {
	s, _ := t.shards.spotOf(key)
	return addAt(t, key, s)
}

// addAt is add of a key whose spot is known.
func addAt(t *Tx, key []byte, s *spot) *pending {
	if t.used == len(t.pending) {
		t.pending = append(t.pending, &pending{})
	}
	p := t.pending[t.used]
	t.used++
	p.Key, p.Gone, p.Large, p.InBlocks, p.Build = append(p.Key[:0], key...), false, nil, false, false
	p.spot = *s
	switch {
	case t.used == fewPending+1:
		t.byKey = make(map[string]int, 4*fewPending)
		for i, p := range t.pending[:t.used] {
			t.byKey[string(p.Key)] = i
		}
	case t.used > fewPending:
		t.byKey[string(key)] = t.used - 1
	}
	return p
}

// begin makes the transaction ready for an operation.
func (t *Tx) begin(now int64, op *engine.Op) {
	t.now, t.readOnly, t.dropped, t.shards.stopped, t.used, t.byKey, t.scripts, t.work, t.call.Listed = now, op.Options&engine.Peek != 0, false, false, 0, nil, nil, 0, 0
	t.number, t.warnings, t.published, t.publishedBytes, t.draws, t.ownTime = op.Database, nil, nil, 0, 0, 0
	t.seen.isValid = false
	if t.script = nil; op.PriorAt != 0 {
		t.script = op
	}
}

// end releases the locks that the transaction took, and lets go of buffers too large to be kept for the next one.
func (t *Tx) end() {
	t.shards.unlock()
	t.copies.drop()
	const keepPending, keepBytes = 64, 64 << 10
	if len(t.pending) > keepPending {
		t.pending = slices.Delete(t.pending, keepPending, len(t.pending))
	}
	for _, p := range t.pending {
		if cap(p.Data) > keepBytes {
			p.Data = nil
		}
	}
	transactions.Put(t)
}

// elementWork is the work of copying one element of a value in blocks.
const elementWork = 2

// flatten replaces the head in v by the flat bytes of a value in blocks.
func flatten(t *Tx, v *engine.Value, of *large.Value) {
	v.InBlocks, v.Data = false, of.Flatten()
	t.work += len(v.Data)/keyspace.WorkBytes + elementWork*of.Len()
}

// flattenStored is flatten of a key whose head is stored.
func flattenStored(t *Tx, key []byte, v *engine.Value) {
	s, _ := t.shards.spotOf(key)
	t.reading.Open(v.Kind, v.Data, &keyspace.LargeValues(s.shard).Heap)
	flatten(t, v, &t.reading)
}

// unfold makes a changed key one whose value is flat bytes.
func unfold(t *Tx, p *pending) {
	if p.Large != nil {
		flatten(t, &p.Value, p.Large)
		p.Large = nil
	}
}
