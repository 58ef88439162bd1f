// Package access checks what the user of a session may do. Users with all permissions skip these checks.
package access

import (
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/stats"
)

// User is the user of a session, who has logged in, with what a check needs.
type User struct {
	*acl.User
	Policies localstore.Policies
	Log      Log
}

// Log takes note of what was denied.
type Log interface {
	// Denied counts a denial, and adds it to ACL LOG: reason is the kind of the object.
	Denied(why stats.Rejection, reason, object string)
}

// CheckCommand returns why the user may not use a command, nil if they may.
func (u User) CheckCommand(row *command.Row) error {
	if u.May(row) {
		return nil
	}
	u.Log.Denied(stats.CommandDenied, "command", row.FullName)
	return command.ErrNoCommandAccess.With(u.Name(), row.FullName)
}

// CheckChannels returns why a command is refused for the channels it is about, nil if it is not.
func (u User) CheckChannels(row *command.Row, args [][]byte) error {
	if row.Flags&command.PubSub == 0 {
		return nil
	}
	for _, channel := range row.ChannelsOf(args) {
		if !u.ReachesChannel(channel) {
			u.Log.Denied(stats.KeyDenied, "channel", string(channel))
			return command.ErrNoChannelAccess
		}
	}
	return nil
}

// CheckKeys returns why operations are refused for the keys they are about, nil if they are not.
func (u User) CheckKeys(ops []engine.Op) error {
	for i := range ops {
		if key, ok := (reach{u.Policies, u.User}).allOf(&ops[i]); !ok {
			u.Log.Denied(stats.KeyDenied, "key", string(key))
			if ops[i].Verb == engine.Check {
				return command.ErrNoPolicyAccess
			}
			return command.ErrNoKeyAccess
		}
	}
	return nil
}

// Truncate bounds the text that ACL LOG keeps from a client.
func Truncate(text string) string { return strings.Clone(text[:min(len(text), 128)]) }
