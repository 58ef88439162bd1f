package ops

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var aclRows = []command.Row{{
	Name: "acl", Syntax: "subcommand", Group: "server", Summary: "Manage users and their permissions.",
	Sub: []command.Row{
		{Name: "cat", Syntax: "[category]", Group: "server", Summary: "List the categories, or the commands in one category.",
			Returns: "an array of names.",
			Cost:    command.Report, Flags: command.Harmless, Run: runACLCat},
		{Name: "deluser", Syntax: "username ...", Group: "server", Summary: "Delete users and close their connections.",
			Returns: "the number of deleted users, an integer.", Example: "alice",
			Cost: command.UserList, Flags: command.Admin | command.Dangerous, Run: runACLDelUser},
		{Name: "genpass", Syntax: "[bits]", Group: "server", Summary: "Generate a random password, by default of 256 bits.",
			Returns: "hexadecimal digits.",
			Cost:    command.Light, Flags: command.Harmless, Run: runACLGenPass},
		{Name: "getuser", Syntax: "username", Group: "server", Summary: "Show a user's permissions.",
			Returns: "a map of flags, passwords (their hashes), commands, keys, channels, selectors, max-keys and max-rate; null if the user does not exist.",
			Example: "alice",
			Cost:    command.Report, Flags: command.Admin | command.Dangerous, Run: runACLGetUser},
		{Name: "list", Group: "server", Summary: "List the users, as lines of an ACL file.",
			Returns: "an array of lines.",
			Cost:    command.UserList, Flags: command.Admin | command.Dangerous, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { command.WriteTexts(w, s.Server().Users().Lines()) }},
		{Name: "load", Group: "server", Summary: "Reload the ACL file.",
			Returns: "`OK`.",
			Cost:    command.UserList, Flags: command.Admin | command.Dangerous, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Server().Users().Load()) }},
		{Name: "log", Syntax: "[count | RESET]", Group: "server", Summary: "Show the last denied commands and failed logins.",
			Returns: "an array of maps of count, reason, context, object, username, age-seconds, client-info, entry-id, timestamp-created and timestamp-last-updated, the latest first; `OK` for RESET.",
			Cost:    command.Report, Flags: command.Admin | command.Dangerous, Run: runACLLog},
		{Name: "save", Group: "server", Summary: "Write the users to the ACL file.",
			Returns: "`OK`.",
			Cost:    command.UserList, Flags: command.Admin | command.Dangerous, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Server().Users().Save()) }},
		{Name: "setuser", Syntax: "username [rule ...]", Group: "server", Summary: "Create or change a user. Either all rules are applied, or none.",
			Returns: "`OK`.", Example: "me +@all",
			Cost: command.Report, Flags: command.Admin | command.Dangerous, Run: func(s command.Session, w *resp.Writer, args [][]byte) {
				okOrError(w, s.Server().Users().Set(string(args[2]), command.Texts(args[3:])))
			}},
		{Name: "users", Group: "server", Summary: "The names of the users.",
			Returns: "an array of names.",
			Cost:    command.UserList, Flags: command.Admin | command.Dangerous, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { command.WriteTexts(w, s.Server().Users().Names()) }},
		{Name: "whoami", Group: "server", Summary: "The name of the user as whom this connection is logged in.",
			Returns: "a name.",
			Cost:    command.Light, Flags: command.Harmless, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { w.BulkString(s.User()) }},
	},
}}

func runACLCat(_ command.Session, w *resp.Writer, args [][]byte) {
	if len(args) == 2 {
		command.WriteTexts(w, command.Categories())
		return
	}
	category, names := strings.ToLower(string(args[2])), []string(nil)
	for _, row := range command.All {
		if !row.IsContainer() && row.In(category) {
			names = append(names, row.FullName)
		}
	}
	if len(args) > 3 || names == nil {
		w.Error(errACLCategory.With(command.Truncate(args[2], 64)).Error())
		return
	}
	command.WriteTexts(w, names)
}

func runACLDelUser(s command.Session, w *resp.Writer, args [][]byte) {
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

func runACLGenPass(s command.Session, w *resp.Writer, args [][]byte) {
	bits := int64(256)
	if len(args) > 2 {
		n, ok := command.ParseInteger(args[2])
		if !ok && len(args) == 3 {
			w.Error(command.ErrNotInteger.Error())
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

func runACLGetUser(s command.Session, w *resp.Writer, args [][]byte) {
	u, found := s.Server().Users().Describe(string(args[2]))
	if !found {
		w.Null()
		return
	}
	command.WriteFields(w, []command.Field{
		{Name: "flags", Value: command.TextSet(u.Flags)}, {Name: "passwords", Value: u.Passwords}, {Name: "commands", Value: u.Commands}, {Name: "keys", Value: u.Keys}, {Name: "channels", Value: u.Channels},
		{Name: "selectors", Value: []string(nil)}, {Name: "max-keys", Value: u.MaxKeys}, {Name: "max-rate", Value: u.MaxRate},
	})
}

const denialsShown = 10

func runACLLog(s command.Session, w *resp.Writer, args [][]byte) {
	n := int64(denialsShown)
	switch {
	case len(args) == 3 && command.IsWord(args[2], "RESET"):
		s.Server().Users().ResetDenials()
		w.Status("OK")
		return
	case len(args) == 3:
		var ok bool
		if n, ok = command.ParseInteger(args[2]); !ok {
			w.Error(command.ErrNotInteger.Error())
			return
		}
	case len(args) > 3:
		w.Error(command.ErrSyntax.Error())
		return
	}
	denials, now := s.Server().Users().Denials(int(min(max(n, 0), 1<<20))), s.Server().Now()
	w.Array(len(denials))
	for _, d := range denials {
		command.WriteFields(w, []command.Field{
			{Name: "count", Value: d.Count}, {Name: "reason", Value: d.Reason}, {Name: "context", Value: d.Context}, {Name: "object", Value: d.Object}, {Name: "username", Value: d.User},
			{Name: "age-seconds", Value: strconv.FormatFloat(float64(now-d.Created)/1e9, 'f', 3, 64)}, {Name: "client-info", Value: d.Client},
			{Name: "entry-id", Value: d.ID}, {Name: "timestamp-created", Value: d.Created / 1e6}, {Name: "timestamp-last-updated", Value: d.Last / 1e6},
		})
	}
}
