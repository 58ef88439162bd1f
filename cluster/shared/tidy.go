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
	for {
		select {
		case <-voids.C:
			lost = l.voidLost(lost)
		case <-ticks.C:
			for _, g := range l.opt.Replicas() {
				if g.Store.AwayPurseCount() > 0 && g.Leads() {
					l.returnUnused(g)
				}
			}
			l.expire(time.Now())
		case <-l.ctx.Done():
			l.expire(time.Now().Add(l.opt.Timeout))
			return
		}
	}
}

// returnUnused returns the tokens of a group's purses that were not used for a time.
func (l *Limits) returnUnused(g Replica) {
	type idle struct {
		name  []byte
		limit limits.Limit
	}
	var all []idle
	now := g.Now()
	g.Store.Purses(func(name []byte, limit limits.Limit, p purse.Purse) {
		silence := idleAfter
		if p.Previous == 0 { // home is asked for it still
			silence = emptyAfter
		}
		if now-p.UsedAt >= int64(silence) && len(all) < maxIdle && l.opt.Router.IsAway(g.Number, name) { // others are of upstream
			limit.Algorithm = limit.Algorithm.Home()
			all = append(all, idle{append([]byte(nil), name...), limit})
		}
	})
	for _, one := range all {
		k := l.keyOf(g.Number, one.name)
		if k == nil {
			return
		}
		k.mu.Lock()
		if !k.exchanging {
			k.limit = one.limit
			l.exchange(k, true)
		}
		k.mu.Unlock()
	}
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
