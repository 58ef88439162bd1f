package acl

import (
	"slices"
	"sync"

	"github.com/stintdb/stint/server/command"
)

// Log is the last denials, for ACL LOG. Equal denials within a minute are one entry with a count, so that an attack
// does not push out everything else.
type Log struct {
	mu      sync.Mutex
	entries []command.Denial // latest first
	length  int
	last    int64
}

// sameWithin is how long after the last equal denial another one is counted in the same entry, in nanoseconds.
const sameWithin = 60_000_000_000

// SetLength changes how many entries are kept.
func (l *Log) SetLength(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.length = n
	l.entries = l.entries[:min(n, len(l.entries))]
}

// Add records a denial.
func (l *Log) Add(d command.Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.entries, func(e command.Denial) bool {
		return e.Reason == d.Reason && e.Context == d.Context && e.Object == d.Object && e.User == d.User && d.Last-e.Last < sameWithin
	})
	if at >= 0 {
		same := l.entries[at]
		l.entries = slices.Delete(l.entries, at, at+1)
		d.Count, d.ID, d.Created = same.Count, same.ID, same.Created
	} else {
		l.last++
		d.ID, d.Created = l.last, d.Last
	}
	d.Count++
	l.entries = slices.Insert(l.entries, 0, d)
	l.entries = l.entries[:min(l.length, len(l.entries))]
}

// Entries returns at most n denials, latest first.
func (l *Log) Entries(n int) []command.Denial {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[:min(n, len(l.entries))])
}

// Reset forgets all denials.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}
