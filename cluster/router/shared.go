package router

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
)

// Share lets any group be asked for limits of keys that match one of these patterns. It is called before Begin.
func (r *Router) Share(patterns []string) { r.shared = patterns }

// isShared reports whether another group than the key's own may be asked for a limit of the key.
func (r *Router) isShared(key []byte) bool {
	for _, pattern := range r.shared {
		if matches, _ := glob.MatchWithin(pattern, string(key), maxSteps); matches {
			return true
		}
	}
	return false
}

// maxSteps bounds the work of one pattern on one key.
const maxSteps = 1 << 16

// Gather returns the group that decides a request for several limits, if at least one of its keys is shared and in
// another group. It returns false for any other request.
func (r *Router) Gather(parts []engine.Op) (at int, ok bool) {
	g := gathering{router: r}
	for i := range parts {
		g.add(database.KeyOf(parts[i].Key))
	}
	return g.place(), g.spreads && g.place() > 0
}

// Home returns the group of a key.
func (r *Router) Home(name []byte) (at int) { return r.ofName(name) }

// DecideIn lets a group decide a batch, whatever its keys.
func (r *Router) DecideIn(at int, b *engine.Batch) (finished bool) {
	groups := r.groups.Load()
	if groups == nil {
		answerAll(b, engine.NoLeader)
		return true
	}
	return (*groups)[at].Decide(b)
}

// gathering finds the group of a request for several limits: the group of the keys that are not shared, or else of the
// first key.
type gathering struct {
	router  *Router
	first   int
	own     int
	spreads bool // the keys are in several groups
}

func (g *gathering) add(key []byte) {
	at := g.router.groupOf(key)
	if g.first == 0 {
		g.first = at
	}
	g.spreads = g.spreads || at != g.first
	if !g.router.isShared(key) {
		g.own = meet(g.own, at)
	}
}

func (g *gathering) place() int {
	if g.own != 0 {
		return g.own
	}
	return g.first
}
