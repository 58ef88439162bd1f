package loans

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
)

// A loan of a Keeper with For goes back after a third of that time, and tokens are lent anew for the next request. If
// it cannot go back, its tokens are dropped after two thirds. A process that was stopped for a while drops them before
// it spends any: see MaySpend. So nobody spends tokens that home counts as spent.
const (
	returnAfter = 3 // divides For
	spendWithin = 6 // divides For: how long ago the purses may have been looked through
)

// age reports whether a loan is to go back because of its age, and whether its tokens are to be dropped.
func (k *Keeper) age(now int64, p *purse.Purse) (isOld, isLate bool) {
	if k.opt.For == 0 || p.Previous == 0 {
		return false, false
	}
	age := time.Duration(now - p.LentAt())
	return age >= k.opt.For/returnAfter, age >= k.MaxAge() && p.Tokens > 0
}

// MaxAge is the age of a loan at which its tokens are dropped, 0 for none.
func (k *Keeper) MaxAge() time.Duration { return 2 * (k.opt.For / returnAfter) }

// dropAll drops the tokens of purses, and reports whether all are dropped. Home counts them as spent.
func (k *Keeper) dropAll(late []found) (ok bool) {
	ok = true
	for _, one := range late {
		kept, _ := k.opt.InPurse(one.limit)
		op := engine.Op{Verb: engine.Prepare, Key: []byte(one.name), Limit: kept, Options: engine.Force}
		if k.opt.Purses(one.at, op)[0].Status == engine.OK {
			k.counts.dropped.Add(one.tokens)
		} else {
			ok = false
		}
	}
	return ok
}

// MaySpend reports whether the tokens of purses may be spent at a time. They may not if it was too long ago that tokens
// of old loans were dropped.
func (k *Keeper) MaySpend(now int64) bool {
	return k.opt.For == 0 || time.Duration(now-k.tidied.Load()) < k.opt.For/spendWithin
}
