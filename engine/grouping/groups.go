// Package grouping finds the policies whose limits the groups of a cluster divide.
package grouping

import (
	"slices"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/slot"
)

// Groups are the groups among which a cluster divides its keys.
type Groups struct {
	Count  int      // if it is below 2, one group has all keys
	Shared []string // patterns of the keys whose limits all groups share
}

// Divided is two limits of a policy that are in different groups for some callers, so that no group can decide both.
type Divided struct {
	One, Other []byte // the keys as they are written
	Escaped    bool   // they are in different groups only for ids with : or %, which are escaped in keys with a field
}

// Divide returns two limits of a SetPolicy or SetOverride whose keys are in different groups for some callers or
// fields. It returns nil if there are none.
func (g *Groups) Divide(o *engine.Op) *Divided {
	if g.Count < 2 || len(o.Parts) < 2 {
		return nil
	}
	all := make([]part, len(o.Parts))
	var together []*part
	canShare := true // every limit
	for i := range o.Parts {
		p := &all[i]
		p.Op = &o.Parts[i]
		p.key, _ = engine.ReadTemplate(p.Key, o.Options&engine.NamedFields != 0)
		p.elements = p.key.Elements(o.Who, o.Verb == engine.SetOverride)
		if !p.canShare() || !g.shares(p.elements) {
			together, canShare = append(together, p), canShare && p.canShare()
		}
	}
	if !canShare && !slices.ContainsFunc(together, g.isNeverShared) {
		together = append(together, &all[0]) // whose group decides the check for callers all of whose keys are shared
	}
	for _, other := range together {
		if d := g.divides(together[0], other, o); d != nil {
			return d
		}
	}
	return nil
}

// part is a limit of a policy.
type part struct {
	*engine.Op
	key      engine.Template
	elements []engine.Element // of the key
}

// canShare reports whether a purse can have the limit.
func (p *part) canShare() bool {
	_, ok := p.Limit.InPurse()
	return ok && p.Keep == 0
}

// divides compares two limits.
func (g *Groups) divides(one, other *part, of *engine.Op) *Divided {
	if one == other {
		return nil
	}
	hasID := of.Verb == engine.SetOverride
	a, aKnown := one.key.HashTag(of.Who, hasID)
	b, bKnown := other.key.HashTag(of.Who, hasID)
	d := &Divided{One: one.key.Written(true), Other: other.key.Written(true)}
	switch {
	case !aKnown || !bKnown || a.Varies != b.Varies:
		return d
	case !a.Varies && g.of(a) == g.of(b), a == b:
		return nil
	}
	d.Escaped = a.Varies && a.Text == b.Text
	return d
}

// of is the group of a tag without places.
func (g *Groups) of(tag engine.Tag) int { return slot.GroupOf(slot.Of([]byte(tag.Text)), g.Count) }

// shares reports whether all keys of a template match a pattern, whatever the caller and the fields are.
func (g *Groups) shares(key []engine.Element) bool {
	const value = 0 // no pattern has it, because patterns are printable: what matches it is a star, which matches any other value too
	text, hasPlaces := make([]byte, len(key)), false
	for i, e := range key {
		if e.IsPlace() {
			text[i], hasPlaces = value, true
		} else {
			text[i] = byte(e)
		}
	}
	return slices.ContainsFunc(g.Shared, func(pattern string) bool {
		return !(hasPlaces && strings.ContainsAny(pattern, "?[")) && glob.Match(pattern, string(text))
	})
}

// isNeverShared reports whether no key of a template can match a pattern, because their beginnings differ.
func (g *Groups) isNeverShared(p *part) bool {
	var begin []byte
	for _, e := range p.elements {
		if e.IsPlace() {
			break
		}
		begin = append(begin, byte(e))
	}
	return !slices.ContainsFunc(g.Shared, func(pattern string) bool {
		literal := glob.Prefix(pattern)
		return strings.HasPrefix(string(begin), literal) || strings.HasPrefix(literal, string(begin))
	})
}
