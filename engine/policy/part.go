package policy

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// part is one limit of a policy.
type part struct {
	limit    limits.Limit
	key, who engine.Template
	options  engine.Option // FixedCost, Spread and Else
	tokens   int64         // of a FixedCost
	keep     engine.Keep
	weight   int64
	named    bool // it was kept with NamedFields, and so were all limits beside it
	meets    bool // some callers or fields make one key of two of the limits: such a policy was kept by an earlier version
}

// newParts makes the limits of a SetPolicy or SetOverride, whose templates [Check] takes.
func newParts(op *engine.Op) []part {
	named := op.Options&engine.NamedFields != 0
	parts := make([]part, len(op.Parts))
	for i := range op.Parts {
		p := &op.Parts[i]
		key, _ := engine.ReadTemplate(p.Key, named)
		who, _ := p.WhoTemplate(named)
		parts[i] = part{limit: p.Limit, key: key, who: who, options: p.Options & (engine.FixedCost | engine.Spread | engine.Else), keep: p.Keep, weight: p.Weight, named: named}
		if p.Options&engine.FixedCost != 0 {
			parts[i].tokens = p.Tokens
		}
	}
	if _, second := meetingParts(parts, op); second > 0 {
		for i := range parts {
			parts[i].meets = true
		}
	}
	return parts
}

// partsBytes is about the memory of a policy's limits.
func partsBytes(parts []part) (bytes int) {
	for i := range parts {
		p := &parts[i]
		bytes += partBytes + p.key.Bytes() + p.who.Bytes()
	}
	return bytes
}

const partBytes = 192 // of a part, without its texts

// opsOf writes limits as operations, with NamedFields or without.
func opsOf(parts []part, named bool) []engine.Op {
	ops := make([]engine.Op, len(parts))
	for i := range parts {
		p := &parts[i]
		ops[i] = engine.Op{Limit: p.limit, Key: p.key.Written(named), Who: p.whoText(named), Options: p.options, Tokens: p.tokens, Keep: p.keep, Weight: p.weight}
	}
	return ops
}

// shown writes limits as they were asked for. A limit that has its home at another cluster has the algorithm that it has
// there.
func shown(parts []part) []engine.Op {
	ops := opsOf(parts, true)
	for i := range ops {
		ops[i].Limit.Algorithm = ops[i].Limit.Algorithm.Base()
	}
	return ops
}

// whoText is the text that newParts has read the holder, member or assured rate from.
func (p *part) whoText(named bool) []byte {
	if p.limit.Algorithm == limits.Class {
		return p.who.Text
	}
	return p.who.Written(named)
}
