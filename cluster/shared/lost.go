package shared

import (
	"bytes"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// voidLost has tokens count as spent that groups without a purse were lent: a Lend that came late, after it was asked again and the purse had ended. It
// returns the loans that have no purse on this node, and voids those that had none at the last look either. If one has a purse all the same,
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
				if at, is := groupOf(holder); is && at <= len(replicas) {
					lost[purseID{at, string(key)}] = true
				}
			})
		}
	}
	for i := 0; i < len(replicas) && len(lost) > 0; i++ {
		replicas[i].Store.Purses(func(name []byte, _ limits.Limit, _ purse.Purse) {
			delete(lost, purseID{replicas[i].Number, string(name)})
		})
	}
	var voids []engine.Op
	for id := range lost {
		if before[id] && len(voids) < maxIdle {
			voids = append(voids, engine.Op{Verb: engine.Void, Key: []byte(id.name), Who: holderOf(id.at), Options: engine.Force})
		}
	}
	if len(voids) > 0 {
		l.begin(func() { l.do(0, voids...) })
	}
	return lost
}

// groupOf is the group that holderOf made the name of.
func groupOf(holder []byte) (group int, is bool) {
	number, is := bytes.CutPrefix(holder, []byte(keyspace.GroupHolder))
	group, err := strconv.Atoi(string(number))
	return group, is && err == nil
}
