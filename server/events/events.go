// Package events keeps the last events of a server for operators: changes of limits and by whom, leaders, lost nodes,
// problems.
package events

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/bytetext"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Kinds of events.
const (
	Policy  = "policy"  // limits were changed
	Key     = "key"     // a key was reset
	Leader  = "leader"  // another node leads
	Node    = "node"    // a node is gone, or back
	Problem = "problem" // a problem began or ended
	Start   = "start"
)

// The limits of a log.
const (
	Kept         = 50
	maxTextBytes = 300
	// OneWithin is how long after an event of the same kind by the same user another one is only counted, so that a
	// script that sets many policies does not push everything else out.
	OneWithin = time.Minute
)

// Log is the last events. Its methods may be called from any goroutine.
type Log struct {
	mu  sync.Mutex
	all []clusterstatus.Event // oldest first
}

// Add adds an event. now is in nanoseconds since the Unix epoch. Long texts are cut.
func (l *Log) Add(now int64, e clusterstatus.Event) {
	e.At = now / int64(time.Millisecond)
	e.Text, e.User, e.From = cut(e.Text), cut(e.User), cut(e.From)
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.all); n > 0 && e.User != "" {
		if last := &l.all[n-1]; last.Kind == e.Kind && last.User == e.User && e.At-last.At < OneWithin.Milliseconds() {
			e.More = last.More + 1
			*last = e
			return
		}
	}
	if l.all = append(l.all, e); len(l.all) > Kept {
		l.drop()
	}
}

// drop deletes the oldest change by a user, or the oldest other event, whichever there are more of, so that many
// changes of leaders do not push out who changed a limit.
func (l *Log) drop() {
	byUsers := 0
	for _, e := range l.all {
		if e.User != "" {
			byUsers++
		}
	}
	i := slices.IndexFunc(l.all, func(e clusterstatus.Event) bool { return (e.User != "") == (byUsers > Kept/2) })
	l.all = slices.Delete(l.all, i, i+1)
}

// List returns the events, newest first.
func (l *Log) List() []clusterstatus.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]clusterstatus.Event, 0, len(l.all))
	for i := len(l.all) - 1; i >= 0; i-- {
		list = append(list, l.all[i])
	}
	return list
}

func cut(text string) string {
	if text = bytetext.Shown(text); len(text) > maxTextBytes {
		text = strings.ToValidUTF8(text[:maxTextBytes], "") + "…"
	}
	return text
}
