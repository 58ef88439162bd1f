package server

import (
	"context"
	"crypto/tls"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/gateway"
)

// Users implements [command.Server].
func (s *Server) Users() command.Users { return s.env.Users }

// ErrWrongLogin is the error of a login with a wrong name or password.
var ErrWrongLogin = gateway.ErrWrongLogin

// TryLogin is [gateway.Gateway.TryLogin].
func (s *Server) TryLogin(ctx context.Context, address string, isRight func() bool) error {
	return s.gateway.TryLogin(ctx, address, isRight)
}

// TLS implements [gateway.Server].
func (s *Server) TLS() *tls.Config { return s.tls.Config() }
