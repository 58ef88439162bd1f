package cluster

import (
	"log/slog"
	"sync"
	"time"
)

// nodeLog is a node's log.
type nodeLog struct {
	*slog.Logger
	clock *clock

	mu   sync.Mutex
	said map[string]time.Duration // when once said what
}

// once logs what would otherwise be repeated all the time, once a minute.
func (l *nodeLog) once(what, message string, fields ...any) {
	l.mu.Lock()
	last, said := l.said[what]
	now := l.clock.mono()
	again := !said || now-last > time.Minute
	if again {
		if len(l.said) > maxSaid {
			clear(l.said)
		}
		l.said[what] = now
	}
	l.mu.Unlock()
	if again {
		l.Info(message, fields...)
	}
}

const maxSaid = 256
