package cluster

import (
	"errors"
	"net"
	"sync"
	"time"
)

// refusals bounds what is logged about connections refused on the cluster's port: a node that is refused comes again up
// to 50 times a second, and anybody who reaches the port can be refused. The zero value is ready.
type refusals struct {
	mu   sync.Mutex
	seen map[refusal]told
}

// refusal is what is logged only once in refusalPeriod.
type refusal struct{ host, reason string }

// told is when a refusal was logged last, and how many there have been since.
type told struct {
	at    time.Time
	since int
}

const (
	refusalPeriod = time.Minute
	// maxRefusals bounds the refusals told apart; any others count as one and the same.
	maxRefusals = 64
)

// note counts a refusal. It returns how many of its kind there were since the last that was logged, this one included,
// or 0 if it is not to be logged.
func (r *refusals) note(from net.Addr, err error, now time.Time) (times int) {
	kind := kindOf(from, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[refusal]told{}
	}
	last, known := r.seen[kind]
	if !known && len(r.seen) >= maxRefusals {
		for k, t := range r.seen {
			if now.Sub(t.at) >= refusalPeriod {
				delete(r.seen, k)
			}
		}
		if len(r.seen) >= maxRefusals {
			kind = refusal{}
			last, known = r.seen[kind]
		}
	}
	if known && now.Sub(last.at) < refusalPeriod {
		r.seen[kind] = told{last.at, last.since + 1}
		return 0
	}
	r.seen[kind] = told{at: now}
	return last.since + 1
}

// kindOf leaves out what differs from one connection of a host to the next: ports.
func kindOf(from net.Addr, err error) refusal {
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err
	}
	host, _, split := net.SplitHostPort(from.String())
	if split != nil {
		host = from.String()
	}
	return refusal{host, err.Error()}
}
