package reservation

import (
	"slices"

	"github.com/stintdb/stint/engine"
)

// View is a reservation as it is shown.
type View struct {
	Granted    int64 // with all extensions
	Extensions uint32
	Settled    bool
	Ends       int64       // nanoseconds since the Unix epoch
	Parts      []engine.Op // the limits, with keys and holders; Tokens are what each is charged
}

// View returns the contents of the state.
func (r State) View() View {
	c, parts := r.Contents()
	v := View{Granted: c.Extensions.Total, Extensions: c.Extensions.Count, Settled: r.IsSettled(), Ends: r.End()}
	for len(parts.Rest) > 0 {
		p := NextPart(&parts)
		op := engine.Op{Key: p.Key, Who: p.Who, Limit: p.Limit, Tokens: p.Charged()}
		if p.FixedCost {
			op.Options = engine.FixedCost
		}
		if p.Else {
			op.Options |= engine.Else
		}
		v.Parts = append(v.Parts, op)
	}
	return v
}

// IsFromPurses reports whether some tokens of a reservation were taken from purses.
func (v *View) IsFromPurses() bool {
	return slices.ContainsFunc(v.Parts, func(p engine.Op) bool { return p.Limit.Algorithm.IsPurse() })
}
