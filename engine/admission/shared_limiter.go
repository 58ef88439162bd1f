package admission

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// sharedLimiters are the limiters that new keys share while there is no room for them: one for each prefix and limit.
// They replace the keys' separate limiters, so no key gets more than its limit, and all new keys of a prefix together
// get no more than one of them would.
//
// There are few, so that keys whose prefixes an attacker makes up can't take memory either: those for whose prefix
// there is no limiter share that of the empty prefix. Every change is made by an operation that changes something
// anyway, and the room does not depend on the time of the last cleanup: replicas have the same limiters.
type sharedLimiters struct {
	mu       sync.Mutex
	limiters map[sharedName]*sharedLimiter
	named    int // of them, those with a prefix
	bytes    int // of their states
	leases   int // of them, how many are of concurrency limits
}

type sharedName struct {
	prefix   string
	limit    limits.Limit
	instance uint8 // which one, where one request asks several keys that would share
}

type sharedLimiter struct {
	state  []byte
	latest int64 // the time of its last change: it is asked at no earlier one, as keys in their shards
}

// The bounds on shared limiters.
const (
	MaxNamedLimiters   = 256
	MaxUnnamedLimiters = 64
	MaxOverflowBytes   = 8 << 20 // of states; only the states of sliding logs and leases grow
)

// SharedRef is the place of a shared limiter, which is made when it first keeps a state.
type SharedRef struct {
	name    sharedName
	limiter *sharedLimiter // nil if there is none yet
}

// Ref finds the limiter of a prefix, or the limiter of all the rest, and reports false if there is room for neither.
// The caller holds mu.
func (o *sharedLimiters) Ref(now int64, prefix string, l limits.Limit, instance uint8) (p SharedRef, found bool) {
	p.name = sharedName{prefix, l, instance}
	if p.limiter = o.limiters[p.name]; p.limiter != nil {
		return p, true
	}
	if prefix != "" {
		if o.named < MaxNamedLimiters || o.count(now, true) < MaxNamedLimiters {
			return p, true
		}
		p.name.prefix = ""
		if p.limiter = o.limiters[p.name]; p.limiter != nil {
			return p, true
		}
	}
	unnamed := len(o.limiters) - o.named
	return p, unnamed < MaxUnnamedLimiters || o.count(now, false) < MaxUnnamedLimiters
}

// count counts the limiters that hold information at now.
func (o *sharedLimiters) count(now int64, named bool) (n int) {
	for name, s := range o.limiters {
		if (name.prefix != "") == named && !s.expired(&name.limit, now) {
			n++
		}
	}
	return n
}

func (s *sharedLimiter) expired(l *limits.Limit, now int64) bool {
	return algorithm.Table[l.Algorithm].Expired(s.state, l, now)
}

// Ask lets a shared limiter decide for a key, and reports whether that changes it. It is refused if keeping it would
// take too much.
func (o *sharedLimiters) Ask(c *algorithm.Call, p SharedRef) (changed bool) {
	c.Prev, c.State, c.IsNew, c.Scanned = c.Limit, algorithm.NoState[:], true, false
	if p.limiter != nil {
		if c.Now = max(c.Now, p.limiter.latest); !p.limiter.expired(&c.Limit, c.Now) {
			c.State, c.IsNew = p.limiter.state, false
		}
	}
	if c.Limit.Algorithm.NeedsWho() {
		op := *c.Op
		op.Who = holderOfKey(op.Key, op.Who)
		c.Op = &op
	}
	if changed = c.Ask(); changed && c.Op.Options&engine.Peek == 0 && !o.fits(c, p) {
		c.Refuse()
		return false
	}
	return changed
}

// fits reports whether there is room for the decision of c. An expired limiter takes none, because it may have
// been cleaned up elsewhere.
func (o *sharedLimiters) fits(c *algorithm.Call, p SharedRef) bool {
	size := c.Size()
	if o.bytes+size <= MaxOverflowBytes {
		return true
	}
	for name, s := range o.limiters {
		if s != p.limiter && !s.expired(&name.limit, c.Now) {
			size += len(s.state)
		}
	}
	return size <= MaxOverflowBytes
}

// Keep writes what c decided.
func (o *sharedLimiters) Keep(c *algorithm.Call, p SharedRef) {
	alg, size := &algorithm.Table[c.Limit.Algorithm], c.Size()
	if p.limiter = o.limiters[p.name]; p.limiter == nil { // or another of the same request had it cleaned up since
		p.limiter = o.add(c.Now, p.name)
	}
	p.limiter.latest = c.Now
	had := p.limiter.state
	state := had
	if c.IsNew || size != len(had) {
		state = make([]byte, size)
		if !c.IsNew {
			copy(state, had)
		}
	}
	if alg.Bytes != 0 {
		copy(state, c.Next[:])
	} else {
		layout.SetVariableSize(state, size)
		alg.Write(c, state)
	}
	p.limiter.state = state
	if o.bytes += len(state) - len(had); o.bytes > MaxOverflowBytes {
		o.clean(c.Now)
	}
}

func (o *sharedLimiters) add(now int64, name sharedName) *sharedLimiter {
	if o.named >= MaxNamedLimiters || len(o.limiters)-o.named >= MaxUnnamedLimiters {
		o.clean(now)
	}
	if o.limiters == nil {
		o.limiters = map[sharedName]*sharedLimiter{}
	}
	s := &sharedLimiter{}
	o.limiters[name] = s
	if name.prefix != "" {
		o.named++
	}
	if name.limit.Algorithm == limits.Concurrency {
		o.leases++
	}
	return s
}

// clean removes the expired limiters.
func (o *sharedLimiters) clean(now int64) {
	for n, s := range o.limiters {
		if s.expired(&n.limit, now) {
			o.remove(n, s)
		}
	}
}

func (o *sharedLimiters) remove(n sharedName, s *sharedLimiter) {
	delete(o.limiters, n)
	o.bytes -= len(s.state)
	if n.prefix != "" {
		o.named--
	}
	if n.limit.Algorithm == limits.Concurrency {
		o.leases--
	}
}

// Rewind turns the times of all states back.
func (o *sharedLimiters) Rewind(from, to int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, limiter := range o.limiters {
		algorithm.RewindState(limiter.state, &name.limit, from, to)
		limiter.latest = 0
	}
}

func (o *sharedLimiters) Lock()   { o.mu.Lock() }
func (o *sharedLimiters) Unlock() { o.mu.Unlock() }

func (o *sharedLimiters) Clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limiters, o.named, o.bytes, o.leases = nil, 0, 0, 0
}

// ClearDatabase forgets the limiters that keys of one database share. That of the empty prefix counts for database 0.
func (o *sharedLimiters) ClearDatabase(number uint8) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, s := range o.limiters {
		if n, _ := database.Split([]byte(name.prefix)); n == number {
			o.remove(name, s)
		}
	}
}

// holderOfKey returns the SHA-256 of key and holder, so that holders of different keys that share a limiter stay
// distinct.
func holderOfKey(key, who []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(key)))
	sum := sha256.Sum256(append(append(b, key...), who...))
	return sum[:]
}

// Release ends the lease that a holder of a key without an entry has in a shared limiter, if it has one; with look it
// only reports whether it has.
func (o *sharedLimiters) Release(c *algorithm.Call, look bool) (released bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ReleaseLocked(c, look)
}

// ReleaseLocked is release for a caller that holds mu.
func (o *sharedLimiters) ReleaseLocked(c *algorithm.Call, look bool) (released bool) {
	if o.leases == 0 {
		return false
	}
	op := *c.Op
	op.Who = holderOfKey(op.Key, op.Who)
	for name, s := range o.limiters {
		if name.limit.Algorithm != limits.Concurrency || s.expired(&name.limit, c.Now) {
			continue
		}
		mine := algorithm.Call{Now: c.Now, Op: &op, Limit: name.limit, Prev: name.limit, State: s.state, Result: c.Result}
		if look && mine.ScanLeases().Found || !look && algorithm.Table[limits.Concurrency].Release(&mine) {
			return true
		}
	}
	return false
}

// ops calls visit for the operations that make the limiters there are, in an order that is the same everywhere.
func (o *sharedLimiters) ops(visit func(*engine.Op)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := make([]sharedName, 0, len(o.limiters))
	for name := range o.limiters {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b sharedName) int {
		if a.prefix != b.prefix {
			return strings.Compare(a.prefix, b.prefix)
		}
		if c := slices.Compare(a.limit.Append(nil), b.limit.Append(nil)); c != 0 {
			return c
		}
		return int(a.instance) - int(b.instance)
	})
	for _, n := range names {
		visit(&engine.Op{Verb: engine.KeepOverflow, Instance: n.instance, Key: []byte(n.prefix), Who: o.limiters[n].state, Parts: []engine.Op{{Limit: n.limit, Tokens: 1}}})
	}
}

// Load carries out a KeepOverflow: a shared limiter as it was.
func (o *sharedLimiters) Load(now int64, op *engine.Op, res *engine.Result) {
	var room [algorithm.MaxState]byte
	limit := op.Parts[0].Limit
	state, err := algorithm.CheckState(&limit, op.Who, &room)
	if err != nil {
		res.Status = engine.NotFound
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := sharedName{string(op.Key), limit, op.Instance}
	s := o.limiters[name]
	if s == nil {
		s = o.add(now, name)
	}
	o.bytes += len(state) - len(s.state)
	s.state = slices.Clone(state)
	if o.bytes > MaxOverflowBytes {
		o.clean(now)
	}
}
