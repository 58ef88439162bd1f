package request

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
)

// keep writes what every limit decided, after making room for all of it, so that it cannot stop half-way.
func (g *group) keep(now int64, parts []engine.Op) bool {
	for i := range parts {
		t := &g.targets[i]
		if t.entries, t.bytes = 0, 0; t.rules == nil && g.calls[i].IsToBeKept() {
			t.entries, t.bytes = t.shard.Growth(&g.calls[i])
		}
	}
	for i := range parts {
		if g.targets[i].bytes > 0 && !g.reserve(now, i+1, g.targets[i].shard) {
			return false
		}
	}
	if g.reserving != nil && !g.reserve(now, len(parts), g.id.shard) {
		return false
	}
	for i := range parts {
		t, c := &g.targets[i], &g.calls[i]
		if !c.IsToBeKept() {
			continue
		}
		if t.rules != nil {
			if t.rules.NewKeys == engine.OverflowNew {
				g.admission.Shared.Keep(c, t.shared)
			}
			continue
		}
		if t.findMoved(parts[i].Key) {
			t.shard.Load(c, now, &parts[i], c.Result, t.place)
		}
		if g.reserving != nil && c.Limit.History > 0 {
			c.Reserved = c.Result.Granted
		}
		t.shard.Keep(c, t.tag, t.place)
	}
	return true
}

// keepDenial keeps what a denied request changes: classes have registered, so that their assured tokens are not lent from
// now on, and penalties have counted it. With readOnly it changes nothing, and returns false if it would have.
func (g *group) keepDenial(now int64, parts []engine.Op, readOnly bool) (done bool) {
	changes := false
	for i := range parts {
		changes = changes || g.calls[i].IsToBeKept()
	}
	if changes && !readOnly && !g.keep(now, parts) {
		keepCounts(g, now, parts)
	}
	return !changes || !readOnly
}

// reserve makes room in a shard for the first parts, as far as their keys are in it, and for a reservation.
func (g *group) reserve(now int64, first int, sh *keyspace.Shard) bool {
	entries, bytes := 0, 0
	for i := range first {
		if t := &g.targets[i]; t.shard == sh {
			entries, bytes = entries+t.entries, bytes+t.bytes
		}
	}
	if g.reserving != nil && g.id.shard == sh {
		entries, bytes = entries+g.id.entries, bytes+g.id.bytes
	}
	return sh.Reserve(now, entries, bytes)
}

// changes reports whether keeping the decisions would change anything.
func (g *group) changes(parts []engine.Op) bool {
	for i := range parts {
		if t := &g.targets[i]; g.calls[i].IsToBeKept() && (t.rules == nil || t.rules.NewKeys == engine.OverflowNew) {
			return true
		}
	}
	return false
}
