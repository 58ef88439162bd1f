package unauthenticated

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Refusals bounds the log lines about refused connections: one line a minute for each host and reason. The zero
// value is ready. It is safe for concurrent use.
type Refusals struct {
	mu   sync.Mutex
	seen map[refusal]told
}

// refusal is logged only once in RefusalPeriod.
type refusal struct{ host, reason string }

// told has the time of a refusal's last log line, and the number of refusals since.
type told struct {
	at    time.Time
	since int
}

const (
	// RefusalPeriod is the shortest time between two log lines with the same host and reason.
	RefusalPeriod = time.Minute
	// MaxRefusals bounds the pairs of host and reason that are counted separately; all others count together.
	MaxRefusals = 64
)

// Note counts a refusal. It returns the number of its kind since the last log line, this one included, or 0 if it must
// not be logged. From is HOST:PORT, or empty if only the reason counts.
func (r *Refusals) Note(from string, err error, now time.Time) (times int) {
	kind := kindOf(from, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[refusal]told{}
	}
	last, known := r.seen[kind]
	if !known && len(r.seen) >= MaxRefusals {
		for k, t := range r.seen {
			if now.Sub(t.at) >= RefusalPeriod {
				delete(r.seen, k)
			}
		}
		if len(r.seen) >= MaxRefusals {
			kind = refusal{}
			last, known = r.seen[kind]
		}
	}
	if known && now.Sub(last.at) < RefusalPeriod {
		r.seen[kind] = told{last.at, last.since + 1}
		return 0
	}
	r.seen[kind] = told{at: now}
	return last.since + 1
}

// kindOf leaves out ports, which differ between connections of a host.
func kindOf(from string, err error) refusal {
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err
	}
	host, _, split := net.SplitHostPort(from)
	if split != nil {
		host = from
	}
	return refusal{host, err.Error()}
}
