package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/homepolicies"
	"github.com/stintdb/stint/cmd/stint/settings"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/keypair"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/upstream"
)

// connectUpstream puts the client of the home cluster before the decider, if there is a home.
func (s *state) connectUpstream(cfg *config.Config, keys *store.Store, log *slog.Logger) (stop func(), err error) {
	if !cfg.HasUpstream() {
		return func() {}, nil
	}
	o := upstream.Options{
		Addresses: cfg.Upstream, Keys: cfg.UpstreamKeys, User: cfg.UpstreamUser, Timeout: cfg.UpstreamTimeout,
		DenyFor: cfg.UpstreamDenyFor, LoanTime: cfg.UpstreamLoanTime,
		Decider: s.decider, Policies: keys, Replicas: s.replicas, Alone: s.cluster == nil, Log: log,
		Reserved: func(now int64, visit func(id []byte)) { store.ReservedFromPurses(keys, now, visit) },
	}
	o.Down.Share, o.Down.Decides = cfg.UpstreamDownShare()
	o.Down.Allows = cfg.UpstreamDown == config.DownAllow
	if o.Password, err = readPassword(cfg.UpstreamPasswordFile); err != nil {
		return nil, err
	}
	secrets, err := upstreamTLS(cfg, log)
	if err != nil {
		return nil, err
	}
	o.Dial = upstream.Dialer(secrets)
	if s.cluster != nil {
		o.Holder = s.clusterID
	} else {
		id, err := upstream.HolderID(cfg.Dir)
		if err != nil {
			return nil, err
		}
		o.Holder = func() string { return id }
	}
	u := upstream.New(o)
	s.decider, s.upstream = u, u
	if len(cfg.UpstreamPolicies) > 0 {
		s.homePolicies = &homepolicies.Follower{Patterns: cfg.UpstreamPolicies, Home: o, Leads: s.leads, Log: log}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
		defer cancel()
		u.Close(ctx)
	}, nil
}

// leads reports whether this process stands alone, or leads its cluster: one node is enough to follow home.
func (s *state) leads() bool { return s.cluster == nil || s.cluster.Leads() }

// followHome keeps the policies of home in a server until stop is called, if the settings say so.
func (s *state) followHome(server *server.Server) (stop func()) {
	if s.homePolicies == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { s.homePolicies.Follow(ctx, server) })
	return func() {
		cancel()
		following.Wait()
	}
}

// readPassword is the first line of a file, "" without one.
func readPassword(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", cli.Errorf("--upstream-password-file: %v", err)
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(string(text), settings.ByteOrderMark), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", cli.Errorf("--upstream-password-file: the first line of %s is empty", path)
	}
	return line, nil
}

// upstreamTLS makes the configuration of TLS for a connection to home, with the CA certificates as they are now. It
// returns nil without TLS.
func upstreamTLS(cfg *config.Config, log *slog.Logger) (func() *tls.Config, error) {
	if !cfg.UpstreamTLS {
		return nil, nil
	}
	if cfg.UpstreamTLSCA == "" {
		return func() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12} }, nil
	}
	authorities, err := keypair.LoadAuthorities("upstream-tls-ca", cfg.UpstreamTLSCA, log)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return func() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities.Pool()} }, nil
}
