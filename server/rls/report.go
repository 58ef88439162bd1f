package rls

import (
	"time"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// reportFor is how long a reservation lasts between the two commands of bookBySettlement.
const reportFor = "10s"

// PlanReport writes the commands that book the hits of a request, even if there is no room. Their replies go to Booked.
func (r *Rules) PlanReport(req *Request, now time.Time) (*Plan, error) {
	p, err := r.plan(req, now)
	if err != nil {
		return nil, err
	}
	all := make([]int, len(p.matches))
	for i := range all {
		all[i] = i
	}
	p.Commands = p.report(all)
	return p, nil
}

// report writes the commands that book the hits of some descriptors.
func (p *Plan) report(descriptors []int) (commands []command.Words) {
	id := ""
	for _, i := range descriptors {
		rule, hits := p.matches[i].rule, p.request.Descriptors[i].Hits
		if !p.isCounted(i) || hits == 0 {
			continue
		}
		if rule.Policy == "" && rule.Algorithm != limits.GCRA {
			words := command.NewWords(command.Keyword(rule.word+".ACQUIRE"), append([]string{p.key(i)}, rule.params...)...)
			words.Count(hits)
			words.Option("FORCE")
			commands = append(commands, words)
			continue
		}
		if id == "" {
			id = newID()
		}
		commands = append(commands, p.bookBySettlement(i, reservationKey(p.request.Domain, id, i))...)
	}
	return commands
}

// bookBySettlement books the hits of a descriptor in a limit that has no FORCE. It reserves as little as possible and
// settles the reservation with all hits: what exceeds the reservation becomes debt.
func (p *Plan) bookBySettlement(i int, key string) []command.Words {
	var reserve command.Words
	rule, settle := p.matches[i].rule, command.NewWords("RL.SETTLE", key)
	if rule.Policy != "" {
		reserve = p.policyWords(i, 1)
	} else {
		reserve = oneLimit(rule, p.key(i), 0)
		settle.Option("COSTS")
	}
	settle.Count(p.request.Descriptors[i].Hits)
	reserve.Value("AS", key)
	reserve.Value("FOR", reportFor)
	if rule.Policy != "" {
		p.addFields(&reserve, i)
	}
	return []command.Words{reserve, settle}
}

// Booked returns the error in the replies to the commands of PlanReport or Unsettled.
func (p *Plan) Booked(replies []redcon.RESP) error {
	for i := range replies {
		if replies[i].Type == redcon.Error {
			return p.failure(replies[i:])
		}
	}
	return nil
}
