package upstream

import (
	"context"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// tidy returns tokens that nobody uses, and forgets keys without demand, until the end.
func (u *Upstream) tidy() {
	ticks := time.NewTicker(tidyEvery)
	defer ticks.Stop()
	passed := 0
	for {
		select {
		case <-ticks.C:
			passed = u.returnUnused(int64(idleAfter), passed)
			u.forget()
		case <-u.stop:
			return
		}
	}
}

// returnUnused returns the tokens of keys that were not used for a time: of maxIdle at most, after the first ones, which the last rounds have passed.
// So keys whose tokens cannot be returned hold up no others. It returns how many the next round is to pass.
func (u *Upstream) returnUnused(silence int64, passed int) (pass int) {
	type idle struct {
		name  string
		limit limits.Limit
	}
	if connected, _ := u.home.status(); !connected {
		return passed // they can be spent until it is
	}
	var all []idle
	found := 0
	for _, r := range u.opt.Replicas() {
		if r.Store.PurseCount() == 0 || !r.Leads() {
			continue
		}
		now := r.Now()
		r.Store.Purses(func(name []byte, limit limits.Limit, t purse.Purse) {
			if now-t.UsedAt < silence || !u.ofHome(name) {
				return
			}
			if found++; found > passed && len(all) < maxIdle {
				all = append(all, idle{string(name), limit})
			}
		})
	}
	for _, one := range all {
		k := u.keyOf([]byte(one.name))
		if k == nil {
			continue
		}
		k.mu.Lock()
		if !k.exchanging {
			k.limit = one.limit
			k.limit.Algorithm = one.limit.Algorithm.Home()
			u.exchange(k, returnAll)
		}
		k.mu.Unlock()
	}
	if len(all) < maxIdle {
		return 0
	}
	return passed + maxIdle
}

func (u *Upstream) forget() {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, k := range u.keys {
		k.mu.Lock()
		if !k.exchanging && len(k.waiters) == 0 && now.Sub(k.seen) >= idleAfter {
			delete(u.keys, name)
		}
		k.mu.Unlock()
	}
}

// dropAll drops the tokens that the last process has left: the store may have lost that they were spent.
func (u *Upstream) dropAll() {
	var ops []engine.Op
	for _, r := range u.opt.Replicas() {
		r.Store.Purses(func(name []byte, limit limits.Limit, t purse.Purse) {
			u.counts.dropped.Add(t.Tokens)
			ops = append(ops, engine.Op{Verb: engine.Prepare, Key: append([]byte(nil), name...), Limit: limit, Options: engine.Force})
		})
	}
	if len(ops) > 0 {
		u.decide(ops...)
	}
}

// Close ends the connection to home. A server alone returns all tokens first, as far as there is time.
func (u *Upstream) Close(ctx context.Context) {
	for passed := 0; u.opt.Alone && ctx.Err() == nil && u.purseCount() > 0; {
		if connected, _ := u.home.status(); !connected {
			break
		}
		passed = u.returnUnused(0, passed)
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
	close(u.stop)
	u.home.close()
	u.background.Wait()
}
