package server

import (
	"context"
	"errors"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/stats"
)

// Users implements [command.Server].
func (s *Server) Users() command.Users { return s.env.Users }

// ErrWrongLogin is the error of a login with a wrong name or password.
var ErrWrongLogin = errors.New("wrong login")

// TryLogin checks a password or token that came by another protocol than RESP, from an address HOST:PORT. It waits for its
// turn like AUTH. The error wraps ErrWrongLogin, or is that of a login that was rejected unchecked.
func (s *Server) TryLogin(ctx context.Context, address string, isRight func() bool) error {
	decided := make(chan *loginlimit.Outcome, 1)
	a := &loginlimit.Attempt{Address: address, Decided: func(t *loginlimit.Outcome) { decided <- t }}
	t := s.env.Logins.Begin(a, s.Config().FailedLogins)
	if t == nil {
		select {
		case t = <-decided:
		case <-ctx.Done():
			s.env.Logins.Cancel(a)
			return ctx.Err()
		}
	}
	if sec, rejected := t.Rejected(); rejected {
		s.env.Stats.Reject(stats.LoginRejected)
		return command.ErrTooManyLogins.With(sec)
	}
	if !isRight() {
		s.env.Stats.Reject(stats.WrongPassword)
		return ErrWrongLogin
	}
	s.env.Logins.Refund(t)
	return nil
}
