package server

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
)

// clients is the register of open connections.
type clients struct {
	mu   sync.Mutex
	byID map[int64]*session
	last int64

	perNetwork map[string]int // connections of each address
	strangers  []*session     // that had not logged in when they came, in order; some are gone, or have since
	unknown    int            // connections that have not logged in
}

// add registers a session and gives it its id, unless there are too many already; another may have to go for it.
func (c *clients) add(s *session, cfg *config.Config) (instead *session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byID) >= cfg.MaxClients {
		return nil, command.ErrMaxClients
	}
	if s.network != localNetwork && c.perNetwork[s.network] >= cfg.AddressClients {
		return nil, command.ErrMaxPerAddress
	}
	c.last++
	s.id = c.last
	c.byID[s.id] = s
	return c.countIn(s, cfg.MaxStrangers), nil
}

func (c *clients) remove(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[s.id] == s {
		delete(c.byID, s.id)
		c.countOut(s)
	}
}

func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byID)
}

// all lists the open sessions, in no order. What is done with them is done without holding the lock.
func (c *clients) all() []*session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.AppendSeq(make([]*session, 0, len(c.byID)), maps.Values(c.byID))
}

func (s *Server) newSession(addr, laddr string, wake func()) *session {
	n := &session{host: s, addr: addr, laddr: laddr, network: networkOf(addr), opened: s.clock.Now(), wake: wake}
	n.onDecided = n.decided
	n.beDefault()
	n.seen.Store(&command.Client{User: n.client.User})
	n.lastActive.Store(n.opened)
	return n
}

func (s *session) info() command.ClientInfo {
	return command.ClientInfo{ID: s.id, Addr: s.addr, LocalAddr: s.laddr, AgeSec: (s.host.clock.Now() - s.opened) / 1e9, User: s.seen.Load().User}
}

// ClientList implements [command.Server].
func (s *Server) ClientList(match func(command.ClientInfo) bool) string {
	all := s.clients.all()
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	var out strings.Builder
	for _, c := range all {
		if match(c.info()) {
			out.WriteString(c.line())
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// ClientLine implements [command.Server].
func (s *Server) ClientLine(id int64) string {
	s.clients.mu.Lock()
	c := s.clients.byID[id]
	s.clients.mu.Unlock()
	if c == nil {
		return ""
	}
	return c.line()
}

// Kill implements [command.Server].
func (s *Server) Kill(match func(command.ClientInfo) bool) int {
	n := 0
	for _, c := range s.clients.all() {
		if match(c.info()) {
			c.kill()
			n++
		}
	}
	return n
}

// kill has the connection closed by its owner; safe from any goroutine.
func (s *session) kill() {
	s.killed.Store(true)
	s.wake()
}
