package command

import (
	"slices"
	"strings"
)

// classes are the words of COMMAND for the flags, and the ACL categories that follow from them.
var classes = []struct {
	flag     Flag
	name     string
	category string // without @
}{
	{Write, "write", "write"},
	{ReadOnly, "readonly", "read"},
	{DenyOOM, "denyoom", ""},
	{NotInScripts, "noscript", ""},
	{Fast, "fast", "fast"},
	{Admin, "admin", "admin"},
	{NoMulti, "no_multi", ""},
	{NotInMulti, "no_multi", ""},
	{Blocking, "blocking", "blocking"},
	{Connection, "", "connection"},
	{Dangerous, "", "dangerous"},
	{MovableKeys, "movablekeys", ""},
	{NoAuth, "no_auth", ""},
	{Transaction, "", "transaction"},
	{Harmless, "", "harmless"},
	{PubSub, "pubsub", "pubsub"},
}

// categorySlow is the category of commands without the flag Fast.
const categorySlow = "slow"

// groups lists the groups of commands that are ACL categories as well. An operator's command on keys is in its group
// but not in the category, because a user who is given the category may use keys, not administer them.
var groups = []struct{ name, category string }{
	{"limiter", "limiter"},
	{"generic", "keyspace"},
	{"string", "string"},
	{"hash", "hash"},
	{"sorted-set", "sortedset"},
	{"list", "list"},
	{"set", "set"},
	{"stream", "stream"},
	{"rate_limit", "rate_limit"},
	{"scripting", "scripting"},
}

// Categories lists all ACL categories, without @.
func Categories() (names []string) {
	for _, c := range classes {
		if c.category != "" {
			names = append(names, c.category)
		}
	}
	names = append(names, categorySlow)
	for _, g := range groups {
		names = append(names, g.category)
	}
	return names
}

// Words lists the row's flags in the words of COMMAND.
func (r *Row) Words() (flags []string) {
	for _, c := range classes {
		has := r.Flags&c.flag != 0 || c.flag == NotInScripts && !r.IsContainer() && !r.InScripts()
		if c.name != "" && has {
			flags = append(flags, c.name)
		}
	}
	return flags
}

// Categories lists the ACL categories of a command, without @.
func (r *Row) Categories() (names []string) {
	for _, c := range classes {
		if c.category != "" && r.Flags&c.flag != 0 {
			names = append(names, c.category)
		}
	}
	if r.Flags&Fast == 0 {
		names = append(names, categorySlow)
	}
	for _, g := range groups {
		isIn := g.name == r.Group || g.category == "keyspace" && r.Flags&AllKeys != 0
		if isIn && !(r.Flags&Admin != 0 && r.Keys != Keys{}) {
			names = append(names, g.category)
		}
	}
	return names
}

// In reports whether a command is in an ACL category, which is named in lower case without @.
func (r *Row) In(category string) bool { return slices.Contains(r.Categories(), category) }

// IsContainer reports whether only the row's subcommands can be called.
func (r *Row) IsContainer() bool { return r.Run == nil && r.Parse == nil }

// rights are the flags by which a command is permitted to some users and not to others.
const rights = Write | ReadOnly | Admin | Connection | Dangerous | Transaction | Harmless | PubSub | Observes

// mustHaveCategory panics at startup if a command has none of these flags: a user with +@all -@dangerous could run it.
func (r *Row) mustHaveCategory() {
	if !r.IsContainer() && r.Flags&rights == 0 {
		panic("command: " + strings.ToUpper(r.FullName) + " has none of the flags that say who may use it; see rights in category.go")
	}
}
