package policy

import (
	"bytes"
	"cmp"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
)

// Filled is the limits that a check asks. It is filled again for each check, so that its room is used again.
type Filled struct {
	Parts  []engine.Op // in the room that Fill was given
	Shadow bool        // the policy is in shadow: it denies and delays nobody
	meets  bool
	keys   []byte // of the parts, and their holders
}

// Fill reads the limits to which a policy holds the caller of a check, with the caller's id and the check's fields
// filled into their keys. The room is for [engine.MaxParts] parts. Without such a policy, or if the check does not fit
// it, Fill returns false, with an error in res.
func (p *Policies) Fill(f *Filled, room []engine.Op, check *engine.Op, res *engine.Result) (ok bool) {
	res.Clear()
	known, parts, shadow := p.find(check.Key, check.Who)
	if known == nil {
		res.NoPolicy(check.Key)
		return false
	}
	if name := p.unasked(known, parts, check.Args); name != nil {
		res.Status, res.Reply = engine.UnknownField, append(res.Reply[:0], name...)
		return false
	}
	f.keys, f.Shadow, f.meets, f.Parts = f.keys[:0], shadow, parts[0].meets, room[:len(parts)]
	for i := range parts {
		if !f.fill(&parts[i], check, &f.Parts[i], res) {
			return false
		}
	}
	return true
}

// fill makes to the part of the limit p.
func (f *Filled) fill(p *part, check, to *engine.Op, res *engine.Result) (ok bool) {
	start := len(f.keys)
	var noKey, noHolder string
	f.keys, noKey = p.key.AppendTo(f.keys, check.Who, check.Args)
	key := len(f.keys) - start
	f.keys = database.EscapeFrom(f.keys, start)
	end := len(f.keys)
	f.keys, noHolder = p.who.AppendTo(f.keys, check.Who, check.Args)
	if name := cmp.Or(noKey, noHolder); name != "" {
		res.Status, res.Reply = engine.MissingField, append(res.Reply[:0], name...)
		return false
	}
	if !p.fits(key, len(f.keys)-end, check.MaxKey) {
		res.Status = engine.TooLong
		return false
	}
	p.ask(check, to)
	to.Key, to.Who = f.keys[start:end:end], f.keys[end:len(f.keys):len(f.keys)]
	return true
}

// DenySameKey denies a check if two of its limits have one key. One key has one limit, and a caller whose id brings
// this about is not to be asked for fewer limits than others, nor to get an error, at which the request may be let
// through.
func (f *Filled) DenySameKey(check *engine.Op, res *engine.Result) (denied bool) {
	if !f.meets {
		return false
	}
	parts := f.Parts
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
			f.Complete(check, res)
			return true
		}
	}
	return false
}

// Complete completes the answer to a check whose limits were asked. A policy in shadow denies and delays nobody; the
// limit that would have denied stays binding.
func (f *Filled) Complete(check *engine.Op, res *engine.Result) {
	ShowThresholds(f.Parts, res)
	if !f.Shadow || res.Status != engine.OK {
		return
	}
	if res.Wait = 0; !res.Allowed {
		res.Allowed, res.Granted = true, check.Tokens
	}
}

// ShowThresholds says of each limit of a check at which percentage it warns, and whether it is a balance: the node that
// answers the client may not know the policy.
func ShowThresholds(parts []engine.Op, res *engine.Result) {
	for i := range res.Parts {
		res.Parts[i].Number = uint64(parts[i].Limit.Warn)
		if parts[i].Limit.Algorithm == limits.Balance {
			res.Parts[i].Number |= engine.OfBalance
		}
	}
}

// unasked is the first field of a check that neither the policy's own limits nor the caller's ask for, nil if there is
// none.
func (p *Policies) unasked(known *policy, parts []part, fields [][]byte) (name []byte) {
	for i := 0; i < len(fields); i += 2 {
		if asksFor(parts, fields[i]) {
			continue
		}
		p.mu.RLock()
		own := known.parts
		p.mu.RUnlock()
		if !asksFor(own, fields[i]) {
			return fields[i]
		}
	}
	return nil
}

func asksFor(parts []part, field []byte) bool {
	for i := range parts {
		if parts[i].key.AsksFor(field) || parts[i].who.AsksFor(field) {
			return true
		}
	}
	return false
}

// ask fills in the question that a check asks the limit of p, but for its key and holder.
func (p *part) ask(check, to *engine.Op) {
	*to = engine.Op{}
	to.Limit, to.Tokens, to.MaxWait = p.limit, check.Tokens, check.MaxWait
	to.Options = check.Options&^(engine.NamedFields|engine.FromPurses) | p.options
	to.Keep, to.Weight, to.PriorAt = p.keep, p.weight, check.PriorAt
	if p.options&engine.FixedCost != 0 {
		to.Tokens = p.tokens
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

// Asked returns the limits that a check asks now, as operations on their keys. They are none if there is no such
// policy.
func (p *Policies) Asked(check *engine.Op) []engine.Op {
	_, parts, _ := p.find(check.Key, check.Who)
	ops := make([]engine.Op, len(parts))
	for i := range parts {
		parts[i].ask(check, &ops[i])
		ops[i].Key, _ = parts[i].key.AppendTo(nil, check.Who, check.Args)
		ops[i].Key = database.EscapeFrom(ops[i].Key, 0)
		ops[i].Who, _ = parts[i].who.AppendTo(nil, check.Who, check.Args)
	}
	return ops
}
