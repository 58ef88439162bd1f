package registry

import (
	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/stats"
)

// Unauthenticated is the number of connections that have not logged in.
func (r *Registry) Unauthenticated() int { return r.unauthenticated.Len() }

// MaxLeaving bounds the connections beyond --max-clients that were closed for others and have not left yet.
const MaxLeaving = 16

// makeRoom reports an error if there is no room for one more connection, of its address or of all. Where all are taken,
// one that has not logged in is closed for it. The caller holds mu.
func (r *Registry) makeRoom(n *Connection, cfg *config.Config) (evicted *Connection, err error) {
	if n.network != unauthenticated.Local && r.perNetwork[n.network] >= cfg.AddressClients {
		return nil, command.ErrMaxPerAddress
	}
	if len(r.byID) < cfg.MaxClients {
		return nil, nil
	}
	if len(r.byID) < cfg.MaxClients+MaxLeaving {
		evicted, _ = r.unauthenticated.Evict()
	}
	if evicted == nil {
		return nil, command.ErrMaxClients
	}
	return evicted, nil
}

// countOpened counts a new connection, and returns a connection that has not logged in and has to be closed for it, if
// any.
func (r *Registry) countOpened(n *Connection, cfg *config.Config) (evicted *Connection) {
	r.perNetwork[n.network]++
	if n.loggedIn.Load() {
		return nil
	}
	evicted, _ = r.unauthenticated.Add(n, n.network, min(cfg.MaxStrangers, cfg.MaxClients))
	return evicted
}

// countClosed counts a connection that is closed.
func (r *Registry) countClosed(n *Connection) {
	if r.perNetwork[n.network]--; r.perNetwork[n.network] <= 0 {
		delete(r.perNetwork, n.network)
	}
	r.unauthenticated.Remove(n)
}

// countLogin counts a registered connection that has logged in or, with out, has no user any more.
func (r *Registry) countLogin(n *Connection, out bool) {
	if !out {
		r.unauthenticated.Remove(n)
		return
	}
	cfg := r.Settings.Load()
	if evicted, is := r.unauthenticated.Add(n, n.network, min(cfg.MaxStrangers, cfg.MaxClients)); is {
		r.evict(evicted)
	}
}

// evict closes a connection that has not logged in, to make room for another.
func (r *Registry) evict(n *Connection) {
	r.Counts.Reject(stats.UnauthenticatedDropped)
	n.Kill()
}
