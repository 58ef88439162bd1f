package shared

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// loanID names a loan: the group that holds it, and the key.
type loanID struct {
	at   int
	name string
}

// voidLost looks for lost loans until the end.
func (l *Limits) voidLost() {
	ticks := time.NewTicker(voidEvery)
	defer ticks.Stop()
	var lost map[loanID]bool
	for {
		select {
		case <-ticks.C:
			lost = l.voidLostTwice(lost)
		case <-l.ctx.Done():
			return
		}
	}
}

// voidLostTwice makes home count tokens as spent that it has lent to a group without a purse. A Lend leaves such a loan
// if it is sent twice and one comes late, after the purse has ended. Loans that have no purse on this node now, and had
// none at the last look, are voided if their group's leader knows no purse either: this node may be behind. The others
// without one are returned for the next look.
func (l *Limits) voidLostTwice(before map[loanID]bool) (lost map[loanID]bool) {
	replicas := l.opt.Replicas()
	lost = map[loanID]bool{}
	for _, home := range replicas {
		if home.Store.LentKeys() == 0 || !home.Leads() {
			continue
		}
		for shard := range home.Store.Shards() {
			home.Store.ScanLoans(shard, func(key, holder []byte, _ int64) {
				if at, is := groupOf(holder); is {
					lost[loanID{at, string(key)}] = true
				}
			})
		}
	}
	for i := 0; i < len(replicas) && len(lost) > 0; i++ {
		replicas[i].Store.Purses(func(name []byte, _ limits.Limit, _ purse.Purse) {
			delete(lost, loanID{replicas[i].Number, string(name)})
		})
	}
	var due []loanID
	for id := range lost {
		if before[id] && len(due) < maxIdle {
			due = append(due, id)
		}
	}
	if len(due) > 0 {
		l.keeper.Go(func() { l.void(due) })
	}
	return lost
}

// void voids the loans whose group's leader knows no purse. A purse may be made meanwhile, and its first operation takes
// over the loan. So the loan is looked at first, and it is only voided if no operation on it was carried out since.
func (l *Limits) void(due []loanID) {
	looks := make([]engine.Op, len(due))
	for i, id := range due {
		looks[i] = engine.Op{Verb: engine.Void, Key: []byte(id.name), Who: []byte(holderOf(id.at))} // without Force
	}
	held, hasPurse := l.do(0, looks...), l.havePurse(due)
	var returns []engine.Op
	for i, id := range due {
		if number := held[i].Number; number != 0 && !hasPurse[id] {
			returns = append(returns, looks[i]) // no tokens
			last := &returns[len(returns)-1]
			last.Verb, last.Loan = engine.Return, &engine.Loan{Number: number + 1, Previous: number}
		}
	}
	if len(returns) > 0 {
		l.do(0, returns...)
	}
}

// havePurse reports for each loan whether its group may have a purse, by its leader.
func (l *Limits) havePurse(loans []loanID) map[loanID]bool {
	asked, has := map[int][]engine.Op{}, map[loanID]bool{}
	for _, id := range loans {
		asked[id.at] = append(asked[id.at], engine.Op{Verb: engine.Look, Key: []byte(id.name)})
	}
	for at, ops := range asked {
		for i, res := range l.do(at, ops...) {
			has[loanID{at, string(ops[i].Key)}] = res.Status != engine.NotFound
		}
	}
	return has
}
