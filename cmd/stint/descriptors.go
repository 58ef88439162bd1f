package main

import (
	"log/slog"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/server/config"
)

// descriptors divides the file descriptors of this process, so that no part of it can use up the descriptors of
// another.
type descriptors struct {
	clients         int // connections of clients
	accepting       int // connections of clients not yet assigned to an event loop, which take two each
	admin           int // connections to --admin without the token; a quarter more with it
	unauthenticated int // connections of other nodes before their handshake, each from members' addresses and from others
}

const (
	// ownDescriptors is for the log, snapshots, the journal, listeners and short-lived files.
	ownDescriptors  = 48
	perLoop         = 2  // its poller and its wake-up
	perPeer         = 6  // connections to and from another node: Raft's, for calls, for questions
	leavingClients  = 16 // beyond --max-clients, closing in favour of others
	leastClients    = 16
	leastOpenFiles  = 256
	mostAccepting   = 256
	mostAdmin       = 256
	mostFromCluster = 64
)

// divide divides the limit of open files.
func divide(limit int, cfg *config.Config) (d descriptors) {
	d.accepting = min(max(4, limit/64), mostAccepting)
	d.admin = min(max(8, limit/16), mostAdmin)
	taken := ownDescriptors + perLoop*cfg.LoopCount() + 2*d.accepting + leavingClients + d.admin*5/4
	if cfg.IsCluster() {
		d.unauthenticated = min(max(8, limit/32), mostFromCluster)
		taken += 2*d.unauthenticated + perPeer*max(len(cfg.ClusterPeers), 2*cfg.BootstrapExpect)
	}
	d.clients = limit - taken
	return d
}

// fitDescriptors lowers --max-clients if the limit of open files requires it. Go has already raised the soft limit to
// the hard one.
func fitDescriptors(cfg *config.Config, log *slog.Logger) (descriptors, error) {
	limit := openFilesLimit()
	d := divide(limit, cfg)
	if d.clients < leastClients {
		return d, cli.Errorf("the limit of open files is %d, which leaves too few for clients: raise it to %d or more (ulimit -n, or LimitNOFILE of the service)", limit, leastOpenFiles)
	}
	if cfg.MaxClients > d.clients {
		log.Warn("--max-clients was lowered to fit the limit of open files, some of which are reserved for the log, snapshots, --admin and other nodes; to serve more clients, raise the limit of open files",
			"max_clients", d.clients, "wanted", cfg.MaxClients, "open_files", limit)
		cfg.MaxClients = d.clients
	}
	return d, nil
}
