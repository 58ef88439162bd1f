package conn

import (
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/stats"
)

// Permissions of the session's user. Users with all permissions skip these checks.

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
	if err := s.permitCommand(row); err != nil {
		return err
	}
	return s.env.takeRequest(s.user)
}

func (s *Session) permitCommand(row *command.Row) error {
	if s.user.May(row) {
		return nil
	}
	s.env.Stats.Reject(stats.CommandDenied)
	s.logDenial("command", row.FullName)
	return command.ErrNoCommandAccess.With(s.user.Name(), row.FullName)
}

// permitChannels returns why a command is refused for the channels it is about.
func (s *Session) permitChannels(row *command.Row, args [][]byte) error {
	if row.Flags&command.PubSub == 0 {
		return nil
	}
	for _, channel := range row.ChannelsOf(args) {
		if !s.user.ReachesChannel(channel) {
			s.env.Stats.Reject(stats.KeyDenied)
			s.logDenial("channel", string(channel))
			return command.ErrNoChannelAccess
		}
	}
	return nil
}

// permitKeys returns why operations are refused for the keys they are about.
func (s *Session) permitKeys(ops []engine.Op) error {
	for i := range ops {
		if key, ok := (reach{s.env.Keys, s.user}).allOf(&ops[i]); !ok {
			s.denyKey(key)
			if ops[i].Verb == engine.Check {
				return command.ErrNoPolicyAccess
			}
			return command.ErrNoKeyAccess
		}
	}
	return nil
}

func (s *Session) denyKey(key []byte) {
	s.env.Stats.Reject(stats.KeyDenied)
	s.logDenial("key", string(key))
}

// reach looks at the keys that a user may use.
type reach struct {
	keys localstore.Policies
	user *acl.User
}

// allOf reports whether the user may do an operation to every key it is about, or else a key it may not. What
// concerns everybody, emptying the store and changing policies, needs the right to all keys. The keys of a settled
// reservation's limits are checked where it is decided: see [limitOps].
func (r reach) allOf(op *engine.Op) (key []byte, ok bool) {
	switch op.Verb {
	case engine.Flush, engine.SetPolicy, engine.DropPolicy, engine.SetOverride:
		return []byte("*"), r.user.ReachesAll()
	case engine.AcquireAll:
		return r.parts(op)
	case engine.Command, engine.Script:
		for i, key := range op.DeclaredKeys() {
			if !r.has(key, command.AccessOf(op, i)) {
				return key, false
			}
		}
		return nil, true
	case engine.Check:
		return r.policy(op)
	case engine.Reserve:
		if !r.user.Reaches(op.Key, true) {
			return op.Key, false
		}
		return r.allOf(op.Request())
	}
	return r.one(op, command.AccessOf(op, 0))
}

// has reports whether the user may use a key in a way.
func (r reach) has(key []byte, access command.Access) bool {
	return (access&command.Reads == 0 || r.user.Reaches(key, false)) &&
		(access&command.Changes == 0 || r.user.Reaches(key, true))
}

// one looks at the key of a limit, and at the key of its member.
func (r reach) one(op *engine.Op, access command.Access) (key []byte, ok bool) {
	key, ok = op.Key, r.has(op.Key, access)
	if member := op.MemberKey(); ok && member != nil {
		key, ok = member, r.has(member, access)
	}
	return key, ok
}

// policy looks at the keys that a policy comes to for a caller. A policy that does not exist counts as out of reach, so
// that nobody can find out the names of other users' policies.
func (r reach) policy(check *engine.Op) (key []byte, ok bool) {
	ok = true
	found := r.keys.PolicyKeys(check.Key, check.Who, check.Args, func(k []byte) bool {
		key, ok = k, r.user.Reaches(k, check.Writes())
		return ok
	})
	if !found && !r.user.ReachesAll() {
		return check.Key, false
	}
	return key, ok
}

// parts looks at the keys of several limits.
func (r reach) parts(all *engine.Op) (key []byte, ok bool) {
	for i := range all.Parts {
		part := &all.Parts[i]
		if key, ok = r.one(part, command.AccessOf(part, 0)); !ok {
			return key, false
		}
	}
	return nil, true
}

// Reaches implements [command.Session].
func (s commandSession) Reaches(key []byte) bool {
	return s.user.IsUnlimited() || s.user.Reaches(key, false)
}

// ReachesAll implements [command.Session].
func (s commandSession) ReachesAll() bool { return s.user.IsUnlimited() || s.user.ReachesAll() }

func (s *Session) logDenial(reason, object string) {
	context := "toplevel"
	if s.multi.open {
		context = "multi"
	}
	name := ""
	if s.user != nil {
		name = s.user.Name()
	}
	s.env.logDenial(command.Denial{Reason: reason, Context: context, Object: truncate(object), User: name,
		Client: s.public.Line()})
}

// truncate bounds the text that ACL LOG keeps from a client.
func truncate(text string) string { return strings.Clone(text[:min(len(text), 128)]) }

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

// limitOps writes the rights of a user into calls of scripts and into settlements. These are decided where the user is
// not known, and only there is it known which keys they are about.
func limitOps(u *acl.User, ops []engine.Op) {
	for i := range ops {
		op := &ops[i]
		if (op.Verb == engine.Script || op.Verb == engine.Settle) && !u.ReachesAll() {
			op.Options |= engine.DeclaredOnly
		}
		switch {
		case op.Verb == engine.Settle && op.Options&engine.DeclaredOnly != 0:
			op.Args = u.WritePatterns()
		case op.Verb == engine.Script:
			op.Who = command.ScriptCommands(func(row *command.Row) bool {
				return u.May(row) && (row.Flags&command.PubSub == 0 || u.ReachesAllChannels())
			})
			markWriteOnly(u, op)
		}
	}
}

// markWriteOnly marks the keys of a script that the user may change, but not read.
func markWriteOnly(u *acl.User, script *engine.Op) {
	if script.Options&engine.DeclaredOnly == 0 {
		return
	}
	for i, key := range script.DeclaredKeys() {
		if !u.Reaches(key, false) {
			script.MarkWriteOnly(i)
		}
	}
}
