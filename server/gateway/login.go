package gateway

import (
	"context"
	"errors"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/stats"
)

// ErrWrongLogin is the error of a login with a wrong name or password.
var ErrWrongLogin = errors.New("wrong login")

// TryLogin checks a password or token that came from an address HOST:PORT. It waits for its turn like AUTH. The error wraps
// ErrWrongLogin, or is that of a login that was rejected unchecked.
func (g *Gateway) TryLogin(ctx context.Context, address string, isRight func() bool) error {
	decided := make(chan *loginlimit.Outcome, 1)
	a := &loginlimit.Attempt{Address: address, Decided: func(t *loginlimit.Outcome) { decided <- t }}
	t := g.env.Logins.Begin(a, g.Config().FailedLogins)
	if t == nil {
		select {
		case t = <-decided:
		case <-ctx.Done():
			g.env.Logins.Cancel(a)
			return ctx.Err()
		}
	}
	if sec, rejected := t.Rejected(); rejected {
		g.env.Stats.Reject(stats.LoginRejected)
		return command.ErrTooManyLogins.With(sec)
	}
	if !isRight() {
		g.env.Stats.Reject(stats.WrongPassword)
		return ErrWrongLogin
	}
	g.env.Logins.Refund(t)
	return nil
}

// login is a name and a password that were right on a connection.
type login struct{ name, password string }

// Login returns the user with a name, "" for default, and a password. A connection that has shown the same ones before is
// not held up by failed logins from its address. The error is that of [Gateway.TryLogin].
func (c *Conn) Login(ctx context.Context, name, password string) (user *acl.User, err error) {
	users := c.of.gateway.env.Users
	if name == "" {
		name = users.Default().Name()
	}
	right := false
	check := func() bool {
		user, right = users.Authenticate(name, []byte(password))
		return right
	}
	now := login{name, password}
	if before := c.login.Load(); before == nil || *before != now || !check() {
		if err := c.of.gateway.TryLogin(ctx, c.session.Addr(), check); err != nil {
			return nil, err
		}
		c.login.Store(&now)
	}
	c.session.Identify(user)
	return user, nil
}

// DefaultUser returns the user of requests without a password, or [command.ErrNoAuth] if there is none.
func (c *Conn) DefaultUser() (*acl.User, error) {
	d := c.of.gateway.env.Users.Default()
	if !d.NeedsNoPassword() {
		return nil, command.ErrNoAuth
	}
	return d, nil
}
