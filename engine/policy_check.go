package engine

import "cmp"

// check asks a policy's limits for a caller. With readOnly it takes and counts nothing if tokens would be taken, and
// returns false.
func (s *Store) check(g *acquireAllCall, now int64, op *Op, res *Result, locked, readOnly bool) (done bool) {
	return s.checkBy(g, op, res, func(parts []Op) bool { return s.acquireAll(g, now, op, parts, res, locked, readOnly) })
}

// checkBy is check with the limits asked by decide.
func (s *Store) checkBy(g *acquireAllCall, op *Op, res *Result, decide func(parts []Op) (done bool)) (done bool) {
	known, parts, shadow := s.policies.find(op.Key, op.Who)
	if known == nil {
		res.Clear()
		res.Status = NotFound
		return true
	}
	if name := s.policies.unasked(known, parts, op.Args); name != nil {
		res.Clear()
		res.Status, res.Reply = UnknownField, append(res.Reply[:0], name...)
		return true
	}
	g.keys = g.keys[:0]
	for i := range parts {
		p := &parts[i]
		start := len(g.keys)
		var noKey, noHolder string
		g.keys, noKey = p.key.AppendTo(g.keys, op.Who, op.Args)
		end := len(g.keys)
		g.keys, noHolder = p.who.AppendTo(g.keys, op.Who, op.Args)
		if name := cmp.Or(noKey, noHolder); name != "" {
			res.Clear()
			res.Status, res.Reply = MissingField, append(res.Reply[:0], name...)
			return true
		}
		if !p.fits(end-start, len(g.keys)-end, op.MaxKey) {
			res.Clear()
			res.Status = TooLong
			return true
		}
		g.parts[i] = p.ask(op)
		g.parts[i].Key, g.parts[i].Who = g.keys[start:end:end], g.keys[end:len(g.keys):len(g.keys)]
	}
	g.shadow = shadow
	if !decide(g.parts[:len(parts)]) {
		return false
	}
	if shadow && res.Allowed {
		res.Wait = 0 // it delays nobody
	}
	if res.Status != OK || op.Options&Peek != 0 || g.reserving != nil && g.repeated {
		if shadow && res.Status == OK && !res.Allowed {
			res.Allowed, res.Granted, res.Wait = true, op.Tokens, 0
		}
		return true
	}
	switch {
	case res.Allowed:
		known.granted.Add(1)
	case shadow: // decided and counted as if enforced, but the request is allowed
		known.shadowDenied.Add(1)
		res.Allowed, res.Granted, res.Wait = true, op.Tokens, 0
	default:
		known.denied.Add(1)
	}
	return true
}

// ask is the question to the limit of p in a check, without its key and holder.
func (p *part) ask(check *Op) Op {
	op := Op{Limit: p.limit, Tokens: check.Tokens, Options: check.Options &^ NamedFields, MaxWait: check.MaxWait, Keep: p.keep, Weight: p.weight, PriorAt: check.PriorAt}
	if p.options&FixedCost != 0 {
		op.Options, op.Tokens = op.Options|FixedCost, p.tokens
	}
	if p.keep == 0 && p.limit.Algorithm.Keeps() {
		op.Keep = check.Keep
	}
	return op
}

// fits reports whether the lengths of a key and a holder, in bytes, are within bounds.
func (p *part) fits(key, holder int, maxKey uint32) bool {
	return (maxKey == 0 || key <= int(maxKey)) &&
		(!p.limit.Algorithm.NeedsWho() || holder > 0 && holder <= MaxHolderBytes)
}
