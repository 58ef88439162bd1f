package conn

import (
	"bytes"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/access"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/stats"
)

// Login implements [command.Session]. Every attempt takes a token of its address, and a right one gives it back: so
// right passwords are never slowed down unless wrong ones came from the same address before.
func (s commandSession) Login(name, password []byte, answer func(*resp.Writer, error), w *resp.Writer) {
	attempt := &loginlimit.Attempt{Address: s.public.Addr(), Failed: s.failedLogins}
	a := &pendingReply{quiet: s.silent, attempt: attempt}
	s.public.Wait.Begin(wait.ForLogin)
	name, password = bytes.Clone(name), bytes.Clone(password)
	attempt.Decided = func(t *loginlimit.Outcome) {
		a.finish = func(w *resp.Writer) { answer(w, s.login(name, password, t)) }
		s.public.Wait.Happen(wait.ForLogin)
		s.public.Wake()
	}
	if t := s.env.Logins.Begin(attempt, s.env.config().FailedLogins); t != nil {
		s.public.Wait.End(wait.ForLogin)
		answer(w, s.login(name, password, t))
		return
	}
	s.pending = a
}

// login looks at the password, if its turn has come.
func (s *Session) login(name, password []byte, t *loginlimit.Outcome) error {
	if sec, rejected := t.Rejected(); rejected {
		s.env.Stats.Reject(stats.LoginRejected)
		return command.ErrTooManyLogins.With(sec)
	}
	user, right := s.env.Users.Authenticate(string(name), password)
	if !right {
		s.failedLogins++
		s.env.Stats.Reject(stats.WrongPassword)
		s.env.logDenial(command.Denial{Reason: "auth", Context: "toplevel", Object: "AUTH",
			User: access.Truncate(string(name)), Client: s.public.Line()})
		return command.ErrWrongPass
	}
	s.env.Logins.Refund(t)
	s.user, s.client.User = user, user.Name()
	s.public.SetLoggedIn(true)
	s.reader.Limits = s.inputLimits(s.env.config())
	return nil
}

// User implements [command.Session].
func (s commandSession) User() string { return s.client.User }
