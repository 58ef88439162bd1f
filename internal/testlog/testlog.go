// Package testlog collects log lines for tests.
package testlog

import (
	"log/slog"
	"strings"
	"sync"
)

// Log holds the lines logged so far. Its zero value is empty; any goroutine may write to it and read it.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Logger logs to l, from level info on, as text.
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

// Count returns the number of times that words occur in it.
func (l *Log) Count(words string) int { return strings.Count(l.String(), words) }

// Has reports whether words occur in it.
func (l *Log) Has(words string) bool { return l.Count(words) > 0 }
