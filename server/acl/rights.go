package acl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/server/command"
)

// rights are the permissions of one user. They are immutable once a user has them.
type rights struct {
	enabled   bool
	noPass    bool
	passwords []Hash
	commands  []string // the rules about commands, in order, for ACL LIST and ACL GETUSER
	allowed   []uint64 // a bit for each row of the table of commands
	patterns  []pattern
	channels  []string // patterns
	maxKeys   int64    // the most keys that match the patterns; 0 is no cap
	maxRate   int64    // requests per second; 0 is no cap

	writePatterns [][]byte // the patterns of keys that may be changed
	everything    bool     // every command, every key
	unlimited     bool     // every command, every key, no caps: no check is needed
}

// pattern is one rule on keys: the user may read or write matching keys, or both.
type pattern struct {
	glob        string
	read, write bool
}

func (p pattern) String() string {
	switch {
	case p.read && p.write:
		return "~" + p.glob
	case p.read:
		return "%R~" + p.glob
	}
	return "%W~" + p.glob
}

func newRights() rights {
	return rights{commands: []string{"-@all"}, allowed: make([]uint64, (len(command.All)+63)/64)}
}

// clone returns a copy that can be changed.
func (r *rights) clone() rights {
	c := *r
	c.passwords, c.commands = slices.Clone(r.passwords), slices.Clone(r.commands)
	c.allowed, c.patterns, c.channels = slices.Clone(r.allowed), slices.Clone(r.patterns), slices.Clone(r.channels)
	return c
}

func (r *rights) may(row int) bool { return r.allowed[row/64]>>(row%64)&1 == 1 }

func (r *rights) set(row int, allowed bool) {
	r.allowed[row/64] &^= 1 << (row % 64)
	if allowed {
		r.allowed[row/64] |= 1 << (row % 64)
	}
}

// allKeys reports whether a pattern permits the user to read and write every key.
func (r *rights) allKeys() bool {
	return slices.ContainsFunc(r.patterns, func(p pattern) bool { return p.glob == "*" && p.read && p.write })
}

// reaches reports whether the user may write a key, or with write false read it.
func (r *rights) reaches(key []byte, write bool) bool {
	for i := range r.patterns {
		p := &r.patterns[i]
		if (write && p.write || !write && p.read) && (p.glob == "*" || glob.Match(p.glob, string(key))) {
			return true
		}
	}
	return false
}

// derive computes the derived fields.
func (r *rights) derive() {
	r.everything = r.allKeys()
	for i, row := range command.All {
		r.everything = r.everything && (r.may(i) || row.IsContainer())
	}
	r.writePatterns = nil
	for _, p := range r.patterns {
		if p.write {
			r.writePatterns = append(r.writePatterns, []byte(p.glob))
		}
	}
	r.unlimited = r.everything && r.maxKeys == 0 && r.maxRate == 0
}

// allChannels reports whether the user may use every channel. A user with every command and key may, because it could
// give itself every channel by ACL SETUSER.
func (r *rights) allChannels() bool { return r.everything || slices.Contains(r.channels, "*") }

// reachesChannel reports whether the user may publish and subscribe to a channel.
func (r *rights) reachesChannel(channel []byte) bool {
	return r.allChannels() || slices.ContainsFunc(r.channels, func(pattern string) bool { return glob.Match(pattern, string(channel)) })
}

// describeCommands returns the rules about commands in one line, without rules that later ones override.
func (r *rights) describeCommands() string { return strings.Join(r.commands, " ") }

func (r *rights) describeKeys() string {
	all := make([]string, len(r.patterns))
	for i, p := range r.patterns {
		all[i] = p.String()
	}
	return strings.Join(all, " ")
}

func (r *rights) caps() (words []string) {
	if r.maxKeys > 0 {
		words = append(words, fmt.Sprintf("max-keys=%d", r.maxKeys))
	}
	if r.maxRate > 0 {
		words = append(words, fmt.Sprintf("max-rate=%d", r.maxRate))
	}
	return words
}

func (r *rights) describeChannels() string {
	all := make([]string, len(r.channels))
	for i, glob := range r.channels {
		all[i] = "&" + glob
	}
	return strings.Join(all, " ")
}
