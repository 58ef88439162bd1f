package conn

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/stats"
)

// Registry has the open connections.
type Registry struct {
	env *Env

	mu   sync.Mutex
	byID map[int64]*Session
	last int64

	perNetwork map[string]int // connections of each address

	unauthenticated unauthenticated.Conns[*Session]
}

// start makes the registry ready for sessions.
func (r *Registry) start(e *Env) {
	r.env, r.byID, r.perNetwork = e, make(map[int64]*Session), make(map[string]int)
}

// Admit registers a new connection, or returns the error to send before the connection is closed.
func (r *Registry) Admit(n *Session) error {
	if r.env.config().ProtectedMode && r.isProtected(n) {
		r.env.Stats.Reject(stats.NotLocal)
		return command.ErrProtected
	}
	return r.AdmitCertified(n)
}

// AdmitCertified is Admit of a connection on which nothing is heard before the client has shown a certificate that is trusted.
func (r *Registry) AdmitCertified(n *Session) error {
	evicted, err := r.add(n, r.env.config())
	if err != nil {
		r.env.Stats.Rejected.Add(1)
		return err
	}
	r.env.Stats.Connections.Add(1)
	for _, e := range evicted {
		r.evict(e)
	}
	return nil
}

// Unregister forgets a connection that is closed.
func (r *Registry) Unregister(n *Session) {
	n.onDisconnect()
	n.inbox.Close()
	r.remove(n)
	n.dropBuffers()
	r.env.Buffers.Bytes.Add(-n.buffered.Swap(0))
}

// isProtected reports whether a connection would be let in without a password although it comes from elsewhere.
func (r *Registry) isProtected(n *Session) bool {
	return n.user != nil && !isLocal(n.addr)
}

// isLocal reports whether a client's address is on this machine; a unix socket's is none that could be parsed.
func isLocal(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err != nil || at.Addr().Unmap().IsLoopback()
}

// add registers a session and gives it its id, unless there are too many already; others may have to go for it.
func (r *Registry) add(s *Session, cfg *config.Config) (evicted []*Session, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	instead, err := r.makeRoom(s, cfg)
	if err != nil {
		return nil, err
	}
	r.last++
	s.id = r.last
	r.byID[s.id] = s
	for _, n := range []*Session{instead, r.countOpened(s, cfg)} {
		if n != nil {
			evicted = append(evicted, n)
		}
	}
	return evicted, nil
}

func (r *Registry) remove(s *Session) {
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
func (r *Registry) All() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.AppendSeq(make([]*Session, 0, len(r.byID)), maps.Values(r.byID))
}

// ClientList implements [command.Server].
func (r *Registry) ClientList(match func(command.ClientInfo) bool) (connections int, render func() string) {
	all := slices.DeleteFunc(r.All(), func(c *Session) bool { return !match(c.info()) })
	return len(all), func() string {
		slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
		var out strings.Builder
		for _, c := range all {
			out.WriteString(c.line())
			out.WriteByte('\n')
		}
		return out.String()
	}
}

// ClientLine implements [command.Server].
func (r *Registry) ClientLine(id int64) string {
	if c := r.find(id); c != nil {
		return c.line()
	}
	return ""
}

// find returns the session with an id, nil if there is none.
func (r *Registry) find(id int64) *Session {
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

// CloseUser closes the connections of a user who is no more.
func (r *Registry) CloseUser(u *acl.User) {
	r.Kill(func(c command.ClientInfo) bool { return c.User == u.Name() })
}
