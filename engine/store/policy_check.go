package store

import (
	"bytes"
	"cmp"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/purse"
)

// check asks a policy's limits for a caller. With readOnly it takes nothing if tokens would be taken, and returns false.
func (s *Store) check(g *acquireAllCall, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	return s.checkBy(g, op, res, func(parts []engine.Op) bool { return s.acquireAll(g, now, op, parts, res, locked, readOnly) })
}

// checkBy is check with the limits asked by decide.
func (s *Store) checkBy(g *acquireAllCall, op *engine.Op, res *engine.Result, decide func(parts []engine.Op) (done bool)) (done bool) {
	parts, ok := s.openCheck(g, op, res)
	if !ok {
		return true
	}
	if !decide(parts) {
		return false
	}
	g.closeCheck(op, res)
	return true
}

// openCheck returns the limits that a check asks, with their keys. It returns false when res has an answer instead: an error, or the denial of
// a caller for whom two of the limits have one key.
func (s *Store) openCheck(g *acquireAllCall, op *engine.Op, res *engine.Result) (parts []engine.Op, ok bool) {
	res.Clear()
	known, limits, shadow := s.policies.find(op.Key, op.Who)
	if known == nil {
		res.NoPolicy(op.Key)
		return nil, false
	}
	if name := s.policies.unasked(known, limits, op.Args); name != nil {
		res.Status, res.Reply = engine.UnknownField, append(res.Reply[:0], name...)
		return nil, false
	}
	g.keys = g.keys[:0]
	for i := range limits {
		p := &limits[i]
		start := len(g.keys)
		var noKey, noHolder string
		g.keys, noKey = p.key.AppendTo(g.keys, op.Who, op.Args)
		key := len(g.keys) - start
		g.keys = database.EscapeFrom(g.keys, start)
		end := len(g.keys)
		g.keys, noHolder = p.who.AppendTo(g.keys, op.Who, op.Args)
		if name := cmp.Or(noKey, noHolder); name != "" {
			res.Status, res.Reply = engine.MissingField, append(res.Reply[:0], name...)
			return nil, false
		}
		if !p.fits(key, len(g.keys)-end, op.MaxKey) {
			res.Status = engine.TooLong
			return nil, false
		}
		p.ask(op, &g.parts[i])
		g.parts[i].Key, g.parts[i].Who = g.keys[start:end:end], g.keys[end:len(g.keys):len(g.keys)]
	}
	g.shadow = shadow
	parts = g.parts[:len(limits)]
	if !purse.Place(s.owns, op, parts, res) {
		return nil, false
	}
	if limits[0].meets && g.denySameKey(parts, op, res) {
		return nil, false
	}
	return parts, true
}

// denySameKey denies a check if two of its limits have one key. One key has one limit, and a caller whose id brings this about is not to be asked for
// fewer limits than others, nor to get an error, at which his request may be let through.
func (g *acquireAllCall) denySameKey(parts []engine.Op, op *engine.Op, res *engine.Result) (denied bool) {
	for j := range parts {
		for i := range j {
			if !bytes.Equal(parts[i].Key, parts[j].Key) {
				continue
			}
			res.Grow(len(parts))
			for n := range parts {
				res.Parts[n].Clear()
				res.Parts[n].Limit = parts[n].Limit.Capacity
			}
			res.Binding, res.Wait = j, engine.NeverWait
			g.repeated = false
			g.closeCheck(op, res)
			return true
		}
	}
	return false
}

// closeCheck completes the answer to a check, whose limits are g.parts. A policy in shadow denies and delays nobody; the limit that would have denied stays binding.
func (g *acquireAllCall) closeCheck(op *engine.Op, res *engine.Result) {
	g.showThresholds(res)
	if !g.shadow || res.Status != engine.OK {
		return
	}
	if res.Wait = 0; !res.Allowed {
		res.Allowed, res.Granted = true, op.Tokens
	}
}

// showThresholds says of each limit of a check at which percentage it warns: the node that answers the client may not know the policy.
func (g *acquireAllCall) showThresholds(res *engine.Result) {
	for i := range res.Parts {
		res.Parts[i].Number = uint64(g.parts[i].Limit.Warn)
	}
}

// ask fills in the question that a check asks the limit of p, but for its key and holder.
func (p *part) ask(check, to *engine.Op) {
	*to = engine.Op{}
	to.Limit, to.Tokens, to.Options, to.MaxWait = p.limit, check.Tokens, check.Options&^(engine.NamedFields|engine.FromPurses), check.MaxWait
	to.Keep, to.Weight, to.PriorAt = p.keep, p.weight, check.PriorAt
	if p.options&engine.FixedCost != 0 {
		to.Options, to.Tokens = to.Options|engine.FixedCost, p.tokens
	}
	if p.keep == 0 && p.limit.Algorithm.Keeps() {
		to.Keep = check.Keep
	}
}

// fits reports whether the lengths of a key and a holder, in bytes, are within bounds.
func (p *part) fits(key, holder int, maxKey uint32) bool {
	return (maxKey == 0 || key <= int(maxKey)) &&
		(!p.limit.Algorithm.NeedsWho() || holder > 0 && holder <= engine.MaxHolderBytes)
}

// Asked returns the limits that an AcquireAll or a Check asks now, as operations on their keys.
func (s *Store) Asked(op *engine.Op) []engine.Op {
	if op.Verb == engine.Check {
		return s.policies.opsFor(op)
	}
	return op.Parts
}
