package command

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/server/resp"
)

// Users manages users and permissions for the ACL commands. Errors are complete replies.
type Users interface {
	Set(name string, rules []string) error
	Describe(name string) (UserDescription, bool)
	Delete(name string) (existed bool, err error)
	Lines() []string // as in a file of users
	Names() []string
	Load() error
	Save() error
	Denials(n int) []Denial // the latest first
	ResetDenials()
	GeneratePassword(bits int) string
}

// UserDescription is a user as ACL GETUSER shows it.
type UserDescription struct {
	Flags                    []string
	Passwords                []string // hashes
	Commands, Keys, Channels string
	MaxKeys, MaxRate         int64 // 0 is no cap
}

// Denial is one entry of ACL LOG.
type Denial struct {
	Count         int64
	Reason        string // auth, command, key or channel
	Context       string // toplevel or multi
	Object        string // the command or key
	User          string
	Client        string // its line of CLIENT LIST
	ID            int64
	Created, Last int64 // nanoseconds since the Unix epoch
}

var aclRows = []Row{{
	Name: "acl", Syntax: "subcommand", Group: "server", Summary: "Manage users and their permissions.",
	Sub: []Row{
		{Name: "cat", Syntax: "[category]", Group: "server", Summary: "List the categories, or the commands in one category.",
			Returns: "an array of names.",
			Cost:    Report, Flags: Harmless, Run: runACLCat},
		{Name: "deluser", Syntax: "username ...", Group: "server", Summary: "Delete users and close their connections.",
			Returns: "the number of deleted users, an integer.", Example: "alice",
			Cost: UserList, Flags: Admin | Dangerous, Run: runACLDelUser},
		{Name: "genpass", Syntax: "[bits]", Group: "server", Summary: "Generate a random password, by default of 256 bits.",
			Returns: "hexadecimal digits.",
			Cost:    Light, Flags: Harmless, Run: runACLGenPass},
		{Name: "getuser", Syntax: "username", Group: "server", Summary: "Show a user's permissions.",
			Returns: "a map of flags, passwords (their hashes), commands, keys, channels, selectors, max-keys and max-rate; null if the user does not exist.",
			Example: "alice",
			Cost:    Report, Flags: Admin | Dangerous, Run: runACLGetUser},
		{Name: "list", Group: "server", Summary: "List the users, as lines of an ACL file.",
			Returns: "an array of lines.",
			Cost:    UserList, Flags: Admin | Dangerous, Run: func(s Session, w *resp.Writer, _ [][]byte) { writeTexts(w, s.Server().Users().Lines()) }},
		{Name: "load", Group: "server", Summary: "Reload the ACL file.",
			Returns: "`OK`.",
			Cost:    UserList, Flags: Admin | Dangerous, Run: func(s Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Server().Users().Load()) }},
		{Name: "log", Syntax: "[count | RESET]", Group: "server", Summary: "The last denials and failed logins.",
			Returns: "an array of maps of count, reason, context, object, username, age-seconds, client-info, entry-id, timestamp-created and timestamp-last-updated, the latest first; `OK` for RESET.",
			Cost:    Report, Flags: Admin | Dangerous, Run: runACLLog},
		{Name: "save", Group: "server", Summary: "Write the users to the ACL file.",
			Returns: "`OK`.",
			Cost:    UserList, Flags: Admin | Dangerous, Run: func(s Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Server().Users().Save()) }},
		{Name: "setuser", Syntax: "username [rule ...]", Group: "server", Summary: "Create or change a user. Applies all rules or none.",
			Returns: "`OK`.", Example: "me +@all",
			Cost: Report, Flags: Admin | Dangerous, Run: func(s Session, w *resp.Writer, args [][]byte) {
				okOrError(w, s.Server().Users().Set(string(args[2]), texts(args[3:])))
			}},
		{Name: "users", Group: "server", Summary: "The names of the users.",
			Returns: "an array of names.",
			Cost:    UserList, Flags: Admin | Dangerous, Run: func(s Session, w *resp.Writer, _ [][]byte) { writeTexts(w, s.Server().Users().Names()) }},
		{Name: "whoami", Group: "server", Summary: "The user this connection is logged in as.",
			Returns: "a name.",
			Cost:    Light, Flags: Harmless, Run: func(s Session, w *resp.Writer, _ [][]byte) { w.BulkString(s.User()) }},
	},
}}

func runACLCat(_ Session, w *resp.Writer, args [][]byte) {
	if len(args) == 2 {
		writeTexts(w, Categories())
		return
	}
	category, names := strings.ToLower(string(args[2])), []string(nil)
	for _, row := range All {
		if !row.IsContainer() && row.In(category) {
			names = append(names, row.FullName)
		}
	}
	if len(args) > 3 || names == nil {
		w.Error(errACLCategory.With(truncate(args[2], 64)).Error())
		return
	}
	writeTexts(w, names)
}

func runACLDelUser(s Session, w *resp.Writer, args [][]byte) {
	deleted := int64(0)
	for _, name := range args[2:] {
		existed, err := s.Server().Users().Delete(string(name))
		if err != nil {
			w.Error(err.Error())
			return
		}
		if existed {
			deleted++
		}
	}
	w.Int(deleted)
}

const maxGenPassBits = 4096

func runACLGenPass(s Session, w *resp.Writer, args [][]byte) {
	bits := int64(256)
	if len(args) > 2 {
		n, ok := integer(args[2])
		if !ok && len(args) == 3 {
			w.Error(ErrNotInteger.Error())
			return
		}
		if n < 1 || n > maxGenPassBits || len(args) > 3 {
			w.Error(errGenPassBits.With(maxGenPassBits).Error())
			return
		}
		bits = n
	}
	w.BulkString(s.Server().Users().GeneratePassword(int(bits)))
}

func runACLGetUser(s Session, w *resp.Writer, args [][]byte) {
	u, found := s.Server().Users().Describe(string(args[2]))
	if !found {
		w.Null()
		return
	}
	writeFields(w, []field{
		{"flags", set(u.Flags)}, {"passwords", u.Passwords}, {"commands", u.Commands}, {"keys", u.Keys}, {"channels", u.Channels},
		{"selectors", []string(nil)}, {"max-keys", u.MaxKeys}, {"max-rate", u.MaxRate},
	})
}

const denialsShown = 10

func runACLLog(s Session, w *resp.Writer, args [][]byte) {
	n := int64(denialsShown)
	switch {
	case len(args) == 3 && isWord(args[2], "RESET"):
		s.Server().Users().ResetDenials()
		w.Status("OK")
		return
	case len(args) == 3:
		var ok bool
		if n, ok = integer(args[2]); !ok {
			w.Error(ErrNotInteger.Error())
			return
		}
	case len(args) > 3:
		w.Error(ErrSyntax.Error())
		return
	}
	denials, now := s.Server().Users().Denials(int(min(max(n, 0), 1<<20))), s.Server().Now()
	w.Array(len(denials))
	for _, d := range denials {
		writeFields(w, []field{
			{"count", d.Count}, {"reason", d.Reason}, {"context", d.Context}, {"object", d.Object}, {"username", d.User},
			{"age-seconds", strconv.FormatFloat(float64(now-d.Created)/1e9, 'f', 3, 64)}, {"client-info", d.Client},
			{"entry-id", d.ID}, {"timestamp-created", d.Created / 1e6}, {"timestamp-last-updated", d.Last / 1e6},
		})
	}
}
