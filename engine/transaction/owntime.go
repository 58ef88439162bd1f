package transaction

import (
	"sync"
	"time"
)

// Scripts name things by the time: a sliding log often calls each of its members by the TIME at which it was added. In
// Redis no two scripts see the same microsecond, because each takes longer than that. Here all scripts of a pipeline,
// or of an entry of a cluster's log, are carried out at one time, so each transaction that asks for the time is given
// one of its own. Keys expire and limiters decide at the common time.

const (
	// tick is the least difference between the own times of two transactions. TIME replies with microseconds.
	tick = int64(time.Microsecond)
	// maxLead bounds how far own times are later than the time at which keys expire. A store reaches it only if more
	// than a million transactions a second ask for their time; then some of them are given the same one.
	maxLead = int64(10 * time.Millisecond)
)

// OwnTimes gives each transaction of a store a time of its own. Times are in nanoseconds since the Unix epoch. Any
// goroutine may call its methods.
type OwnTimes struct {
	mu sync.Mutex
	ownTimes
}

type ownTimes struct {
	distinct bool  // see SetDistinct
	last     int64 // of the transactions that every replica carries out; replicated
	shown    int64 // of the other transactions
	latest   int64 // the latest time at which one of these was carried out
}

// take returns the own time of a transaction at now which only this store carries out.
func (o *OwnTimes) take(now int64) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.distinct {
		return now
	}
	o.latest = max(o.latest, now) // another goroutine may have read the clock earlier, and be here later
	o.shown = following(max(o.last, o.shown), now, o.latest)
	return o.shown
}

// peek returns the own time of a transaction at now which every replica carries out. The caller keeps it when the
// transaction ends: only then is it certain that each replica has asked for it.
func (o *OwnTimes) peek(now int64) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.distinct {
		return now
	}
	return following(o.last, now, now)
}

// keep makes later transactions have later times than one that peek has returned.
func (o *OwnTimes) keep(own int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.distinct {
		o.last = own
	}
}

// following returns the next own time after last, at now. It is at most maxLead after latest, unless last is.
func following(last, now, latest int64) int64 {
	return max(now, last, min(last+tick, latest+maxLead))
}

// clear forgets all times that were given, as if the store were new: a replica that is added again carries out its log
// from the beginning.
func (o *OwnTimes) clear(distinct bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ownTimes = ownTimes{distinct: distinct}
}

// SetDistinct says whether transactions have times of their own, as they do from the beginning in a store that is not
// replicated. Otherwise their own time is [Tx.Now]. All replicas must make the change after the same operation.
func (o *OwnTimes) SetDistinct(are bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.distinct = are
}

// Last is the last own time of the transactions that every replica has carried out, 0 if there is none. It is
// replicated state: a snapshot of a replica must have it.
func (o *OwnTimes) Last() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// SetLast restores what Last returned.
func (o *OwnTimes) SetLast(last int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = last
}
