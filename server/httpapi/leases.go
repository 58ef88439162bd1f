package httpapi

import (
	"strings"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// leases has a bit for each limit of a decision that counts leases, not requests.
type leases uint64

func (l leases) has(i int) bool { return l>>i&1 == 1 }

// leasesOfPolicy are those of the policy and the caller of an RL.CHECK.
func (s *Service) leasesOfPolicy(check *command.Words) (of leases) {
	words := check.List()
	for i, limit := range s.gateway.PolicyLimits(string(words[1]), words[2]) {
		if limit.Algorithm == limits.Concurrency {
			of |= 1 << i
		}
	}
	return of
}

// leasesOf are those among the limits of a request's body.
func leasesOf(body *value) (of leases) {
	word, _ := limiter.LimitWords(limits.Limit{Algorithm: limits.Concurrency})
	all := body.items[body.find("limits")].items
	for i := range all {
		if limit := &all[i]; strings.EqualFold(limit.items[limit.find("algorithm")].text, word) {
			of |= 1 << i
		}
	}
	return of
}
