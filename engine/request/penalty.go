package request

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/penalty"
)

// countDenial counts a denied request in its penalties, but not in one that bans the caller now: a ban does not get
// longer by requests that it denies. A ban that begins binds the request if the other limits deny for a shorter time.
func countDenial(g *group, parts []engine.Op, res *engine.Result) {
	if isAskedAgain(parts, res) {
		return
	}
	for i := range parts {
		c := &g.calls[i]
		if c.Limit.Algorithm != limits.Penalty || parts[i].AsksNothing() || c.Result.Wait > 0 ||
			c.IsNew && g.rulesFor(parts[i].Key, g.targets[i].place.Found) != nil { // no room for its key
			continue
		}
		if !g.targets[i].place.Found {
			g.made = append(g.made, parts[i].Key)
		}
		c.Result.Wait, c.Counted = penalty.Count(c.Next[:], c.State, &c.Limit, c.Now, c.Result), true
		if c.Result.Wait > 0 && c.Result.Binds(&res.Parts[res.Binding]) {
			res.Binding, res.Wait = i, c.Result.Wait
		}
	}
}

// isAskedAgain reports whether a denied request may still be granted, because it is asked again, perhaps several times:
// once its purse has fetched tokens, or while it waits for a place among the leases of a limit.
func isAskedAgain(parts []engine.Op, res *engine.Result) bool {
	if parts[res.Binding].Limit.Algorithm.Home() != limits.NoAlgorithm {
		return true
	}
	for i := range parts {
		if p := &parts[i]; p.Limit.Algorithm == limits.Concurrency && p.MaxWait > 0 && res.Parts[i].Wait > 0 {
			return true
		}
	}
	return false
}
