package loans

import (
	"slices"
	"time"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// tidy returns tokens that nobody uses, ends requests that have waited for too long, and forgets keys without requests,
// until the end.
func (k *Keeper) tidy() {
	ticks := time.NewTicker(k.opt.TidyEvery)
	defer ticks.Stop()
	passed := 0
	for {
		select {
		case <-ticks.C:
			passed = k.returnUnused(passed, k.opt.IdleAfter, k.opt.EmptyAfter)
			k.expire(time.Now())
		case <-k.ctx.Done():
			k.expire(time.Now().Add(k.opt.Timeout)) // which no request waits beyond
			return
		}
	}
}

// ReturnAll begins to return the tokens of purses, used or not, of at most MaxReturns after the first ones, which the
// last rounds have passed over. It returns how many the next round is to pass over.
func (k *Keeper) ReturnAll(passed int) (pass int) { return k.returnUnused(passed, 0, 0) }

// found is a purse as it was found.
type found struct {
	keyID
	limit  limits.Limit // as home has it
	tokens int64
}

// returnUnused is ReturnAll for purses that were not used for a time, another one for those that home has lent nothing.
// Since rounds take turns, purses whose tokens cannot go back hold up no others.
func (k *Keeper) returnUnused(passed int, idleAfter, emptyAfter time.Duration) (pass int) {
	reachable := k.opt.HomeIsReachable()
	if !reachable && k.opt.For == 0 {
		return passed // the tokens can be granted until it is
	}
	var all, late []found
	now, count := int64(0), 0
	for _, r := range k.opt.Replicas() {
		if now = r.Now(); k.opt.Count(r.Store) == 0 || !r.Leads() {
			continue
		}
		r.Store.Purses(func(name []byte, limit limits.Limit, p purse.Purse) {
			silence := idleAfter
			if p.Previous == 0 { // home may be asked for it still
				silence = emptyAfter
			}
			isOld, isLate := k.age(now, &p)
			if now-p.UsedAt < int64(silence) && !isOld || !k.opt.IsKept(r.Number, name) {
				return
			}
			limit.Algorithm = limit.Algorithm.Home()
			one := found{keyID{r.Number, string(name)}, limit, p.Tokens}
			if isLate {
				late = append(late, one)
			} else if reachable {
				if count++; count > passed && len(all) < k.opt.MaxReturns {
					all = append(all, one)
				}
			}
		})
	}
	if k.dropAll(late) {
		k.tidied.Store(now)
	}
	for _, one := range all {
		if key := k.Key(one.at, []byte(one.name)); key != nil {
			key.GiveBackAll(one.limit)
		}
	}
	if len(all) < k.opt.MaxReturns {
		return 0
	}
	return passed + k.opt.MaxReturns
}

// GiveBackAll begins to return all tokens of the purse, unless an operation on the loan is under way.
func (k *Key) GiveBackAll(limit limits.Limit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.exchanging {
		k.limit = limit
		k.exchange(true)
	}
}

// expire ends requests that have waited for too long, and forgets keys without requests.
func (k *Keeper) expire(now time.Time) {
	var late []Request
	k.mu.Lock()
	for id, key := range k.keys {
		key.mu.Lock()
		key.waiters = slices.DeleteFunc(key.waiters, func(r Request) bool {
			isLate := !now.Before(r.Until())
			if isLate {
				late = append(late, r)
			}
			return isLate
		})
		if !key.exchanging && len(key.waiters) == 0 && now.Sub(key.seen) >= forgetAfter {
			delete(k.keys, id)
		}
		key.mu.Unlock()
	}
	k.mu.Unlock()
	for _, r := range late {
		r.Expired()
	}
}
