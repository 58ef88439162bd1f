package server

import (
	"bytes"
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/resp"
)

// What the session's user may do. Users who may do everything pass by all of this.

// beDefault makes the session the default user's, if that needs no password, or else nobody's.
func (s *session) beDefault() {
	s.user, s.client.User = nil, ""
	if d := s.host.users.Default(); d.NeedsNoPassword() {
		s.user, s.client.User = d, d.Name()
	}
	if was := s.loggedIn.Swap(s.user != nil); s.id != 0 && was != (s.user != nil) {
		s.host.clients.changeStrangers(was)
	}
}

// closeOf closes the connections of a user who is no more.
func (s *Server) closeOf(u *acl.User) {
	for _, c := range s.clients.all() {
		if c.seen.Load().User == u.Name() {
			c.kill()
		}
	}
}

// permit returns why a command is refused: err, if finding it failed, unless not even that is to be told.
func (s *session) permit(row *command.Row, err error) error {
	switch {
	case s.user == nil && (row == nil || row.Flags&command.NoAuth == 0):
		s.host.refuse(commandDenied)
		return command.ErrNoAuth
	case err != nil || s.user == nil:
		return err
	}
	if err := s.permitCommand(row); err != nil {
		return err
	}
	return s.host.takeRequest(s.user)
}

func (s *session) permitCommand(row *command.Row) error {
	if s.user.May(row) {
		return nil
	}
	s.host.refuse(commandDenied)
	s.noteDenial("command", row.FullName)
	return fmt.Errorf("NOPERM User %s has no permissions to run the '%s' command", s.user.Name(), row.FullName)
}

// permitKeys returns why operations are refused for the keys they are about.
func (s *session) permitKeys(ops []engine.Op) error {
	for i := range ops {
		if key, ok := s.reachesAllOf(&ops[i]); !ok {
			s.host.refuse(keyDenied)
			s.noteDenial("key", string(key))
			return command.ErrNoKeyAccess
		}
	}
	return nil
}

// reachesAllOf reports whether the user may do an operation to every key it is about, or else a key it may not. What
// concerns everybody, emptying the store and changing policies, needs the right to all keys.
func (s *session) reachesAllOf(op *engine.Op) (key []byte, ok bool) {
	switch op.Verb {
	case engine.Flush, engine.SetPolicy, engine.DropPolicy, engine.SetOverride:
		return []byte("*"), s.user.ReachesAll()
	case engine.AcquireAll:
		return s.reachesParts(op.Parts, nil, op.Writes())
	case engine.Check:
		policy, _ := s.host.keys.Policy(string(op.Key))
		return s.reachesParts(policy.For(string(op.Who)), op.Who, op.Writes())
	}
	return op.Key, s.user.Reaches(op.Key, op.Writes())
}

// reachesParts looks at the keys of several limits, with the caller's id filled in where a policy has room for it.
func (s *session) reachesParts(parts []engine.Op, id []byte, write bool) (key []byte, ok bool) {
	for i := range parts {
		if key = parts[i].Key; id != nil {
			key = bytes.Replace(key, []byte(engine.Placeholder), id, 1)
		}
		if !s.user.Reaches(key, write) {
			return key, false
		}
	}
	return nil, true
}

// permitQueued looks at the keys of a command that EXEC will carry out.
func (s *session) permitQueued(row *command.Row, args [][]byte) error {
	if row.Parse == nil {
		return nil
	}
	var r command.Request
	r.SetBounds(bounds(s.host.Config()))
	r.Args = args
	if row.Parse(&r) != nil {
		return nil // EXEC will answer with what is wrong
	}
	return s.permitKeys(r.Ops)
}

// Reaches implements [command.Session].
func (s *session) Reaches(key []byte) bool { return s.user.IsUnlimited() || s.user.Reaches(key, false) }

func (s *session) noteDenial(reason, object string) {
	context := "toplevel"
	if s.multi.open {
		context = "multi"
	}
	name := ""
	if s.user != nil {
		name = s.user.Name()
	}
	s.host.noteDenial(command.Denial{Reason: reason, Context: context, Object: clipped(object), User: name, Client: s.line()})
}

func (s *Server) noteDenial(d command.Denial) {
	d.Last = s.clock.Now()
	s.users.Log.Add(d)
}

// clipped bounds what a client can have the log of denials keep.
func clipped(text string) string { return text[:min(len(text), 128)] }

// inputLimits bounds a command, more tightly before the connection has logged in.
func (s *session) inputLimits(cfg *config.Config) resp.Limits {
	if s.user == nil {
		return resp.Limits{MaxArgs: cfg.PreauthArgs, MaxBulk: cfg.PreauthBytes, MaxInline: cfg.PreauthBytes}
	}
	return resp.Limits{MaxArgs: cfg.MaxArgs, MaxBulk: cfg.MaxBulkBytes, MaxInline: cfg.MaxBulkBytes}
}

func (s *session) queryBuffer(cfg *config.Config) int {
	if s.user == nil {
		return cfg.PreauthBytes
	}
	return cfg.QueryBufferBytes
}

// outputBuffer bounds the replies a client may leave unread.
func (s *session) outputBuffer(cfg *config.Config) int {
	if !s.loggedIn.Load() {
		return cfg.PreauthBytes
	}
	return cfg.OutputBufferBytes
}
