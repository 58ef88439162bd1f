// Package oncelog is a log that does not repeat itself.
package oncelog

import (
	"log/slog"
	"sync"
	"time"
)

// Log is the log of a node.
type Log struct {
	*slog.Logger

	mu   sync.Mutex
	said map[string]time.Time // when Once last logged what
}

// New returns a log that writes to another.
func New(to *slog.Logger) *Log {
	return &Log{Logger: to, said: map[string]time.Time{}}
}

// Once logs a message that would otherwise be repeated all the time at most once a minute. what says which messages are
// the same.
func (l *Log) Once(what, message string, fields ...any) {
	if l.isDue(what) {
		l.Info(message, fields...)
	}
}

// WarnOnce is Once for warnings.
func (l *Log) WarnOnce(what, message string, fields ...any) {
	if l.isDue(what) {
		l.Warn(message, fields...)
	}
}

// isDue reports whether something was not logged in the last minute, and notes that it is.
func (l *Log) isDue(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, said := l.said[what]
	now := time.Now()
	again := !said || now.Sub(last) > time.Minute
	if again {
		if len(l.said) > maxSaid {
			clear(l.said)
		}
		l.said[what] = now
	}
	return again
}

const maxSaid = 256
