package acl

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/server/command"
)

// DefaultName is the user of connections that are not logged in, as long as that user has no password.
const DefaultName = "default"

// MaxUsers limits the number of users.
const MaxUsers = 10_000

// Users is the set of all users. It is safe for concurrent use.
type Users struct {
	Log Log

	file    string
	initial rights           // of the default user, unless the file states others
	gone    func(*User)      // called for each deleted user
	changed func([]KeyQuota) // called with all caps on keys after a change

	byName atomic.Pointer[map[string]*User]
	mu     sync.Mutex // one change at a time
	def    *User
}

// KeyQuota is a user's cap on keys: at most MaxKeys may begin with any of Prefixes.
type KeyQuota struct {
	User     string
	Prefixes []string
	MaxKeys  int64
}

// Settings are the settings of New.
type Settings struct {
	File            string // file of users, "" for none
	DefaultPassword *Hash  // the default user's password, nil for none
	LogLength       int    // entries that the log keeps
}

// New returns the users in the file, and the default user, who may do everything unless the file restricts it.
func New(o Settings) (*Users, error) {
	u := &Users{file: o.File, def: &User{name: DefaultName}, gone: func(*User) {}, changed: func([]KeyQuota) {}}
	u.Log.SetLength(o.LogLength)
	u.initial = newRights()
	for _, rule := range []string{"on", "nopass", "~*", "+@all"} {
		if err := u.initial.apply(rule); err != nil {
			return nil, err
		}
	}
	if o.DefaultPassword != nil {
		u.initial.noPass, u.initial.passwords = false, []Hash{*o.DefaultPassword}
	}
	u.initial.derive()
	u.def.rights.Store(&u.initial)
	u.byName.Store(&map[string]*User{DefaultName: u.def})
	if o.File == "" {
		return u, nil
	}
	return u, u.load()
}

// Watch sets gone, which is called for every deleted user, and changed, which is called with all caps on keys, now and
// after every change.
func (u *Users) Watch(gone func(*User), changed func([]KeyQuota)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gone, u.changed = gone, changed
	changed(u.quotas())
}

// Default returns the default user.
func (u *Users) Default() *User { return u.def }

// Authenticate returns the user with a name if it is enabled and the password is right. The time that it takes reveals
// neither how much of the password is right nor whether the user exists.
func (u *Users) Authenticate(name string, password []byte) (*User, bool) {
	h := HashOf(password)
	user := (*u.byName.Load())[name]
	if user == nil {
		h.among([]Hash{{}})
		return nil, false
	}
	r := user.rights.Load()
	right := h.among(r.passwords)
	return user, r.enabled && (r.noPass || right)
}

// Set applies rules to a user, all of them or none. It creates the user if necessary: off, and without passwords,
// commands and keys.
func (u *Users) Set(name string, rules []string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !isName(name) {
		return command.ErrUsername
	}
	all := *u.byName.Load()
	user, next := all[name], newRights()
	if user != nil {
		next = user.rights.Load().clone()
	} else if len(all) >= MaxUsers {
		return command.ErrTooManyUsers.With(MaxUsers)
	}
	for _, rule := range rules {
		err := next.narrows(rule)
		if err == nil {
			err = next.apply(rule)
		}
		if err != nil {
			return command.ErrACLRule.With(truncate(redact(rule)), err)
		}
	}
	if err := next.check(); err != nil {
		return command.ErrACLRule.With("max-keys", err)
	}
	next.derive()
	if user == nil {
		user = &User{name: name}
		user.rights.Store(&next)
		more := maps.Clone(all)
		more[name] = user
		u.byName.Store(&more)
	} else {
		user.rights.Store(&next)
	}
	u.changed(u.quotas())
	return nil
}

// SetDefaultPassword replaces the default user's passwords by one; with nil, it needs no password.
func (u *Users) SetDefaultPassword(h *Hash) {
	u.mu.Lock()
	defer u.mu.Unlock()
	next := u.def.rights.Load().clone()
	if next.noPass, next.passwords = h == nil, nil; h != nil {
		next.passwords = []Hash{*h}
	}
	u.def.rights.Store(&next)
}

// DefaultPassword returns # and the hash of a password of the default user, "" if it has none. If likely is one of
// them, it returns that.
func (u *Users) DefaultPassword(likely string) (password string) {
	for _, p := range u.def.rights.Load().passwords {
		if password = "#" + p.String(); password == likely {
			break
		}
	}
	return password
}

// redact keeps passwords out of errors and logs.
func redact(rule string) string {
	if rule != "" && strings.ContainsRune("><#!", rune(rule[0])) {
		return rule[:1] + "(password)"
	}
	return rule
}

func truncate(text string) string { return text[:min(len(text), 64)] }

func isName(name string) bool {
	return name != "" && len(name) <= maxNameBytes && !strings.ContainsFunc(name, func(c rune) bool { return isBlank(c) || c == 0x7f })
}

// Delete removes a user and notifies its connections through the function given to Watch.
func (u *Users) Delete(name string) (existed bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if name == DefaultName {
		return false, command.ErrDefaultUser
	}
	fewer := maps.Clone(*u.byName.Load())
	user := fewer[name]
	if user == nil {
		return false, nil
	}
	delete(fewer, name)
	u.byName.Store(&fewer)
	u.drop(user)
	u.changed(u.quotas())
	return true, nil
}

// drop removes all permissions of a deleted user and notifies its connections.
func (u *Users) drop(user *User) {
	none := newRights()
	user.rights.Store(&none)
	u.gone(user)
}

// Names lists the users in alphabetical order.
func (u *Users) Names() []string { return slices.Sorted(maps.Keys(*u.byName.Load())) }

// Lines describes the users as lines of an ACL file.
func (u *Users) Lines() (lines []string) {
	all := *u.byName.Load()
	for _, name := range u.Names() {
		lines = append(lines, all[name].line())
	}
	return lines
}

// Describe shows a user for ACL GETUSER.
func (u *Users) Describe(name string) (d command.UserDescription, found bool) {
	user := (*u.byName.Load())[name]
	if user == nil {
		return d, false
	}
	r := user.rights.Load()
	d.Flags = []string{"off"}
	if r.enabled {
		d.Flags[0] = "on"
	}
	if r.noPass {
		d.Flags = append(d.Flags, "nopass")
	}
	for _, p := range r.passwords {
		d.Passwords = append(d.Passwords, p.String())
	}
	d.Commands, d.Keys, d.Channels, d.MaxKeys, d.MaxRate = r.describeCommands(), r.describeKeys(), r.describeChannels(), r.maxKeys, r.maxRate
	return d, true
}

func (u *Users) quotas() (all []KeyQuota) {
	for name, user := range *u.byName.Load() {
		if r := user.rights.Load(); r.maxKeys > 0 {
			all = append(all, KeyQuota{name, r.Prefixes(), r.maxKeys})
		}
	}
	slices.SortFunc(all, func(a, b KeyQuota) int { return cmp.Compare(a.User, b.User) })
	return all
}

// Denials implements [command.Users].
func (u *Users) Denials(n int) []command.Denial { return u.Log.Entries(n) }

// ResetDenials implements [command.Users].
func (u *Users) ResetDenials() { u.Log.Reset() }
