package cluster

import (
	"log/slog"
	"sync"
	"time"
)

// nodeLog is a node's log.
type nodeLog struct {
	*slog.Logger

	mu   sync.Mutex
	said map[string]time.Time // when once said what
}

func newNodeLog(to *slog.Logger) *nodeLog {
	return &nodeLog{Logger: to, said: map[string]time.Time{}}
}

// once logs what would otherwise be repeated all the time, once a minute.
func (l *nodeLog) once(what, message string, fields ...any) {
	if l.isDue(what) {
		l.Info(message, fields...)
	}
}

// warnOnce is once for warnings.
func (l *nodeLog) warnOnce(what, message string, fields ...any) {
	if l.isDue(what) {
		l.Warn(message, fields...)
	}
}

// isDue reports whether something was not logged in the last minute, and notes that it is.
func (l *nodeLog) isDue(what string) bool {
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
