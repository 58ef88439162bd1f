package gateway

import (
	"context"
	"errors"
	"strings"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/stats"
)

// ErrWrongLogin is the error of a login with a wrong name or password.
var ErrWrongLogin = errors.New("the password is wrong, the user does not exist, or it is off")

// TryLogin checks a password or token that came from an address HOST:PORT. It waits for its turn like AUTH. The error
// wraps ErrWrongLogin, or is the error of a login that was rejected unchecked.
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

// Login returns the user with a name, "" for default, and a password. A connection that has shown the same ones before
// is not held up by failed logins from its address. The error is the one of [Gateway.TryLogin].
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
		if err := c.of.gateway.TryLogin(ctx, c.session.Public().Addr(), check); err != nil {
			return nil, err
		}
		c.login.Store(&now)
	}
	c.session.Public().Identify(user)
	return user, nil
}

// ErrAuthorization is the error of an authorization that names no password.
var ErrAuthorization = errors.New("authorization must be: Bearer PASSWORD, or Bearer USER:PASSWORD")

// Authorize finds the user of a request by its fields authorization: by Bearer with USER:PASSWORD, or with a password
// of the default user, which has a colon in front if there is one in it; without a field the default user, if that
// needs no password. The error is ErrAuthorization, or that of [Conn.Login] or [Conn.DefaultUser].
func (c *Conn) Authorize(ctx context.Context, fields []string) (*acl.User, error) {
	if len(fields) == 0 {
		return c.DefaultUser()
	}
	scheme, token, _ := strings.Cut(fields[0], " ")
	if len(fields) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, ErrAuthorization
	}
	name, password, hasName := strings.Cut(token, ":")
	if !hasName {
		name, password = "", token
	}
	return c.Login(ctx, name, password)
}

// DefaultUser returns the user of requests without a password, or [command.ErrNoAuth] if there is none.
func (c *Conn) DefaultUser() (*acl.User, error) {
	d := c.of.gateway.env.Users.Default()
	if !d.NeedsNoPassword() {
		return nil, command.ErrNoAuth
	}
	return d, nil
}
