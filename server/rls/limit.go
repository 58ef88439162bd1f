package rls

import (
	"strings"
	"time"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command/limiter"
)

// decidesNow reports whether rules can have an algorithm. The protocol cannot express the wait in a queue, the release
// of a lease, the member of a fair share, the segments of a window, the ancestors of a class, a payment, or a ban.
func decidesNow(a limits.Algorithm) bool {
	return a != limits.LeakyQueue && a != limits.Class && a != limits.SlidingSegments && a != limits.Balance && a != limits.Penalty && !a.NeedsWho()
}

// algorithmOf returns the algorithm with a name as in the reply of TYPE, or with underscores. It returns NoAlgorithm if
// rules cannot have it.
func algorithmOf(name string) limits.Algorithm {
	for _, a := range limits.Algorithms() {
		if decidesNow(a) && a.String() == strings.ReplaceAll(name, "_", "-") {
			return a
		}
	}
	return limits.NoAlgorithm
}

// algorithmNames lists the algorithms of rules.
func algorithmNames() string {
	var names []string
	for _, a := range limits.Algorithms() {
		if decidesNow(a) {
			names = append(names, a.String())
		}
	}
	return strings.Join(names, ", ")
}

// setLimit prepares the words of the rule's limit. The rule must have a unit.
func (r *Rule) setLimit() error {
	if r.Requests == 0 {
		return nil // decided without a command
	}
	seconds := units[r.Unit].seconds * int64(time.Second)
	l := limits.Limit{Algorithm: r.Algorithm, Capacity: int64(r.Requests), Rate: limits.Rate{Tokens: int64(r.Requests), Period: seconds}}
	switch r.Algorithm {
	case limits.NoAlgorithm:
		l.Algorithm, l.Span, l.Rate.Tokens = limits.FixedWindow, limits.Aligned, 0
	case limits.FixedWindow:
		l.Span, l.Rate.Tokens = limits.Aligned, 0
	case limits.SlidingWindow, limits.SlidingLog:
		l.Rate.Tokens = 0
	}
	r.word, r.params = limiter.LimitWords(l)
	return l.Check()
}

// alone reports whether the rule is decided by a separate command, so that its denial does not affect other limits.
func (r *Rule) alone() bool {
	return r.Algorithm == limits.NoAlgorithm || r.Policy != "" || r.Shadow || r.Quota
}
