package conn

import (
	"sync/atomic"

	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/fanout"
	"github.com/stintdb/stint/server/tracking"
)

// public is the part of a session that other goroutines may read, and by which they ask it for something. Its plain
// fields do not change once the session is registered.
type public struct {
	env        *Env
	id         int64
	addr       string
	laddr      string
	opened     int64  // clock
	network    string // of addr, see unauthenticated.Network
	wake       func() // asks the connection's owner to call resume soon; safe from any goroutine
	wait       waitState
	monitoring atomic.Bool
	channels   atomic.Int64                    // to which it is subscribed
	tracker    atomic.Pointer[tracking.Client] // nil unless it tracks keys
	inbox      tracking.Inbox                  // of keys that changed
	fanout     fanout.Reader                   // of changed keys and messages
	published  atomic.Pointer[command.Client]
	loggedIn   atomic.Bool
	killed     atomic.Bool // by CLIENT KILL or the idle timeout
	lastActive atomic.Int64
	lastRow    atomic.Pointer[command.Row]
	connStats  connStats
	blockedOn  atomic.Pointer[blocking.Waiter] // nil unless it waits for keys
}

// initFanout makes the session one of the many that may be woken together.
func (s *public) initFanout() {
	s.fanout.Init(&s.env.Fanout, s.wake)
	s.inbox.Init(&s.fanout)
}

// ID is the connection's number, unique for the life of the server; 0 before [Registry.Admit].
func (s *public) ID() int64 { return s.id }

// Addr is the client's address.
func (s *public) Addr() string { return s.addr }

// Wake asks the connection's owner for a turn soon; safe from any goroutine.
func (s *public) Wake() { s.wake() }

// Awaits reports whether the session waits for any of the events.
func (s *public) Awaits(e WaitEvent) bool { return s.wait.has(e) }

// IsDue reports whether any of the events that the session waits for has happened.
func (s *public) IsDue(e WaitEvent) bool { return s.wait.isDue(e) }

// IsKilled reports whether the connection is to be closed.
func (s *public) IsKilled() bool { return s.killed.Load() }

// Kill has the connection closed by its owner; safe from any goroutine.
func (s *public) Kill() {
	s.killed.Store(true)
	s.wake()
}

// Touch notes that the client is not idle.
func (s *public) Touch() { s.lastActive.Store(s.env.Clock.Now()) }

// find is command.Find with a memory of the command before, which most often comes again.
func (s *public) find(args [][]byte) (*command.Row, error) {
	if last := s.lastRow.Load(); last != nil && last.Is(args) {
		return last, nil
	}
	row, err := command.Find(args)
	if err == nil {
		s.lastRow.Store(row)
	}
	return row, err
}

// publish makes changes of this connection visible to others.
func (s *public) publish(client *command.Client) {
	if *client != *s.published.Load() {
		seen := *client
		s.published.Store(&seen)
	}
}

// connStats are the buffer sizes and byte counts that CLIENT LIST shows, as of the connection's last turn. One goroutine at a time writes it, any may read it.
type connStats struct {
	input     atomic.Int64 // bytes that came and are not executed yet
	inputFree atomic.Int64 // bytes there is room for behind them
	unsent    atomic.Int64 // bytes of replies the client has not taken yet
	queued    atomic.Int64 // commands of an open MULTI, and one more; 0 without one
	queuedLen atomic.Int64 // bytes of their arguments
	watched   atomic.Int64 // keys
	in, out   atomic.Int64 // bytes since the connection was made
}
