// Package slowlog keeps the latest slow commands. SLOWLOG shows them.
package slowlog

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/resp"
)

// Log keeps the latest --slowlog-max-len commands that took at least --slowlog-log-slower-than. Its methods may be
// called from any goroutine.
type Log struct {
	settings *atomic.Pointer[config.Config]

	mu      sync.Mutex
	entries []command.SlowCommand // the oldest first
	last    int64                 // id
}

// Bounds of an entry, the same as in Redis.
const (
	maxArgs     = 32
	maxArgBytes = 128
	// MaxRawBytes is the most that a caller needs to keep of a command in RESP until it calls [TurnArgs].
	MaxRawBytes = 4 << 10
)

// New returns an empty log. The settings may be replaced while it is in use.
func New(settings *atomic.Pointer[config.Config]) *Log { return &Log{settings: settings} }

// IsSlow reports whether a command that took this long belongs in the log.
func (l *Log) IsSlow(nanos int64) bool {
	micros := int64(l.settings.Load().SlowlogMicros)
	return micros >= 0 && nanos >= micros*1000
}

// Note adds a command and gives it the next id.
func (l *Log) Note(slow command.SlowCommand) {
	most := l.settings.Load().SlowlogLength
	l.mu.Lock()
	defer l.mu.Unlock()
	slow.ID = l.last
	l.last++
	l.entries = append(l.entries, slow)
	if over := len(l.entries) - most; over > 0 {
		l.entries = append(l.entries[:0], l.entries[over:]...)
	}
}

// Count is the number of commands that were ever noted.
func (l *Log) Count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// SlowCommands implements [command.Observer].
func (l *Log) SlowCommands(n int) []command.SlowCommand {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || n > len(l.entries) {
		n = len(l.entries)
	}
	latest := make([]command.SlowCommand, 0, n)
	for i := range n {
		latest = append(latest, l.entries[len(l.entries)-1-i])
	}
	return latest
}

// SlowCount implements [command.Observer].
func (l *Log) SlowCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// ResetSlowlog implements [command.Observer].
func (l *Log) ResetSlowlog() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// TurnArgs describes a turn that took long by its first command, in RESP, and the number of its commands, since the
// commands of a pipeline are decided together.
func TurnArgs(first []byte, limits resp.Limits, commands int64) []string {
	reader := resp.Reader{Limits: limits}
	args, _, _ := reader.Next(first)
	kept := Args(args)
	if len(args) == 0 {
		kept = []string{fmt.Sprintf("(a command of more than %d bytes)", MaxRawBytes)}
	}
	if commands > 1 {
		kept = append(kept, fmt.Sprintf("... (%d more commands in the pipeline)", commands-1))
	}
	return kept
}

// Args is the part of a command's arguments that the log keeps: not its secrets, and not more than Redis does.
func Args(args [][]byte) (kept []string) {
	for i, a := range args {
		switch {
		case i == maxArgs-1 && len(args) > maxArgs:
			return append(kept, fmt.Sprintf("... (%d more arguments)", len(args)-maxArgs+1))
		case i > 0 && command.HasSecrets(args):
			kept = append(kept, "(redacted)")
		case len(a) > maxArgBytes:
			kept = append(kept, fmt.Sprintf("%s... (%d more bytes)", a[:maxArgBytes], len(a)-maxArgBytes))
		default:
			kept = append(kept, string(a))
		}
	}
	return kept
}
