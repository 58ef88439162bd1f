// Package registry has the open connections: what others may know of each and ask it for, which may be opened, and
// which have to go.
package registry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/clientcache"
	"github.com/stintdb/stint/server/fanout"
	"github.com/stintdb/stint/server/memlimit"
	"github.com/stintdb/stint/server/stats"
	"github.com/stintdb/stint/server/tracking"
)

// Env is what the registry uses of the server.
type Env struct {
	Settings     *atomic.Pointer[config.Config] // may be replaced at any time
	Clock        *clock.Clock
	Log          *slog.Logger
	Counts       *stats.Stats
	Buffers      *memlimit.Buffers
	Tracking     *tracking.Table
	Later        func(work func()) // does long work on another goroutine
	SessionBytes int               // the memory of a session
}

// Registry has the open connections.
type Registry struct {
	Env
	Fanout fanout.Queue // wakes the connections that one event concerns, a few at a time
	caches clientcache.Env

	mu   sync.Mutex
	byID map[int64]*Connection
	last int64

	perNetwork map[string]int // connections of each address

	unauthenticated unauthenticated.Conns[*Connection]
	closed          unauthenticated.Refusals // connections, as logged
}

// Start makes the registry ready for connections.
func (r *Registry) Start(e Env) {
	r.Env, r.byID, r.perNetwork = e, make(map[int64]*Connection), make(map[string]int)
	r.caches = clientcache.Env{Table: e.Tracking, Later: e.Later, Find: func(id int64) *clientcache.Cache {
		if c := r.find(id); c != nil {
			return &c.Cache
		}
		return nil
	}}
}

// Admit registers a new connection, or returns the error to send before the connection is closed.
func (r *Registry) Admit(n *Connection) error {
	if r.Settings.Load().ProtectedMode && r.isProtected(n) {
		r.Counts.Reject(stats.NotLocal)
		return command.ErrProtected
	}
	return r.AdmitCertified(n)
}

// AdmitCertified is Admit for a connection that is not read before its client has shown a trusted certificate.
func (r *Registry) AdmitCertified(n *Connection) error {
	evicted, err := r.add(n, r.Settings.Load())
	if err != nil {
		r.Counts.Rejected.Add(1)
		return err
	}
	r.Counts.Connections.Add(1)
	for _, e := range evicted {
		r.evict(e)
	}
	return nil
}

// Remove forgets a connection that is closed.
func (r *Registry) Remove(c *Connection) {
	c.Cache.Close()
	r.remove(c)
	r.Buffers.Bytes.Add(-c.buffered.Swap(0))
}

// isProtected reports whether a connection would be let in without a password although it comes from elsewhere.
func (r *Registry) isProtected(n *Connection) bool {
	return n.loggedIn.Load() && !isLocal(n.addr)
}

// isLocal reports whether a client's address is on this machine; a unix socket's is none that could be parsed.
func isLocal(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err != nil || at.Addr().Unmap().IsLoopback()
}

// add registers a connection and gives it its id, unless there are too many already; others may have to be closed for
// it.
func (r *Registry) add(s *Connection, cfg *config.Config) (evicted []*Connection, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	instead, err := r.makeRoom(s, cfg)
	if err != nil {
		return nil, err
	}
	r.last++
	s.id = r.last
	r.byID[s.id] = s
	for _, n := range []*Connection{instead, r.countOpened(s, cfg)} {
		if n != nil {
			evicted = append(evicted, n)
		}
	}
	return evicted, nil
}

func (r *Registry) remove(s *Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID[s.id] == s {
		delete(r.byID, s.id)
		r.countClosed(s)
	}
}

// Count is the number of open connections.
func (r *Registry) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID)
}

// All lists the open sessions, in no order. Callers use the list without holding the lock.
func (r *Registry) All() []*Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.AppendSeq(make([]*Connection, 0, len(r.byID)), maps.Values(r.byID))
}

// ClientList implements [command.Server].
func (r *Registry) ClientList(match func(command.ClientInfo) bool) (connections int, render func() string) {
	all := slices.DeleteFunc(r.All(), func(c *Connection) bool { return !match(c.info()) })
	return len(all), func() string {
		slices.SortFunc(all, func(a, b *Connection) int { return cmp.Compare(a.id, b.id) })
		var out strings.Builder
		for _, c := range all {
			out.WriteString(c.Line())
			out.WriteByte('\n')
		}
		return out.String()
	}
}

// ClientLine implements [command.Server].
func (r *Registry) ClientLine(id int64) string {
	if c := r.find(id); c != nil {
		return c.Line()
	}
	return ""
}

// find returns the session with an id, nil if there is none.
func (r *Registry) find(id int64) *Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// Kill implements [command.Server].
func (r *Registry) Kill(match func(command.ClientInfo) bool) int {
	n := 0
	for _, c := range r.All() {
		if match(c.info()) {
			c.Kill()
			n++
		}
	}
	return n
}

// Unblock ends the wait of a connection for keys, if it waits for any.
func (r *Registry) Unblock(id int64, withError bool) (waited bool) {
	c := r.find(id)
	if c == nil {
		return false
	}
	waiter, end := c.BlockedOn.Load(), blocking.TimedOut
	if withError {
		end = blocking.Unblocked
	}
	return waiter != nil && waiter.Finish(end)
}

// LogClosed logs why a connection was closed, once a minute for each reason: clients that have not logged in can bring
// it about as often as they like.
func (r *Registry) LogClosed(level slog.Level, why string, fields ...any) {
	if times := r.closed.Note("", errors.New(why), time.Unix(0, r.Clock.Now())); times > 0 {
		r.Log.Log(context.Background(), level, why, append(fields, "times", times)...)
	}
}

// CloseUser closes the connections of a user who was deleted.
func (r *Registry) CloseUser(u *acl.User) {
	r.Kill(func(c command.ClientInfo) bool { return c.User == u.Name() })
}
