package main

import (
	"cmp"
	"slices"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/upstream"
)

// groupKeys are the stores of a node's groups as one. The first, of group 0, has the policies and no keys. What clients
// see of all keys (SCAN, KEYS, DBSIZE, RANDOMKEY) are those of the groups that this node leads, as of a master in Redis
// Cluster.
type groupKeys struct {
	localstore.Store // group 0's store, for what no method here answers
	first            *store.Store
	node             *cluster.Node
	keys             []*store.Store // of the groups of keys, from group 1 on
}

func (k groupKeys) sum(of func(s *store.Store) int64) (sum int64) {
	for _, s := range k.keys {
		sum += of(s)
	}
	return sum + of(k.first)
}

func (k groupKeys) Len() int {
	return int(k.sum(func(s *store.Store) int64 { return int64(s.Len()) }))
}
func (k groupKeys) Bytes() int64 { return k.sum((*store.Store).Bytes) }
func (k groupKeys) IdleBytes() int64 {
	return k.sum(func(s *store.Store) int64 { return s.IdleBytes() })
}
func (k groupKeys) ReservedBytes() int64 { return k.sum((*store.Store).ReservedBytes) }
func (k groupKeys) LentKeys() int64      { return k.sum((*store.Store).LentKeys) }

// ScriptCount implements [localstore.Store]. Every group keeps the scripts that were loaded, and those that it ran.
func (k groupKeys) ScriptCount() (most int) {
	most = k.first.ScriptCount()
	for _, s := range k.keys {
		most = max(most, s.ScriptCount())
	}
	return most
}

// NewKeyCounts implements [localstore.Store].
func (k groupKeys) NewKeyCounts() admission.NewKeyCounts {
	sum := k.first.NewKeyCounts() // restrictions are the same in every group
	for _, s := range k.keys {
		c := s.NewKeyCounts()
		sum.Denied, sum.Allowed, sum.Shared, sum.SharedDenied = sum.Denied+c.Denied, sum.Allowed+c.Allowed, sum.Shared+c.Shared, sum.SharedDenied+c.SharedDenied
		sum.Limiters, sum.LimiterBytes = sum.Limiters+c.Limiters, sum.LimiterBytes+c.LimiterBytes
	}
	return sum
}

// SetRules implements [localstore.Store].
func (k groupKeys) SetRules(r admission.Rules) {
	k.first.SetRules(r)
	for _, s := range k.keys {
		s.SetRules(r)
	}
}

// SetQuotas implements [localstore.Store]: one count for the keys of all groups.
func (k groupKeys) SetQuotas(q *admission.Quotas) {
	k.first.SetQuotas(q)
	for _, s := range k.keys {
		s.SetQuotas(q)
	}
}

// Pressure implements [localstore.Store].
func (k groupKeys) Pressure(rules admission.Rules, full bool) []engine.Op {
	return cluster.Pressure(k.node, rules, full)
}

// Sweep implements [localstore.Store].
func (k groupKeys) Sweep(now int64, count int) (looked, dropped int) {
	for _, g := range k.node.KeyGroups() {
		l, d := g.Sweep(now, max(1, count/len(k.keys)))
		looked, dropped = looked+l, dropped+d
	}
	return looked, dropped
}

// TopLent implements [localstore.Store].
func (k groupKeys) TopLent(now int64, n int) (top []keyspace.LentKey) {
	for _, s := range k.keys {
		top = append(top, s.TopLent(now, n)...)
	}
	slices.SortStableFunc(top, func(a, b keyspace.LentKey) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return top[:min(len(top), n)]
}

// of is the store with the keys of an operation; for an operation of every group, or of none, the store of group 0.
func (k groupKeys) of(op *engine.Op) *store.Store {
	if at := k.node.Place(op); at > 0 {
		return k.keys[at-1]
	}
	return k.first
}

// Weigh implements [localstore.Store]. The operations of a transaction are of one group; others are weighed one by one.
func (k groupKeys) Weigh(ops []engine.Op) (work int) {
	for len(ops) > 0 {
		of, n := k.of(&ops[0]), 1
		for n < len(ops) && k.of(&ops[n]) == of {
			n++
		}
		work += of.Weigh(ops[:n])
		ops = ops[n:]
	}
	return work
}

// MayBeLarge implements [localstore.Store].
func (k groupKeys) MayBeLarge(op *engine.Op, seeks bool) bool { return k.of(op).MayBeLarge(op, seeks) }

// TryReadOnly implements [localstore.Store].
func (k groupKeys) TryReadOnly(now int64, op *engine.Op, res *engine.Result) (done bool) {
	if at := k.node.Place(op); at > 0 && !k.node.HasReplica(at) {
		return false
	}
	return k.of(op).TryReadOnly(now, op, res)
}

// led calls visit for the groups that this node leads, from a number on, until it returns false.
func (k groupKeys) led(from int, visit visitGroup) {
	k.each(from, func(_ int, g *group.Group) bool { leads, _ := g.Leads(); return leads }, visit)
}

// visitGroup is called with the number, the store and the time of a group.
type visitGroup = func(number int, s *store.Store, now int64) (more bool)

func (k groupKeys) each(from int, isWanted func(number int, g *group.Group) bool, visit visitGroup) {
	for number, g := range k.node.KeyGroups() {
		if number >= from && isWanted(number, g) && !visit(number, k.keys[number-1], g.Now()) {
			return
		}
	}
}

// replicasOf are the groups of keys that this node has.
func replicasOf(k groupKeys) (all []upstream.Replica) {
	for number, g := range k.node.KeyGroups() {
		if k.node.HasReplica(number) {
			all = append(all, replicaOf(g, k.keys[number-1]))
		}
	}
	return all
}

// replicaOf is the replica of a group with its store.
func replicaOf(g *group.Group, keys *store.Store) upstream.Replica {
	return upstream.Replica{Store: keys, Now: g.Now, Leads: func() bool { leads, _ := g.Leads(); return leads }}
}

// DatabaseLen implements [localstore.Store].
func (k groupKeys) DatabaseLen(number uint8) (sum int) {
	k.led(1, func(_ int, s *store.Store, _ int64) bool {
		sum += s.DatabaseLen(number) - int(s.AwayPurseCount())
		return true
	})
	return sum
}

// ofGroup is visit without purses of keys of other groups.
func ofGroup(k groupKeys, number int, visit func(keyspace.Entry) (more bool)) func(keyspace.Entry) (more bool) {
	return func(e keyspace.Entry) bool {
		return slot.GroupOf(slot.Of(database.KeyOf(e.Key)), len(k.keys)) != number || visit(e)
	}
}

// A cursor has the number of the group above the cursor of its store.
const groupCursorBits = 56

// Scan implements [localstore.Store].
func (k groupKeys) Scan(cursor uint64, count int, now int64, visit func(keyspace.Entry)) (next uint64) {
	return k.ScanWhile(cursor, count, now, func(e keyspace.Entry) bool { visit(e); return true })
}

// ScanWhile implements [localstore.Store].
func (k groupKeys) ScanWhile(cursor uint64, count int, _ int64, visit func(keyspace.Entry) (more bool)) (next uint64) {
	return k.scan(k.led, cursor, count, visit)
}

// ScanReplicas implements [localstore.Replicas].
func (k groupKeys) ScanReplicas(cursor uint64, count int, _ int64, visit func(keyspace.Entry) (more bool)) (next uint64) {
	return k.scan(func(from int, visit visitGroup) {
		k.each(from, func(number int, _ *group.Group) bool { return k.node.HasReplica(number) }, visit)
	}, cursor, count, visit)
}

// Elsewhere implements [localstore.Replicas].
func (k groupKeys) Elsewhere() (numbers []int) {
	for i := range k.keys {
		if number := i + 1; !k.node.HasReplica(number) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// scan looks at one of some groups in a step. Keys expire by the group's time.
func (k groupKeys) scan(groups func(from int, visit visitGroup), cursor uint64, count int, visit func(keyspace.Entry) (more bool)) (next uint64) {
	from, at := int(cursor>>groupCursorBits), cursor&(1<<groupCursorBits-1)
	groups(from, func(number int, s *store.Store, now int64) bool {
		switch {
		case next != 0: // this group follows the one that was scanned to its end
			next = uint64(number) << groupCursorBits
			return false
		case number != from:
			at = 0
		}
		if at = s.ScanWhile(at, count, now, ofGroup(k, number, visit)); at != 0 {
			next = uint64(number)<<groupCursorBits | at
			return false
		}
		next = scannedGroup
		return true
	})
	if next == scannedGroup {
		return 0
	}
	return next
}

// scannedGroup is no cursor: no group has number 255.
const scannedGroup = 1<<64 - 1

// Random implements [localstore.Store].
func (k groupKeys) Random(tries int, _ int64, intN func(int) int, visit func(keyspace.Entry) (more bool)) {
	type ledKeys struct {
		keys   *store.Store
		number int
		now    int64
	}
	var all []ledKeys
	total := 0
	k.led(1, func(number int, s *store.Store, now int64) bool {
		all, total = append(all, ledKeys{s, number, now}), total+s.Len()
		return true
	})
	for more := true; more && tries > 0 && total > 0; tries-- {
		at := intN(total)
		for _, l := range all {
			if at -= l.keys.Len(); at < 0 {
				l.keys.Random(1, l.now, intN, ofGroup(k, l.number, func(e keyspace.Entry) bool { more = visit(e); return more }))
				break
			}
		}
	}
}
