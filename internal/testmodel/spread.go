package testmodel

import (
	"math"
	"slices"
)

// promise is what a denied caller of a limit with SPREAD was told: when to come back, and the tokens of a fixed window
// that are promised to all who come back then.
type promise struct{ at, tokens int64 }

// spread lengthens the wait of a denied request with SPREAD until all who were denied before have come back.
func (m *Model) spread(r *request, a *answer, err error) {
	if !r.spread || err != nil || a.granted || a.wait <= 0 || a.wait > math.MaxInt64-2*mostDuration-m.Now || r.peek {
		return
	}
	p, earliest, least := m.promised[r.key], m.Now+a.wait, r.least()
	if l := r.limit; l.algorithm == fixedWindow {
		if p.at < earliest {
			p = promise{earliest, 0}
		}
		if _, next := l.windowAt(p.at); p.tokens+least > l.most && next <= earliest+latest(l.longest()) {
			p = promise{next, 0}
		}
		p.tokens = min(p.tokens+least, l.most)
	} else {
		turn := earliest
		if p.at > m.Now {
			full := up(l.fill(ratio(l.most)))
			turn = max(earliest, min(p.at+up(l.fill(ratio(least))), earliest+latest(full)))
		}
		p.at = turn
	}
	m.promised[r.key] = p
	a.wait = p.at - m.Now
}

// latest is how much later a promise may be for a limit that is full again after a time.
func latest(full int64) int64 { return min(max(full, minute), mostDuration) }

// promising are the keys whose denied callers are told their turns: few of them, because the server may forget the
// promise of a key for another one's.
var promising = []string{"k1", "k3", "k4"}

// randomSpread is a SPREAD, mostly where it is possible. A cluster forgets promises when its leader changes, so a call
// to it has a SPREAD only if it is promised nothing.
func randomSpread(c *Calls, key string, f *form, isPeek bool) []string {
	l := limit{algorithm: f.algorithm}
	if l.canSpread() != nil && !c.chance(60) {
		return nil
	}
	if l.canSpread() == nil && !isPeek && (c.hideCounts || !slices.Contains(promising, key)) || !c.chance(2) {
		return nil
	}
	return []string{c.pick("SPREAD", "SPREAD", "spread")}
}

// canSpread returns an error if denied callers of the limit cannot be told their turns.
func (l *limit) canSpread() error {
	switch l.algorithm {
	case gcra, tokenBucket, leakyBucket, leakyQueue, fixedWindow:
		return nil
	}
	return refuse("ERR SPREAD: does not apply to %s", formOf(l.algorithm).word)
}
