package testspec

import (
	"fmt"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Leaders follows what the leaders of one group grant from memory, and what the group's log then counts, by the rules of the
// model of leaders. It follows limits whose tokens come back one by one, not those with windows. A leader may still answer at
// the instant at which the next one begins: several nodes are followed in a bubble of synctest, where time stands still
// meanwhile.
type Leaders struct {
	Granted func(node string) // called when a node grants a request from memory; nil for nothing

	mu      sync.Mutex
	leader  string // the node that began the last term
	since   time.Time
	granted map[string]*fromMemory
	applied entryTime // the operation of the log that was seen last
	events  int
	err     error
}

// fromMemory is what was granted of a limit from memory, and is not counted by the log's state.
type fromMemory struct {
	limit limits.Limit
	taken int64 // tokens times the limit's period, at the cluster's time at
	at    int64
}

// entryTime is an operation in the log: the time of its entry, and how many operations before had the same.
type entryTime struct {
	now   int64
	count int
}

// Err is [Tracer.Err].
func (l *Leaders) Err() (events int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events, l.err
}

// takenAt returns what is still taken at a time of a limit, of tokens taken before.
func takenAt(limit *limits.Limit, taken, at, now int64) int64 {
	span := min(max(0, now-at), int64(limits.MaxAllowanceTime)) // then all of a leader's part is back
	return max(0, taken-span*limit.Rate.Tokens)
}

// Memory returns the TraceBeside of a node's store.
func (l *Leaders) Memory(node string) func(int64, []engine.Op, []engine.Result) {
	return func(now int64, ops []engine.Op, results []engine.Result) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.granted == nil {
			l.granted = map[string]*fromMemory{}
		}
		for i := range ops {
			op, res := &ops[i], &results[i]
			switch {
			case op.Verb == engine.Flush:
				l.begin(node, now)
			case op.Verb == engine.Delete:
				delete(l.granted, string(op.Key))
			case op.Verb == engine.Refund:
				if m := l.granted[string(op.Key)]; m != nil && res.Status == engine.OK {
					m.taken = max(0, m.taken-res.Granted*m.limit.Rate.Period)
				}
			case res.Status == engine.OK && res.Allowed && op.Options&engine.Peek == 0:
				l.grant(node, now, op, res)
			}
		}
	}
}

// begin begins a node's term. Its clock may be behind the clock of an earlier leader: nothing comes back before it has
// passed this time.
func (l *Leaders) begin(node string, now int64) {
	for _, m := range l.granted {
		m.at = min(m.at, now)
	}
	l.leader, l.since = node, time.Now()
}

// grant compares a grant from memory with the rules.
func (l *Leaders) grant(node string, now int64, op *engine.Op, res *engine.Result) {
	if l.events++; l.Granted != nil {
		l.Granted(node)
	}
	if node != l.leader && time.Now().After(l.since) {
		l.fail("%s grants operation %d on %q from memory after %s has begun its term", node, op.Verb, op.Key, l.leader)
	}
	each(op, func(part *engine.Op) {
		if part.Limit.Algorithm == limits.FixedWindow {
			return
		}
		tokens, period := res.Granted, part.Limit.Rate.Period
		if part.Options&engine.FixedCost != 0 {
			tokens = part.Tokens
		}
		m := l.granted[string(part.Key)]
		if m == nil || m.limit != part.Limit {
			m = &fromMemory{limit: part.Limit}
			l.granted[string(part.Key)] = m
		}
		m.taken = takenAt(&m.limit, m.taken, m.at, now)
		m.at = max(m.at, now)
		if !mayTake(m.taken, (tokens-1)*period, part.Limit.LeaderAllowance()*period) { // a token may come back by rounding
			l.fail("%s grants %d tokens of %s from memory, of which %d are taken, of a part of %d", node, tokens, part.Key,
				m.taken/period, part.Limit.LeaderAllowance())
		}
		m.taken += tokens * period
	})
}

// Log returns the Trace of a replica of the group's state.
func (l *Leaders) Log() func(int64, []engine.Op, []engine.Result) {
	var at entryTime
	return func(now int64, ops []engine.Op, results []engine.Result) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if ops == nil || now != at.now {
			at = entryTime{now: now}
		}
		for i := range ops {
			at.count++
			if at.now > l.applied.now || at.now == l.applied.now && at.count > l.applied.count {
				l.applied = at // on the first replica that has it
				l.log(now, &ops[i], &results[i])
			}
		}
	}
}

// log compares what the log's state counts of a limit with what leaders have granted from memory.
func (l *Leaders) log(now int64, op *engine.Op, res *engine.Result) {
	if op.Verb == engine.Flush {
		clear(l.granted)
	}
	if res.Status != engine.OK || op.Options&engine.Peek != 0 {
		return
	}
	each(op, func(part *engine.Op) {
		m := l.granted[string(part.Key)]
		if m == nil {
			return
		}
		l.events++
		limit, period := part.Limit, part.Limit.Rate.Period
		taken := takenAt(&m.limit, m.taken, m.at, now)
		begins := counted(part.Tokens*period, false, 0)
		if part.Verb != engine.Carry {
			begins = counted(0, part.PriorAt != 0, limit.LeaderAllowance()*period)
		}
		if counts := takenAt(&limit, begins, part.PriorAt, now); m.limit == limit && counts+period < taken {
			l.fail("the log counts %d tokens of %s as taken, of %d that leaders have granted from memory, by operation %d",
				counts/period, part.Key, taken/period, op.Verb)
		}
		if part.Verb == engine.Carry || res.Allowed {
			delete(l.granted, string(part.Key)) // the log's state counts them
		}
	})
}

func (l *Leaders) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// each visits the requests for limits with keys that an operation names.
func each(op *engine.Op, visit func(part *engine.Op)) {
	switch op.Verb {
	case engine.Acquire, engine.Lend, engine.Carry:
		visit(op)
	case engine.Reserve:
		each(&op.Parts[0], visit)
	case engine.AcquireAll, engine.Check: // a check names the keys of its policy only where it is answered from memory
		for i := range op.Parts {
			visit(&op.Parts[i])
		}
	}
}
