package conn

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/access"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/stats"
)

// resetToDefaultUser makes the session the default user's, if that needs no password, or else nobody's.
func (s *Session) resetToDefaultUser() {
	s.user, s.client.User = nil, ""
	if d := s.env.Users.Default(); d.NeedsNoPassword() {
		s.user, s.client.User = d, d.Name()
	}
	s.public.SetLoggedIn(s.user != nil)
}

// permit returns the error of a command that is not permitted, or err if it is unknown. Unauthenticated clients do not
// learn which commands exist.
func (s *Session) permit(row *command.Row, err error) error {
	switch {
	case s.user == nil && (row == nil || row.Flags&command.NoAuth == 0):
		s.env.Stats.Reject(stats.CommandDenied)
		return command.ErrNoAuth
	case err != nil || s.user == nil:
		return err
	}
	if err := s.access().CheckCommand(row); err != nil {
		return err
	}
	return s.env.takeRequest(s.user)
}

// access checks what the session's user, who has logged in, may do.
func (s *Session) access() access.User {
	return access.User{User: s.user, Policies: s.env.Keys, Log: s}
}

// Denied implements [access.Log].
func (s *Session) Denied(why stats.Rejection, reason, object string) {
	s.env.Stats.Reject(why)
	context := "toplevel"
	if s.multi.open {
		context = "multi"
	}
	name := ""
	if s.user != nil {
		name = s.user.Name()
	}
	s.env.logDenial(command.Denial{Reason: reason, Context: context, Object: access.Truncate(object), User: name,
		Client: s.public.Line()})
}

// Reaches implements [command.Session].
func (s commandSession) Reaches(key []byte) bool {
	return s.user.IsUnlimited() || s.user.Reaches(key, false)
}

// ReachesAll implements [command.Session].
func (s commandSession) ReachesAll() bool { return s.user.IsUnlimited() || s.user.ReachesAll() }

// maxSkippedBytes is how much of a command beyond a bound is read so that the connection can be kept: what Redis takes
// as one argument.
const maxSkippedBytes = 512 << 20

// inputLimits bounds a command, more tightly before the connection has logged in.
func (s *Session) inputLimits(cfg *config.Config) resp.Limits {
	if s.user == nil {
		return resp.Limits{MaxArgs: cfg.PreauthArgs, MaxBulk: cfg.PreauthBytes, MaxInline: cfg.PreauthBytes,
			MaxUnfinished: cfg.PreauthBytes, BeforeLogin: true}
	}
	return resp.Limits{MaxArgs: cfg.MaxArgs, MaxBulk: cfg.MaxBulkBytes, MaxInline: cfg.MaxBulkBytes,
		MaxUnfinished: cfg.QueryBufferBytes, MaxSkip: maxSkippedBytes}
}

func (s *Session) queryBuffer(cfg *config.Config) int {
	if s.user == nil {
		return cfg.PreauthBytes
	}
	return cfg.QueryBufferBytes
}

// outputBuffer bounds the replies a client may leave unread.
func (s *Session) outputBuffer(cfg *config.Config) int {
	if !s.public.IsLoggedIn() {
		return cfg.PreauthBytes
	}
	return cfg.OutputBufferBytes
}
