package shared

import (
	"slices"
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
// none at the last look, are voided; the others without one are returned for the next look. If the group has no replica
// here, its leader is asked first. If a purse exists all the same because this node is behind, nothing more is granted
// from it: home counts its tokens as spent, and no longer knows the loan.
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
	here := map[int]bool{}
	for i := 0; i < len(replicas) && len(lost) > 0; i++ {
		here[replicas[i].Number] = true
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
		l.keeper.Go(func() { l.void(l.withoutPurse(due, here)) })
	}
	return lost
}

// withoutPurse leaves out loans whose group has no replica here, unless the group's leader says that there is no purse.
func (l *Limits) withoutPurse(loans []loanID, here map[int]bool) []loanID {
	asked := map[int][]engine.Op{}
	for _, id := range loans {
		if !here[id.at] {
			asked[id.at] = append(asked[id.at], engine.Op{Verb: engine.Look, Key: []byte(id.name)})
		}
	}
	gone := map[loanID]bool{}
	for at, ops := range asked {
		for i, res := range l.do(at, ops...) {
			gone[loanID{at, string(ops[i].Key)}] = res.Status == engine.NotFound
		}
	}
	return slices.DeleteFunc(loans, func(id loanID) bool { return !here[id.at] && !gone[id] })
}

func (l *Limits) void(loans []loanID) {
	var voids []engine.Op
	for _, id := range loans {
		voids = append(voids, engine.Op{
			Verb: engine.Void, Key: []byte(id.name), Who: []byte(holderOf(id.at)), Options: engine.Force,
		})
	}
	if len(voids) > 0 {
		l.do(0, voids...)
	}
}
