package rls

import (
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/server/command"
)

// PlanCheck asks whether the limits of a request have room for its hits, and takes nothing.
func (r *Rules) PlanCheck(req *Request, now time.Time) (*Plan, error) {
	p, err := r.plan(req, now)
	if err == nil {
		p.writeTogether(addLimit)
		p.finish(func(_ int, words *command.Words) { words.Option("PEEK") })
	}
	return p, err
}

// writeTogether writes one command for all limits that are taken together or not at all. A policy has its own command,
// and so has a rule whose denial does not deny the request. [Plan.finish] adds options.
func (p *Plan) writeTogether(add func(words *command.Words, rule *Rule, key string, hits uint64)) {
	together, used := -1, map[string]bool{}
	for i := range p.matches {
		rule := p.matches[i].rule
		if !p.isCounted(i) {
			continue
		}
		hits := p.request.Descriptors[i].Hits
		if rule.Policy != "" {
			p.add(askPolicy, i, p.policyWords(i, max(hits, 1)))
			continue
		}
		key := p.key(i)
		n, isApart := together, rule.Shadow || rule.Quota || len(key) > p.request.MaxKeyBytes
		if n < 0 || used[key] || isApart {
			n = len(p.asks)
			p.asks, p.Commands = append(p.asks, ask{kind: askAll}), append(p.Commands, command.NewWords("RL.ALL"))
		}
		if together < 0 && !isApart {
			together = n
		}
		used[key] = used[key] || n == together
		add(&p.Commands[n], rule, key, hits)
		p.asks[n].descriptors = append(p.asks[n].descriptors, i)
	}
}

// finish appends options to each command of writeTogether, and the fields of policies, which come last.
func (p *Plan) finish(options func(n int, words *command.Words)) {
	for n := range p.asks {
		options(n, &p.Commands[n])
		if p.asks[n].kind == askPolicy {
			p.addFields(&p.Commands[n], p.asks[n].descriptors[0])
		}
	}
}

// isCounted reports whether deciding a descriptor needs a command.
func (p *Plan) isCounted(i int) bool {
	rule := p.matches[i].rule
	if rule == nil || rule.Unlimited || p.matches[i].namesNobody(p.request.Descriptors[i].Entries) {
		return false
	}
	return rule.Policy != "" || rule.Requests > 0
}

// isDenied reports whether a rule denies the request regardless of the commands.
func (p *Plan) isDenied() bool {
	for i := range p.matches {
		rule := p.matches[i].rule
		if rule != nil && !rule.Unlimited && !rule.Shadow && !rule.Quota && !p.isCounted(i) {
			return true
		}
	}
	return false
}

// reservationKey returns the key of a reservation, made by the command whose first descriptor is given. It is never the
// key of a limit, because those contain =.
func reservationKey(domain, id string, first int) string {
	var b strings.Builder
	b.WriteString("rls.")
	escape(&b, domain, ":%")
	b.WriteString(":reserved|" + id + "|" + strconv.Itoa(first))
	return b.String()
}
