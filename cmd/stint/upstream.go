package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"strings"

	"github.com/stintdb/stint/engine/store"
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
		Decider: s.decider, Policies: keys, Replicas: s.replicas, Alone: s.cluster == nil, Log: log,
	}
	if o.Password, err = readPassword(cfg.UpstreamPasswordFile); err != nil {
		return nil, err
	}
	secrets, err := upstreamTLS(cfg)
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
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
		defer cancel()
		u.Close(ctx)
	}, nil
}

// readPassword is the first line of a file, "" without one.
func readPassword(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", usagef("upstream-password-file: %v", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", usagef("upstream-password-file: the first line of %s is empty", path)
	}
	return line, nil
}

// upstreamTLS is the configuration of TLS to home, nil for none.
func upstreamTLS(cfg *config.Config) (*tls.Config, error) {
	if !cfg.UpstreamTLS {
		return nil, nil
	}
	secrets := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.UpstreamTLSCA != "" {
		text, err := os.ReadFile(cfg.UpstreamTLSCA)
		if err != nil {
			return nil, usagef("upstream-tls-ca: %v", err)
		}
		if secrets.RootCAs = x509.NewCertPool(); !secrets.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("upstream-tls-ca: %s holds no certificate in PEM", cfg.UpstreamTLSCA)
		}
	}
	return secrets, nil
}
