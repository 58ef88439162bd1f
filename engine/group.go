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
	keys    []byte           // room for those keys
}

// target is where a part's key lives.
type target struct {
	shard *shard
	tag   uint32

	place   place
	moves   uint32 // of the shard when place was found
	entries int    // that keeping the part may add to the shard
	bytes   int    // that their records take
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
	res.Binding = g.ask(now, parts, res.Parts)
	if res.Binding >= 0 {
		binding := &res.Parts[res.Binding]
		res.Status, res.Wait, res.Held, res.Wanted = binding.Status, binding.Wait, binding.Held, binding.Wanted
		g.lookAgain(parts)
		return true
	}
	res.Allowed, res.Granted = true, max(1, parts[0].Tokens)
	if parts[0].Options&Peek != 0 {
		return true
	}
	if settleOnly {
		return false
	}
	if !g.keep(now, parts) {
		res.reset()
		res.Status = OutOfRoom
	}
	return true
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
		c.ask()
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
		t.entries, t.bytes = t.shard.growth(&g.calls[i])
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
