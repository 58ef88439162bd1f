// Package testlog collects what is logged, for tests that say what must be, or must not be.
package testlog

import (
	"log/slog"
	"strings"
	"sync"
)

// Log holds what was logged so far. Its zero value is empty; any goroutine may write to it and read it.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Logger logs to l, what is at info and above, as text.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// String is all of it, a line for each message.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns how often words come in it.
func (l *Log) Count(words string) int { return strings.Count(l.String(), words) }

// Has reports whether words come in it.
func (l *Log) Has(words string) bool { return l.Count(words) > 0 }
