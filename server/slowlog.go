package server

import (
	"fmt"
	"sync"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// slowlog keeps the latest commands that took too long.
type slowlog struct {
	mu      sync.Mutex
	entries []command.SlowCommand // the oldest first
	last    int64                 // id
}

// What an entry keeps of a command, as Redis does.
const (
	slowArgs     = 32
	slowArgBytes = 128
	slowRawBytes = 4 << 10 // of a command whose decider finishes later
)

// count is how many there were in all.
func (l *slowlog) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// isSlow reports whether so many nanoseconds are to be kept in SLOWLOG.
func (s *Server) isSlow(nanos int64) bool {
	micros := int64(s.Config().SlowlogMicros)
	return micros >= 0 && nanos >= micros*1000
}

// slow notes that a command took long.
func (s *session) slow(nanos int64, args []string) {
	l, cfg := &s.host.slowlog, s.host.Config()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.entries = append(l.entries, command.SlowCommand{ID: l.last - 1, UnixSec: s.host.clock.Now() / 1e9, Micros: nanos / 1000,
		Args: args, Addr: s.addr, Name: s.client.Name})
	if over := len(l.entries) - cfg.SlowlogLength; over > 0 {
		l.entries = append(l.entries[:0], l.entries[over:]...)
	}
}

// slowTurn notes a turn that took long, by its first command: those of a pipeline are decided together.
func (s *session) slowTurn(nanos int64, first []byte, commands int64) {
	limits := s.reader.Limits
	reader := resp.Reader{Limits: limits}
	args, _, _ := reader.Next(first)
	kept := keptArgs(args)
	if len(args) == 0 {
		kept = []string{fmt.Sprintf("(a command of more than %d bytes)", slowRawBytes)}
	}
	if commands > 1 {
		kept = append(kept, fmt.Sprintf("... (%d more commands in the pipeline)", commands-1))
	}
	s.slow(nanos, kept)
}

// keptArgs is what SLOWLOG keeps of a command: not its secrets, and not more than Redis does.
func keptArgs(args [][]byte) (kept []string) {
	for i, a := range args {
		switch {
		case i == slowArgs-1 && len(args) > slowArgs:
			return append(kept, fmt.Sprintf("... (%d more arguments)", len(args)-slowArgs+1))
		case i > 0 && hasSecrets(args):
			kept = append(kept, "(redacted)")
		case len(a) > slowArgBytes:
			kept = append(kept, fmt.Sprintf("%s... (%d more bytes)", a[:slowArgBytes], len(a)-slowArgBytes))
		default:
			kept = append(kept, string(a))
		}
	}
	return kept
}

// hasSecrets reports whether a command's arguments can hold a password.
func hasSecrets(args [][]byte) bool {
	row, err := command.Find(args)
	if row == nil && err != nil {
		return true // a mistyped AUTH is one too
	}
	switch row.FullName {
	case "auth", "hello", "acl|setuser", "config|set":
		return true
	}
	return false
}

// SlowCommands implements [command.Observer].
func (s *Server) SlowCommands(n int) []command.SlowCommand {
	l := &s.slowlog
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
func (s *Server) SlowCount() int {
	s.slowlog.mu.Lock()
	defer s.slowlog.mu.Unlock()
	return len(s.slowlog.entries)
}

// ForgetSlow implements [command.Observer].
func (s *Server) ForgetSlow() {
	s.slowlog.mu.Lock()
	defer s.slowlog.mu.Unlock()
	s.slowlog.entries = nil
}
