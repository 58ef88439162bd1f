package acl

import (
	"strings"
	"sync/atomic"

	"github.com/stintdb/stint/server/command"
)

// User is one user. It stays the same object while its rights change, so a connection can keep it.
type User struct {
	name   string
	rights atomic.Pointer[rights]
}

// Name is the user's name.
func (u *User) Name() string { return u.name }

// IsUnlimited reports whether no check is needed for this user.
func (u *User) IsUnlimited() bool { return u.rights.Load().unlimited }

// May reports whether the user may use a command.
func (u *User) May(row *command.Row) bool {
	return row.Flags&command.NoAuth != 0 || u.rights.Load().may(row.Number)
}

// Reaches reports whether the user may change a key, or with write false read it.
func (u *User) Reaches(key []byte, write bool) bool { return u.rights.Load().reaches(key, write) }

// ReachesAll reports whether the user may change every key.
func (u *User) ReachesAll() bool { return u.rights.Load().allKeys() }

// WritePatterns returns the patterns of keys that the user may change, for package glob. The caller must not change
// them.
func (u *User) WritePatterns() [][]byte { return u.rights.Load().writePatterns }

// ReachesChannel reports whether the user may publish and subscribe to a channel.
func (u *User) ReachesChannel(channel []byte) bool { return u.rights.Load().reachesChannel(channel) }

// ReachesAllChannels reports whether the user may publish and subscribe to every channel.
func (u *User) ReachesAllChannels() bool { return u.rights.Load().allChannels() }

// MaxRate is the user's cap on requests per second, 0 for none.
func (u *User) MaxRate() int64 { return u.rights.Load().maxRate }

// NeedsNoPassword reports whether a connection can be this user without logging in.
func (u *User) NeedsNoPassword() bool {
	r := u.rights.Load()
	return r.enabled && r.noPass
}

func (u *User) line() string {
	r := u.rights.Load()
	words := []string{"user", u.name, "off"}
	if r.enabled {
		words[2] = "on"
	}
	if r.noPass {
		words = append(words, "nopass")
	}
	for _, p := range r.passwords {
		words = append(words, "#"+p.String())
	}
	if len(r.patterns) > 0 {
		words = append(words, r.describeKeys())
	}
	if len(r.channels) > 0 {
		words = append(words, r.describeChannels())
	}
	return strings.Join(append(append(words, r.commands...), r.caps()...), " ")
}
