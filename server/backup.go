package server

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
)

// Backup writes the state of a server, or of the cluster it is a node of, as package persistence reads backups. It
// returns the number of keys written. It fails when ctx ends or a write fails. A node of a cluster first waits until
// its state is current, unless stale is set.
type Backup func(ctx context.Context, to io.Writer, stale bool) (keys int64, err error)

var errNoBackup = errors.New("this server has no state to back up")

// Backup writes the server's state, see [Backup]. One call at a time.
func (s *Server) Backup(ctx context.Context, to io.Writer, stale bool) (keys int64, err error) {
	if s.backup == nil {
		return 0, errNoBackup
	}
	return s.backup(ctx, to, stale)
}

// ErrMayNotBackUp is the error of a user without the rights that a backup needs.
var ErrMayNotBackUp = errors.New("a backup contains every key: use a user with +save and ~*")

// AuthorizeBackup checks that a client at an address HOST:PORT may make a backup: authorization is Bearer with
// USER:PASSWORD, or "" for the default user, if that needs no password. The error is ErrMayNotBackUp, [ErrNoAuth],
// ErrWrongLogin, or that of a login that was rejected unchecked.
func (s *Server) AuthorizeBackup(ctx context.Context, address, authorization string) error {
	user := s.env.Users.Default()
	scheme, token, _ := strings.Cut(authorization, " ")
	name, password, _ := strings.Cut(token, ":")
	switch {
	case authorization != "":
		err := s.TryLogin(ctx, address, func() (right bool) {
			user, right = s.env.Users.Authenticate(name, []byte(password))
			return right && strings.EqualFold(scheme, "Bearer")
		})
		if err != nil {
			return err
		}
	case !user.NeedsNoPassword():
		return ErrNoAuth
	}
	save, err := command.Find([][]byte{[]byte("save")})
	if err != nil || !user.May(save) || !user.ReachesAll() {
		return ErrMayNotBackUp
	}
	return nil
}

// ErrNoAuth is the error of a client without a password where one is needed.
var ErrNoAuth = command.ErrNoAuth
