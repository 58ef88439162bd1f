// Package gateway executes commands for clients that speak another protocol than RESP, such as HTTP. A [Service] is the
// server of such a protocol. It listens through [Gateway.Listen], so that its connections are bounded, listed and
// closed as those of RESP; finds the user of a request through [Conn.Login]; and has the request's words executed as a
// command of that user through [Gateway.Do]. Permissions, quotas, statistics, SLOWLOG, RL.TOP and clusters then work as
// for a client of RESP.
package gateway

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync/atomic"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/metrics"
)

// Service is a server of another protocol.
type Service interface {
	// Start opens the addresses that the settings name and serves them. It returns those in use.
	Start(g *Gateway) (addresses []string, err error)
	// Stop accepts no more, closes idle connections, and returns when the requests under way are answered, or when ctx
	// is done and they are cut off.
	Stop(ctx context.Context)
}

// Measured is a service with metrics.
type Measured interface {
	// Measure adds them to a snapshot.
	Measure(r *metrics.Snapshot)
}

// Readier is a service that may be unable to answer.
type Readier interface {
	// Ready is nil if it answers requests, or else the reason why not. It is called after Start.
	Ready() error
}

// Server is what a gateway asks of the server as a whole.
type Server interface {
	// Ready is nil if the server answers requests, or else the reason why not.
	Ready() error
	// TLS returns the settings of TLS in use, which SIGHUP replaces; nil without certificates.
	TLS() *tls.Config
}

// Gateway is the way from other protocols to the commands.
type Gateway struct {
	env    *conn.Env
	server Server
	warned atomic.Int64 // when WarnOfFailure logged last, since 1970
}

// New returns the gateway of a server whose sessions share env.
func New(env *conn.Env, server Server) *Gateway { return &Gateway{env: env, server: server} }

// Config returns the settings in force.
func (g *Gateway) Config() *config.Config { return g.env.Settings.Load() }

// Log is the server's log.
func (g *Gateway) Log() *slog.Logger { return g.env.Log }

// PolicyLimits are the limits that a policy holds a caller to, as this node knows them.
func (g *Gateway) PolicyLimits(policy string, id []byte) (all []limits.Limit) {
	p, _ := g.env.Keys.PolicyOf(policy, id)
	for i := range p.Parts {
		all = append(all, p.Parts[i].Limit)
	}
	return all
}

// InTurn does long work of a caller, such as reading a request or writing a response. The callers of all protocols
// share the processors with the event loops by turns: see [conn.Env.BeginTurn]. The work must wait for nothing.
func (g *Gateway) InTurn(caller Caller, work func()) {
	g.env.BeginTurn(caller.User, caller.Address)
	defer g.env.EndTurn()
	work()
}

// Ready is nil if the server answers requests, or else the reason why not.
func (g *Gateway) Ready() error { return g.server.Ready() }
