package loans

import (
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
			passed = k.returnUnused(passed, func(p purse.Purse) time.Duration {
				if p.Previous == 0 { // home may be asked for it still
					return k.opt.EmptyAfter
				}
				return k.opt.IdleAfter
			})
			k.expire(time.Now())
		case <-k.ctx.Done():
			k.endWaiting()
			return
		}
	}
}

// ReturnAll begins to return the tokens of purses, used or not. One round returns those of some purses: passed is how
// many the last rounds have passed over, and pass how many the next one is to.
func (k *Keeper) ReturnAll(passed int) (pass int) {
	return k.returnUnused(passed, func(purse.Purse) time.Duration { return 0 })
}

// returnUnused begins to return the tokens of purses that were not used for a time, of at most MaxReturns after the
// first ones, which the last rounds have passed over. So purses whose tokens cannot go back hold up no others. It
// returns how many the next round is to pass over.
func (k *Keeper) returnUnused(passed int, after func(p purse.Purse) time.Duration) (pass int) {
	type idle struct {
		keyID
		limit limits.Limit
	}
	if !k.opt.Home.IsReachable() {
		return passed // the tokens can be granted until it is
	}
	var all []idle
	found := 0
	for _, r := range k.opt.Purses.Replicas() {
		if !r.Leads() {
			continue
		}
		now := r.Now()
		r.Each(func(name []byte, limit limits.Limit, p purse.Purse) {
			if now-p.UsedAt < int64(after(p)) {
				return
			}
			if found++; found > passed && len(all) < k.opt.MaxReturns {
				limit.Algorithm = limit.Algorithm.Home()
				all = append(all, idle{keyID{r.At, string(name)}, limit})
			}
		})
	}
	for _, one := range all {
		if key := k.Key(one.at, []byte(one.name)); key != nil {
			key.giveBack(one.limit)
		}
	}
	if len(all) < k.opt.MaxReturns {
		return 0
	}
	return passed + k.opt.MaxReturns
}

// giveBack begins to return all tokens of the purse, unless an operation on the loan is under way.
func (k *Key) giveBack(limit limits.Limit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.exchanging {
		k.limit = limit
		k.exchange(true)
	}
}

// endWaiting ends all requests that wait.
func (k *Keeper) endWaiting() { k.endBefore(time.Now(), func(Request) bool { return true }) }

// expire ends requests that have waited for too long, and forgets keys without requests.
func (k *Keeper) expire(now time.Time) {
	k.endBefore(now, func(r Request) bool { return !now.Before(r.Until()) })
}

func (k *Keeper) endBefore(now time.Time, isLate func(r Request) bool) {
	var late []Request
	k.mu.Lock()
	for id, key := range k.keys {
		key.mu.Lock()
		late = append(late, key.takeLate(isLate)...)
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

// takeLate removes requests from those that wait. k.mu is held.
func (k *Key) takeLate(isLate func(r Request) bool) (late []Request) {
	waiting := k.waiters[:0]
	for _, r := range k.waiters {
		if isLate(r) {
			late = append(late, r)
		} else {
			waiting = append(waiting, r)
		}
	}
	clear(k.waiters[len(waiting):])
	k.waiters = waiting
	return late
}
