package command

import (
	"slices"
	"strings"
)

// classes are the words COMMAND has for the flags, and the ACL categories that follow from them.
var classes = []struct {
	flag     Flag
	name     string
	category string // without its @
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

// categorySlow follows from the absence of a flag.
const categorySlow = "slow"

// Groups lists the groups of commands that are ACL categories as well. A command for operators on keys is in its group but not in the category, because the users
// who have a category may use keys, not administer them.
var Groups = []struct{ name, Category string }{
	{"limiter", "limiter"},
	{"generic", "keyspace"},
	{"string", "string"},
	{"hash", "hash"},
	{"sorted-set", "sortedset"},
	{"list", "list"},
	{"set", "set"},
	{"rate_limit", "rate_limit"},
	{"scripting", "scripting"},
}

// Categories lists the ACL categories there are, without their @.
func Categories() (names []string) {
	for _, c := range classes {
		if c.category != "" {
			names = append(names, c.category)
		}
	}
	names = append(names, categorySlow)
	for _, g := range Groups {
		names = append(names, g.Category)
	}
	return names
}

// Words lists what COMMAND calls the row's flags.
func (r *Row) Words() (flags []string) {
	for _, c := range classes {
		has := r.Flags&c.flag != 0 || c.flag == NotInScripts && !r.IsContainer() && !r.InScripts()
		if c.name != "" && has {
			flags = append(flags, c.name)
		}
	}
	return flags
}

// Categories lists the ACL categories a command is in, without their @.
func (r *Row) Categories() (names []string) {
	for _, c := range classes {
		if c.category != "" && r.Flags&c.flag != 0 {
			names = append(names, c.category)
		}
	}
	if r.Flags&Fast == 0 {
		names = append(names, categorySlow)
	}
	for _, g := range Groups {
		isIn := g.name == r.Group || g.Category == "keyspace" && r.Flags&AllKeys != 0
		if isIn && !(r.Flags&Admin != 0 && r.Keys != Keys{}) {
			names = append(names, g.Category)
		}
	}
	return names
}

// In reports whether a command is in an ACL category, named without its @ in lower case.
func (r *Row) In(category string) bool { return slices.Contains(r.Categories(), category) }

// IsContainer reports whether only the row's subcommands can be called.
func (r *Row) IsContainer() bool { return r.Run == nil && r.Parse == nil }

// rights are the flags that distinguish users.
const rights = Write | ReadOnly | Admin | Connection | Dangerous | Transaction | Harmless | PubSub | Observes

// mustHaveCategory ends the process at its start if a command has no category: it would be open to users with all rights
// except the dangerous ones.
func (r *Row) mustHaveCategory() {
	if !r.IsContainer() && r.Flags&rights == 0 {
		panic("command: " + strings.ToUpper(r.FullName) + " has none of the flags that say who may use it; see rights in category.go")
	}
}
