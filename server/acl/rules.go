package acl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
)

// The limits of what can be set.
const (
	maxPasswords     = 64
	maxPatterns      = 256
	maxCommandRules  = 1024
	maxNameBytes     = 64
	maxPatternBytes  = 1024
	maxPasswordBytes = 16 << 10
	maxCap           = 1_000_000_000_000
)

// Errors of rules. They follow the rule in the reply.
var (
	errSyntax        = errors.New("Syntax error")
	errUnknown       = errors.New("Unknown command or category name in ACL")
	errNoPassword    = errors.New("The password you are trying to remove from the user does not exist")
	errBadHash       = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	errTooMany       = errors.New("One user may have at most 64 passwords, 256 patterns of keys, 256 patterns of channels and 1024 rules about commands")
	errTooLong       = errors.New("A password may have at most 16384 bytes, and a pattern of keys or channels at most 1024")
	errCap           = fmt.Errorf("A cap must be an integer between 1 and %d, or 0 for none", int64(maxCap))
	errAllKeys       = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	errAllChannels   = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	errSelector      = errors.New("Selectors are not supported; give the user one set of commands and keys")
	errKeyCapPattern = errors.New("max-keys counts keys by the beginnings of the user's key patterns, so each pattern must be a text with one * at its end, such as ~tenant7:*")
)

// narrows refuses a pattern for a user with all keys or channels. It would change nothing, although it is probably
// meant to allow fewer. Files may have such patterns, because earlier versions wrote them.
func (r *rights) narrows(rule string) error {
	switch all := (pattern{"*", true, true}); {
	case rule == "" || rule == "~*" || rule == "&*":
	case (rule[0] == '~' || rule[0] == '%') && slices.Contains(r.patterns, all):
		return errAllKeys
	case rule[0] == '&' && slices.Contains(r.channels, "*"):
		return errAllChannels
	}
	return nil
}

// apply applies a rule to r. The syntax is the same as in Redis's ACL SETUSER; only max-keys=N and max-rate=N are our
// own.
func (r *rights) apply(rule string) error {
	switch word := strings.ToLower(rule); word {
	case "on":
		r.enabled = true
	case "off":
		r.enabled = false
	case "nopass":
		r.noPass, r.passwords = true, nil
	case "resetpass":
		r.noPass, r.passwords = false, nil
	case "allkeys":
		r.patterns = []pattern{{"*", true, true}}
	case "resetkeys":
		r.patterns = nil
	case "allcommands":
		return r.command("+@all")
	case "nocommands":
		return r.command("-@all")
	case "allchannels":
		r.channels = []string{"*"}
	case "resetchannels":
		r.channels = nil
	case "sanitize-payload", "skip-sanitize-payload", "clearselectors":
		// Redis has these; there are no payloads and selectors here
	case "reset":
		*r = newRights()
	default:
		return r.applySymbol(rule)
	}
	return nil
}

func (r *rights) applySymbol(rule string) error {
	if name, value, found := strings.Cut(rule, "="); found {
		switch strings.ToLower(name) {
		case "max-keys":
			return setCap(&r.maxKeys, value)
		case "max-rate":
			return setCap(&r.maxRate, value)
		}
	}
	if rule == "" {
		return errSyntax
	}
	switch rest := rule[1:]; rule[0] {
	case '>', '#':
		return r.addPassword(rule[0], rest)
	case '<', '!':
		return r.removePassword(rule[0], rest)
	case '~':
		return r.addPattern(pattern{rest, true, true})
	case '%':
		return r.permission(rest)
	case '+', '-':
		return r.command(rule)
	case '&':
		return r.addChannel(rest)
	case '(':
		return errSelector
	}
	return errSyntax
}

func setCap(limit *int64, value string) error {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || n > maxCap {
		return errCap
	}
	*limit = int64(n)
	return nil
}

func passwordHash(kind byte, text string) (Hash, error) {
	if kind == '#' || kind == '!' {
		h, err := ParseHash(text)
		if err != nil || strings.ToLower(text) != text {
			return h, errBadHash
		}
		return h, nil
	}
	if len(text) > maxPasswordBytes {
		return Hash{}, errTooLong
	}
	return HashOf([]byte(text)), nil
}

func (r *rights) addPassword(kind byte, text string) error {
	h, err := passwordHash(kind, text)
	if err != nil {
		return err
	}
	if !slices.Contains(r.passwords, h) {
		r.passwords = append(r.passwords, h)
	}
	if r.noPass = false; len(r.passwords) > maxPasswords {
		return errTooMany
	}
	return nil
}

func (r *rights) removePassword(kind byte, text string) error {
	h, err := passwordHash(kind, text)
	if err != nil {
		return err
	}
	at := slices.Index(r.passwords, h)
	if at < 0 {
		return errNoPassword
	}
	r.passwords = slices.Delete(r.passwords, at, at+1)
	return nil
}

// permission applies %R~pattern, %W~pattern or %RW~pattern.
func (r *rights) permission(text string) error {
	letters, glob, found := strings.Cut(text, "~")
	p := pattern{glob: glob}
	for _, c := range strings.ToUpper(letters) {
		switch c {
		case 'R':
			p.read = true
		case 'W':
			p.write = true
		default:
			return errSyntax
		}
	}
	if !found || letters == "" {
		return errSyntax
	}
	return r.addPattern(p)
}

func checkGlob(text string) error {
	switch {
	case len(text) > maxPatternBytes:
		return errTooLong
	case strings.ContainsFunc(text, isBlank):
		return errSyntax // it could not be written to a file
	}
	return nil
}

func (r *rights) addPattern(p pattern) error {
	if err := checkGlob(p.glob); err != nil {
		return err
	}
	if !slices.Contains(r.patterns, p) {
		r.patterns = append(r.patterns, p)
	}
	if len(r.patterns) > maxPatterns {
		return errTooMany
	}
	return nil
}

func (r *rights) addChannel(glob string) error {
	if err := checkGlob(glob); err != nil {
		return err
	}
	if !slices.Contains(r.channels, glob) {
		r.channels = append(r.channels, glob)
	}
	if len(r.channels) > maxPatterns {
		return errTooMany
	}
	return nil
}

// command applies +command, +container|subcommand, +@category, and the same with a minus.
func (r *rights) command(rule string) error {
	allow, name := rule[0] == '+', strings.ToLower(rule[1:])
	rule = rule[:1] + name
	if name == "@all" {
		r.commands = nil // it overrides all earlier rules
	}
	found := false
	for _, row := range command.All {
		if matches(row, name) {
			found = true
			r.set(row.Number, allow)
		}
	}
	if !found {
		return errUnknown
	}
	opposite := "+" + name
	if allow {
		opposite = "-" + name
	}
	r.commands = slices.DeleteFunc(r.commands, func(c string) bool { return c == rule || c == opposite })
	if r.commands = append(r.commands, rule); len(r.commands) > maxCommandRules {
		return errTooMany
	}
	return nil
}

// matches reports whether a rule's name includes a row: it is the row's name, its container, or one of its categories.
func matches(row *command.Row, name string) bool {
	if category, found := strings.CutPrefix(name, "@"); found {
		return category == "all" || row.In(category)
	}
	container, _, _ := strings.Cut(row.FullName, "|")
	return row.FullName == name || container == name
}

// check refuses rights that are wrong as a whole.
func (r *rights) check() error {
	if r.maxKeys == 0 {
		return nil
	}
	if len(r.Prefixes()) != len(r.patterns) || len(r.patterns) == 0 {
		return errKeyCapPattern
	}
	return nil
}

// Prefixes lists the prefixes of keys that the patterns stand for, if a pattern is a text followed by one *.
func (r *rights) Prefixes() (prefixes []string) {
	for _, p := range r.patterns {
		text, found := strings.CutSuffix(p.glob, "*")
		if found && !strings.ContainsAny(text, `*?[\`) {
			prefixes = append(prefixes, text)
		}
	}
	return prefixes
}
