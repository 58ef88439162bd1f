package shared

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// tidy returns tokens that nobody uses, voids lost loans, ends requests that have waited for too long, and forgets keys without demand, until the end.
func (l *Limits) tidy() {
	ticks, voids := time.NewTicker(tidyEvery), time.NewTicker(voidEvery)
	defer ticks.Stop()
	defer voids.Stop()
	var lost map[purseID]bool
	passed := map[int]int{} // by the number of a group
	for {
		select {
		case <-voids.C:
			lost = l.voidLost(lost)
		case <-ticks.C:
			for _, g := range l.opt.Replicas() {
				if g.Store.AwayPurseCount() > 0 && g.Leads() {
					passed[g.Number] = l.returnUnused(g, passed[g.Number])
				}
			}
			l.expire(time.Now())
		case <-l.ctx.Done():
			l.expire(time.Now().Add(l.opt.Timeout))
			return
		}
	}
}

// returnUnused returns the tokens of a group's purses that were not used for a time: of maxIdle at most, after the first ones, which the last rounds
// have passed. So purses whose tokens cannot be returned hold up no others. It returns how many the next round is to pass.
func (l *Limits) returnUnused(g Replica, passed int) (pass int) {
	type idle struct {
		name  []byte
		limit limits.Limit
	}
	var all []idle
	found, now := 0, g.Now()
	g.Store.Purses(func(name []byte, limit limits.Limit, p purse.Purse) {
		silence := idleAfter
		if p.Previous == 0 { // home is asked for it still
			silence = emptyAfter
		}
		if now-p.UsedAt < int64(silence) || l.opt.Router.Home(name) == g.Number { // which are of upstream
			return
		}
		if found++; found > passed && len(all) < maxIdle {
			limit.Algorithm = limit.Algorithm.Home()
			all = append(all, idle{append([]byte(nil), name...), limit})
		}
	})
	for _, one := range all {
		k := l.keyOf(g.Number, one.name)
		if k == nil {
			continue
		}
		k.mu.Lock()
		if !k.exchanging {
			k.limit = one.limit
			l.exchange(k, true)
		}
		k.mu.Unlock()
	}
	if len(all) < maxIdle {
		return 0
	}
	return passed + maxIdle
}

// expire answers requests that wait beyond their time, and forgets keys without requests.
func (l *Limits) expire(now time.Time) {
	var late []*request
	l.mu.Lock()
	for id, k := range l.keys {
		k.mu.Lock()
		waiting := k.waiters[:0]
		for _, w := range k.waiters {
			if now.Before(w.request.until) {
				waiting = append(waiting, w)
			} else {
				late = append(late, w.request)
			}
		}
		clear(k.waiters[len(waiting):])
		if k.waiters = waiting; !k.exchanging && len(waiting) == 0 && now.Sub(k.seen) >= forgetAfter {
			delete(l.keys, id)
		}
		k.mu.Unlock()
	}
	l.mu.Unlock()
	for _, r := range late {
		r.fail(engine.NoLeader)
		r.done()
	}
}
