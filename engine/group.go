package engine

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// MaxParts bounds the limits of one all-or-nothing request, and of a policy.
const MaxParts = 64

// group is the scratch of an all-or-nothing request.
type group struct {
	calls   [MaxParts]call
	targets [MaxParts]target
	order   [MaxParts]uint32 // the numbers of the shards, for locking
	parts   [MaxParts]Op     // a policy's limits, its keys filled in
	room    *restrictions
	full    bool   // new keys are treated as beyond the bound on memory
	sharing bool   // the lock of the shared limiters is held
	keys    []byte // room for those keys
}

// target is where a part's key lives.
type target struct {
	shard *shard
	tag   uint32

	place   place
	moves   uint32 // of the shard when place was found
	entries int    // that keeping the part may add to the shard
	bytes   int    // that their records take

	rules *Rules // of a new key that is not to be kept
	spot  spot   // of the limiter it shares
}

// acquireAll decides parts at one instant: tokens are taken from every limit or from none. It locks the shards, unless
// the caller holds them already. With settleOnly it takes nothing, and reports false where it would have.
func (s *Store) acquireAll(g *group, now int64, parts []Op, res *Result, locked, settleOnly bool) (settled bool) {
	res.reset()
	for i := range parts {
		h := maphash.Bytes(s.seed, parts[i].Key)
		n := s.shardOf(h)
		g.targets[i].shard, g.targets[i].tag = &s.shards[n], uint32(h)
		g.order[i] = uint32(n)
	}
	if g.hasTwins(parts) {
		res.Status = SameKeyTwice
		return true
	}
	if !locked {
		shards := s.lock(g.order[:len(parts)])
		defer s.unlock(shards)
	}
	if cap(res.Parts) < len(parts) {
		res.Parts = make([]Result, len(parts))
	}
	res.Parts = res.Parts[:len(parts)]
	g.room, g.full = &s.room, false
	defer g.stopSharing()
	if settled = g.decide(now, parts, res, settleOnly); settled && parts[0].Options&Peek == 0 {
		g.countForced(parts, res)
	}
	return settled
}

// decide asks every limit and keeps what they say if none denies. Where there is no room for a new key, it decides again
// as the store does when it is full.
func (g *group) decide(now int64, parts []Op, res *Result, settleOnly bool) (settled bool) {
	results := res.Parts
	res.Binding = g.ask(now, parts, results)
	if res.Binding >= 0 {
		binding := &results[res.Binding]
		res.Status, res.Wait, res.Held, res.Wanted = binding.Status, binding.Wait, binding.Held, binding.Wanted
		g.lookAgain(parts)
		return true
	}
	res.Allowed, res.Granted = true, max(1, parts[0].Tokens)
	switch {
	case parts[0].Options&Peek != 0:
		return true
	case settleOnly:
		return !g.changes(parts)
	case g.keep(now, parts):
		return true
	}
	res.reset()
	res.Parts = results
	if g.full {
		res.Parts = results[:0]
		res.Status = OutOfRoom
		return true
	}
	g.full = true
	return g.decide(now, parts, res, false)
}

// hasTwins reports whether two parts have the same key.
func (g *group) hasTwins(parts []Op) bool {
	for i := range parts {
		for j := range i {
			if g.targets[i].tag == g.targets[j].tag && bytes.Equal(parts[i].Key, parts[j].Key) {
				return true
			}
		}
	}
	return false
}

// lock sorts the numbers of shards and locks each of them once. Ascending order is the lock order of the store.
func (s *Store) lock(order []uint32) []uint32 {
	slices.Sort(order)
	order = slices.Compact(order)
	for _, n := range order {
		s.shards[n].mu.Lock()
	}
	return order
}

func (s *Store) unlock(order []uint32) {
	for _, n := range order {
		s.shards[n].mu.Unlock()
	}
}

// ask has every limit decide and returns the one that binds: an error before a denial, then the longest wait; or -1.
func (g *group) ask(now int64, parts []Op, results []Result) (binding int) {
	binding = -1
	for i := range parts {
		c, t, res := &g.calls[i], &g.targets[i], &results[i]
		res.reset()
		t.place, t.moves = t.shard.find(t.tag, parts[i].Key), t.shard.moves
		t.shard.load(c, now, &parts[i], res, t.place)
		if t.rules = nil; c.fresh {
			t.rules = g.rulesFor(parts[i].Key, t.place.found)
		}
		if t.rules == nil {
			c.ask()
		} else {
			g.force(c, i)
		}
		if res.Allowed {
			continue
		}
		if binding < 0 || binds(res, &results[binding]) {
			binding = i
		}
	}
	return binding
}

// binds reports whether one refusal weighs more than another.
func binds(a, b *Result) bool {
	if (a.Status != OK) != (b.Status != OK) {
		return a.Status != OK
	}
	if a.Status != OK || b.Wait == NeverWait {
		return false
	}
	return a.Wait == NeverWait || a.Wait > b.Wait
}

// lookAgain replaces the answers of limits that would have granted by what they hold untouched.
func (g *group) lookAgain(parts []Op) {
	for i := range parts {
		if c := &g.calls[i]; c.result.Allowed {
			c.result.reset()
			algorithms[c.limit.Algorithm].look(c)
		}
	}
}

// keep writes what every limit decided, after making room for all of it, so that it cannot stop half-way.
func (g *group) keep(now int64, parts []Op) bool {
	for i := range parts {
		t := &g.targets[i]
		if t.entries, t.bytes = 0, 0; t.rules == nil {
			t.entries, t.bytes = t.shard.growth(&g.calls[i])
		}
	}
	for i := range parts {
		if g.targets[i].bytes > 0 && !g.reserve(now, i) {
			return false
		}
	}
	for i := range parts {
		t, c := &g.targets[i], &g.calls[i]
		if c.result.Granted == 0 {
			continue
		}
		if t.rules != nil {
			if t.rules.NewKeys == OverflowNew {
				g.room.overflow.keep(c, t.spot)
			}
			continue
		}
		if t.moves != t.shard.moves { // the record is not where it was
			t.place = t.shard.find(t.tag, parts[i].Key)
			t.shard.load(c, now, &parts[i], c.result, t.place)
		}
		t.shard.keep(c, t.tag, t.place)
	}
	return true
}

// reserve makes room in the shard of part i for it and the parts before it.
func (g *group) reserve(now int64, i int) bool {
	entries, bytes := 0, 0
	for j := range i + 1 {
		if t := &g.targets[j]; t.shard == g.targets[i].shard {
			entries, bytes = entries+t.entries, bytes+t.bytes
		}
	}
	return g.targets[i].shard.reserve(now, entries, bytes)
}

// growth is the most that keeping a call's decision may add to the shard.
func (s *shard) growth(c *call) (entries, bytes int) {
	alg := &algorithms[c.limit.Algorithm]
	size := alg.bytes
	if size == 0 {
		size = alg.need(c)
	}
	switch {
	case c.fresh:
		return 1, recordBytes(size, len(c.op.Key))
	case size > len(c.state):
		return 0, recordBytes(size, len(c.op.Key))
	}
	return 0, 0
}

// rulesFor returns what becomes of a new key, nil if it is kept.
func (g *group) rulesFor(key []byte, there bool) *Rules {
	if rules := g.room.rulesFor(key, there); rules != nil || !g.full {
		return rules
	}
	return g.room.own.Load()
}

// force decides part i, whose key is new and not to be kept.
func (g *group) force(c *call, i int) {
	t, o := &g.targets[i], &g.room.overflow
	switch t.rules.NewKeys {
	case AllowNew:
		c.ask()
		return
	case DenyNew:
		c.refuse()
		return
	}
	if !g.sharing {
		o.mu.Lock()
		g.sharing = true
	}
	prefix, twin := t.rules.prefixOf(c.op.Key), uint8(0)
	for j := range i { // others of this request that would share the same limiter have one of their own
		if x := &g.targets[j]; x.rules != nil && x.rules.NewKeys == OverflowNew && g.calls[j].limit == c.limit && x.rules.prefixOf(g.calls[j].op.Key) == prefix {
			twin++
		}
	}
	var found bool
	if t.spot, found = o.place(c.now, prefix, c.limit, twin); !found {
		c.refuse()
		return
	}
	o.ask(c, t.spot)
}

func (g *group) stopSharing() {
	if g.sharing {
		g.sharing = false
		g.room.overflow.mu.Unlock()
	}
}

// changes reports whether keeping what was decided would change anything.
func (g *group) changes(parts []Op) bool {
	for i := range parts {
		if t := &g.targets[i]; g.calls[i].result.Granted > 0 && (t.rules == nil || t.rules.NewKeys == OverflowNew) {
			return true
		}
	}
	return false
}

// countForced counts the parts whose keys were not kept.
func (g *group) countForced(parts []Op, res *Result) {
	for i := range parts {
		if t := &g.targets[i]; t.rules != nil {
			one := *g.calls[i].result
			one.Allowed = res.Allowed
			g.room.count(t.rules.NewKeys, &one)
		}
	}
}
