package shared

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// voidLost has tokens count as spent that groups without a purse were lent: a Lend that came late, after it was asked again and the purse had ended. It
// returns the loans that have no purse on this node, and voids those that had none at the last look either; of a group without a replica here, the leader
// is asked first. If one has a purse all the same,
// because this node is behind, nothing more is granted for it: home has the tokens for spent, and no longer knows the loan.
func (l *Limits) voidLost(before map[purseID]bool) (lost map[purseID]bool) {
	replicas := l.opt.Replicas()
	lost = map[purseID]bool{}
	for _, home := range replicas {
		if home.Store.LentKeys() == 0 || !home.Leads() {
			continue
		}
		for shard := range home.Store.Shards() {
			home.Store.ScanLoans(shard, func(key, holder []byte, _ int64) {
				if at, is := groupOf(holder); is {
					lost[purseID{at, string(key)}] = true
				}
			})
		}
	}
	here := map[int]bool{}
	for i := 0; i < len(replicas) && len(lost) > 0; i++ {
		here[replicas[i].Number] = true
		replicas[i].Store.Purses(func(name []byte, _ limits.Limit, _ purse.Purse) {
			delete(lost, purseID{replicas[i].Number, string(name)})
		})
	}
	var due []purseID
	for id := range lost {
		if before[id] && len(due) < maxIdle {
			due = append(due, id)
		}
	}
	if len(due) > 0 {
		l.begin(func() { l.void(l.withoutPurse(due, here)) })
	}
	return lost
}

// withoutPurse leaves out the loans whose purse the leader of a group without a replica here knows, or does not answer for.
func (l *Limits) withoutPurse(loans []purseID, here map[int]bool) []purseID {
	asked := map[int][]engine.Op{}
	for _, id := range loans {
		if !here[id.at] {
			asked[id.at] = append(asked[id.at], engine.Op{Verb: engine.Look, Key: []byte(id.name)})
		}
	}
	gone := map[purseID]bool{}
	for at, ops := range asked {
		for i, res := range l.do(at, ops...) {
			gone[purseID{at, string(ops[i].Key)}] = res.Status == engine.NotFound
		}
	}
	return slices.DeleteFunc(loans, func(id purseID) bool { return !here[id.at] && !gone[id] })
}

func (l *Limits) void(loans []purseID) {
	var voids []engine.Op
	for _, id := range loans {
		voids = append(voids, engine.Op{Verb: engine.Void, Key: []byte(id.name), Who: holderOf(id.at), Options: engine.Force})
	}
	if len(voids) > 0 {
		l.do(0, voids...)
	}
}

// groupOf is the group that holderOf made the name of.
func groupOf(holder []byte) (group int, is bool) {
	number, is := bytes.CutPrefix(holder, []byte(keyspace.GroupHolder))
	group, err := strconv.Atoi(string(number))
	return group, is && err == nil
}
