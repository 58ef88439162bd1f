package request

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// acquireAll decides the parts of whole at one instant: tokens are taken from every limit or from none. It locks the
// shards, unless the caller already holds them. With readOnly it takes no tokens, and returns false if it would have.
func (r *Runner) acquireAll(g *group, now int64, whole *engine.Op, parts []engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	shards, ok := g.locate(r, parts, res)
	if !ok {
		return true
	}
	if !locked {
		shards = r.keys.Lock(shards)
		defer r.keys.Unlock(shards)
	}
	now = r.keys.Instant(shards, now, !readOnly && whole.Writes())
	return g.acquire(r, now, whole, parts, res, readOnly)
}

// locate finds out where the keys of the parts are, and the id of a reservation. It returns the numbers of their shards,
// and false, with an error in res, if two of the keys are the same.
func (g *group) locate(r *Runner, parts []engine.Op, res *engine.Result) (shards []uint32, ok bool) {
	res.Clear()
	here, varies := true, false
	if shards = g.order[:0]; g.reserving != nil {
		shards = append(shards, g.id.locate(r, g.reserving.Key))
		here = g.id.shard.TouchHead()
		g.id.entries, g.id.bytes = 0, 0
	}
	for i := range parts {
		p, t := &parts[i], &g.targets[i]
		shards = append(shards, t.locate(r, p.Key))
		here = t.shard.TouchHead() && here
		varies = varies || algorithm.Table[p.Limit.Algorithm].Bytes == 0
	}
	g.varies = varies
	if !here || g.hasDuplicateKey(parts) {
		res.Status = engine.DuplicateKey
		return nil, false
	}
	return shards, true
}

// acquire is acquireAll with the shards locked.
func (g *group) acquire(r *Runner, now int64, whole *engine.Op, parts []engine.Op, res *engine.Result, readOnly bool) (done bool) {
	res.Grow(len(parts))
	g.admission, g.denied, g.full = &r.keys.Admission, &r.keys.Denied, false
	defer g.unlockShared()
	parts = g.division.open(whole, parts, g.parts)
	if g.reserving != nil && g.repeat(now, parts, res) {
		return true
	}
	if done = g.decide(now, whole, parts, res, readOnly); done && whole.Options&engine.Peek == 0 {
		g.countAdmissions(parts, res)
	}
	return done
}

// decide asks every limit and keeps their decisions if none denies. If there is no room for a new key, it decides again
// by the rules of a full store.
func (g *group) decide(now int64, whole *engine.Op, parts []engine.Op, res *engine.Result, readOnly bool) (done bool) {
	results := res.Parts
	res.Binding = g.ask(now, parts, res)
	if res.Binding >= 0 {
		binding := &results[res.Binding]
		res.Status, res.Wait, res.Held, res.Wanted = binding.Status, binding.Wait, binding.Held, binding.Wanted
		if g.lookAgain(parts); res.Status != engine.OK || whole.Options&engine.Peek != 0 {
			return true
		}
		countDenial(g, parts, res)
		done = g.keepDenial(now, parts, readOnly)
		bindBans(parts, res)
		return done
	}
	res.Allowed, res.Granted = true, max(1, whole.Tokens)
	for i := range results {
		res.Wait = max(res.Wait, results[i].Wait)
	}
	switch {
	case whole.Options&engine.Peek != 0:
		return true
	case readOnly:
		return g.reserving == nil && !g.changes(parts)
	}
	if g.reserving != nil {
		if status := g.describe(now, parts, res); status != engine.OK {
			res.Clear()
			res.Status = status
			return true
		}
	}
	if g.keepMeters(parts) || g.keep(now, parts) {
		if g.reserving != nil {
			g.keepReservation()
		}
		return true
	}
	res.Clear()
	if g.reserving != nil { // without its record the request could not be settled
		res.Status = engine.OutOfRoom
		return true
	}
	res.Parts = results
	if g.full { // so the key without room is not new
		res.Parts = results[:0]
		res.Status = engine.NoRoomToGrow
		return true
	}
	g.full = true
	return g.decide(now, whole, parts, res, false)
}

// hasDuplicateKey reports whether two parts have the same key.
func (g *group) hasDuplicateKey(parts []engine.Op) bool {
	for i := range parts {
		if g.reserving != nil && g.targets[i].tag == g.id.tag && bytes.Equal(parts[i].Key, g.reserving.Key) {
			return true
		}
		for j := range i {
			if g.targets[i].tag == g.targets[j].tag && bytes.Equal(parts[i].Key, parts[j].Key) {
				return true
			}
		}
	}
	return false
}

// ask has every limit decide and returns the one that binds, as bindingOf does.
func (g *group) ask(now int64, parts []engine.Op, whole *engine.Result) (binding int) {
	results := whole.Parts
	g.made = g.made[:0]
	if !g.isLocated {
		g.touchSlots(len(parts))
		g.seekRecords(len(parts))
		g.ahead.Read()
	}
	for i := range parts {
		g.targets[i].find(parts[i].Key)
		g.targets[i].rules = nil
	}
	if g.reserving != nil && !g.id.place.Found {
		g.made = append(g.made, g.reserving.Key)
	}
	if g.division.cost > 0 {
		g.division.split(g, now, parts, results)
	}
	for i := 0; i < len(parts); {
		first := i
		if levels := engine.TreeAt(parts, i); levels > 0 && !parts[i].AsksNothing() {
			i += levels
			g.askTree(now, parts, first, i, results)
		} else {
			g.askPart(now, &parts[i], i, &results[i])
			i++
		}
		for j := first; j < i; j++ {
			whole.Work += results[j].Work
		}
	}
	binding = bindingOf(results)
	if binding >= 0 && results[binding].Status == engine.OK {
		binding = promiseTurns(g, results)
	}
	if g.division.cost > 0 {
		return g.division.bind(g, now, parts, results, binding)
	}
	return binding
}

// bindingOf returns the limit that binds: an error before a denial, then the longest wait; or -1. Of a tree of classes
// only the first has an error or a wait.
func bindingOf(results []engine.Result) (binding int) {
	binding = -1
	for i := range results {
		if !results[i].Allowed && (binding < 0 || results[i].Binds(&results[binding])) {
			binding = i
		}
	}
	return binding
}

// promiseTurns promises turns to the caller at the limits that deny it, and returns the limit that binds then. It must
// not be called if a limit has an error: the caller would not learn its turns, and others would wait for them.
func promiseTurns(g *group, results []engine.Result) (binding int) {
	for i := range results {
		if g.targets[i].rules == nil {
			g.denied.Delay(&g.calls[i])
		}
	}
	return bindingOf(results)
}

// touchHeads reads the heads of the shards of the first parts: see [keyspace.Shard.TouchHead].
func (g *group) touchHeads(parts int) (here bool) {
	here = true
	for i := range parts {
		here = g.targets[i].shard.TouchHead() && here
	}
	return here
}

// touchSlots reads the slots at which find will look for the keys of the first parts, and seekRecords adds the records there
// to those that are read ahead, side by side as the keyspace does for groups of operations.
func (g *group) touchSlots(parts int) {
	for i := range parts {
		t := &g.targets[i]
		g.ahead.Saw(t.shard.Touch(t.tag))
	}
}

func (g *group) seekRecords(parts int) {
	for i := range parts {
		g.ahead.Add(g.targets[i].seek())
	}
}

// askPart has the limit of part i decide.
func (g *group) askPart(now int64, part *engine.Op, i int, res *engine.Result) {
	c, t := &g.calls[i], &g.targets[i]
	g.loadPart(now, part, i, res)
	if part.AsksNothing() {
		c.Report()
		return
	}
	if c.IsNew && c.Limit.Algorithm != limits.Penalty { // whose key is made when a denial counts
		if t.rules = g.rulesFor(part.Key, t.place.Found); t.rules != nil {
			g.decideAdmission(c, i)
			return
		}
		if !t.place.Found {
			g.made = append(g.made, part.Key)
		}
	}
	c.Ask()
}

// lookAgain replaces the answers of limits that would have granted by their unchanged state. The classes of trees
// register.
func (g *group) lookAgain(parts []engine.Op) {
	for i := 0; i < len(parts); i++ {
		c := &g.calls[i]
		if !c.Result.Allowed {
			continue
		}
		if levels := engine.TreeAt(parts, i); levels > 0 && !parts[i].AsksNothing() {
			decideTree(g.calls[i:i+levels], false)
			i += levels - 1
			continue
		}
		c.Result.Clear()
		algorithm.Table[c.Limit.Algorithm].Look(c)
	}
}
