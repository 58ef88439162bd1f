package ops

import (
	"bytes"
	"strings"

	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var commandRows = []command.Row{{
	Name: "command", Syntax: "[subcommand]", Group: "server", Summary: "Describe the commands.",
	Returns: "an array with one array for each command: name, arity, flags, first key, last key, step, categories and more.",
	Cost:    command.LongText, Flags: command.Harmless | command.ByVersion,
	Run: runCommand, Data: inScript(runCommand), Dialect: 2,
	Sub: []command.Row{
		{Name: "count", Group: "server", Summary: "The number of commands.",
			Returns: "an integer.",
			Cost:    command.Light, Flags: command.Harmless | command.ByVersion,
			Run: runCommandCount, Data: inScript(runCommandCount), Dialect: 2},
		{Name: "info", Syntax: "[name ...]", Group: "server", Summary: "Arity, flags and key positions of commands.",
			Returns: "as COMMAND, for the named commands, with null for an unknown command.", Example: "get",
			Cost: command.LongText, Flags: command.Harmless | command.ByVersion,
			Run: runCommandInfo, Data: inScript(runCommandInfo), Dialect: 2},
		{Name: "docs", Syntax: "[name ...]", Group: "server", Summary: "Summary and arguments of commands.",
			Returns: "a map of commands to maps of summary, since, group and arguments.", Example: "get",
			Cost: command.LongText, Flags: command.Harmless | command.ByVersion,
			Run: runCommandDocs, Data: inScript(runCommandDocs), Dialect: 2},
		{Name: "list", Syntax: "[FILTERBY filter value]", Group: "server", Summary: "The names of the commands.",
			Returns: "an array of names. The filter is PATTERN with a glob pattern, ACLCAT with a category, or MODULE.",
			Cost:    command.LongText, Flags: command.Harmless | command.ByVersion,
			Run: runCommandList, Data: inScript(runCommandList), Dialect: 2},
		{Name: "getkeys", Syntax: "command argument [argument ...]", Group: "server", Summary: "The keys in a command.",
			Returns: "an array of keys.", Example: "del alice:1",
			Cost: command.Report, Flags: command.Harmless | command.ByVersion,
			Run: runGetKeys, Data: inScript(runGetKeys), Dialect: 2},
		{Name: "getkeysandflags", Syntax: "command argument [argument ...]", Group: "server", Summary: "The keys in a command, and how it uses them.",
			Returns: "an array of each key with its flags, as in Redis: RO, RW, OW or RM, and access, update, insert or delete.", Example: "del alice:1",
			Since: "0.3.0", Cost: command.Report, Flags: command.Harmless | command.ByVersion,
			Run: runGetKeysAndFlags, Data: inScript(runGetKeysAndFlags), Dialect: 2},
	},
}}

// inScript is the Data of a row whose Run needs no session.
func inScript(run func(command.Session, *resp.Writer, [][]byte)) int {
	return data.Code(func(c *data.Call) { run(nil, &c.Writer, c.Args) })
}

func runCommand(_ command.Session, w *resp.Writer, _ [][]byte) { writeRows(w, tableRows()) }

func runCommandCount(_ command.Session, w *resp.Writer, _ [][]byte) { w.Int(int64(len(command.Table))) }

func tableRows() []*command.Row {
	rows := make([]*command.Row, len(command.Table))
	for i := range command.Table {
		rows[i] = &command.Table[i]
	}
	return rows
}

// NamedRows looks commands up by name, including container|subcommand. Unknown commands are nil.
func NamedRows(names [][]byte) []*command.Row {
	rows := make([]*command.Row, len(names))
	for i, name := range names {
		container, sub, found := bytes.Cut(name, []byte{'|'})
		rows[i] = command.LookUp(container)
		if found && rows[i] != nil {
			rows[i] = rows[i].Subcommand(sub)
		}
	}
	return rows
}

func runCommandInfo(_ command.Session, w *resp.Writer, args [][]byte) {
	if len(args) == 2 {
		writeRows(w, tableRows())
		return
	}
	writeRows(w, NamedRows(args[2:]))
}

func writeRows(w *resp.Writer, rows []*command.Row) {
	w.Array(len(rows))
	for _, r := range rows {
		if r == nil {
			w.Null()
			continue
		}
		writeRow(w, r)
	}
}

func writeRow(w *resp.Writer, r *command.Row) {
	var categories command.Statuses
	for _, c := range r.Categories() {
		categories = append(categories, "@"+c)
	}
	w.Array(10)
	w.BulkString(r.FullName)
	w.Int(int64(r.Arity()))
	command.Statuses(r.Words()).Write(w)
	w.Int(int64(r.Keys.First))
	w.Int(int64(r.Keys.LastShown()))
	w.Int(int64(r.Keys.Step()))
	categories.Write(w)
	w.Array(0) // tips
	w.Array(0) // key specifications: the positions above suffice
	w.Array(len(r.Sub))
	for i := range r.Sub {
		writeRow(w, &r.Sub[i])
	}
}

func runCommandDocs(_ command.Session, w *resp.Writer, args [][]byte) {
	rows := tableRows()
	if len(args) > 2 {
		rows = rows[:0]
		for _, r := range NamedRows(args[2:]) {
			if r != nil {
				rows = append(rows, r)
			}
		}
	}
	writeDocs(w, rows)
}

func writeDocs(w *resp.Writer, rows []*command.Row) {
	w.Map(len(rows))
	for _, r := range rows {
		w.BulkString(r.FullName)
		fields := []command.Field{{Name: "summary", Value: r.Summary}, {Name: "since", Value: r.Since}, {Name: "group", Value: r.Group}}
		if len(r.Args) > 0 && len(r.Sub) == 0 {
			fields = append(fields, command.Field{Name: "arguments", Value: func(w *resp.Writer) { writeArguments(w, r.Args) }})
		}
		if len(r.Sub) > 0 {
			subs := make([]*command.Row, len(r.Sub))
			for i := range r.Sub {
				subs[i] = &r.Sub[i]
			}
			fields = append(fields, command.Field{Name: "subcommands", Value: func(w *resp.Writer) { writeDocs(w, subs) }})
		}
		command.WriteFields(w, fields)
	}
}

func writeArguments(w *resp.Writer, args []command.Argument) {
	w.Array(len(args))
	for _, a := range args {
		fields := []command.Field{{Name: "name", Value: a.Name}, {Name: "type", Value: a.Kind}}
		if len(a.Sub) == 0 {
			fields = append(fields, command.Field{Name: "display_text", Value: a.Name})
		}
		if a.Token != "" {
			fields = append(fields, command.Field{Name: "token", Value: a.Token})
		}
		var flags command.Statuses
		if a.Optional {
			flags = append(flags, "optional")
		}
		if a.Multiple {
			flags = append(flags, "multiple")
		}
		if len(flags) > 0 {
			fields = append(fields, command.Field{Name: "flags", Value: flags})
		}
		if len(a.Sub) > 0 {
			fields = append(fields, command.Field{Name: "arguments", Value: func(w *resp.Writer) { writeArguments(w, a.Sub) }})
		}
		command.WriteFields(w, fields)
	}
}

func runCommandList(_ command.Session, w *resp.Writer, args [][]byte) {
	keep := func(*command.Row) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 5 && command.IsWord(args[2], "FILTERBY") && command.IsWord(args[3], "PATTERN"):
		keep = func(r *command.Row) bool { return glob.Match(strings.ToLower(string(args[4])), r.Name) }
	case len(args) == 5 && command.IsWord(args[2], "FILTERBY") && command.IsWord(args[3], "ACLCAT"):
		category := strings.ToLower(string(args[4]))
		keep = func(r *command.Row) bool { return r.In(category) }
	case len(args) == 5 && command.IsWord(args[2], "FILTERBY") && command.IsWord(args[3], "MODULE"):
		keep = func(*command.Row) bool { return false }
	default:
		w.Error(command.ErrSyntax.Error())
		return
	}
	var names []string
	for i := range command.Table {
		if keep(&command.Table[i]) {
			names = append(names, command.Table[i].Name)
		}
	}
	command.WriteTexts(w, names)
}

// keysOfCommand returns the command among the arguments of COMMAND GETKEYS, and its keys. It writes the error.
func keysOfCommand(w *resp.Writer, args [][]byte) (row *command.Row, keys [][]byte) {
	row, err := command.Find(args)
	switch {
	case err != nil && command.LookUp(args[0]) == nil:
		w.Error(errGetKeysCommand.Error())
	case err != nil:
		w.Error(errGetKeysArity.Error())
	case row.Keys.First == 0 && row.Flags&command.MovableKeys == 0:
		w.Error(errGetKeysNone.Error())
	default:
		if keys = row.KeysOf(args); len(keys) == 0 {
			w.Error(errGetKeysArguments.Error())
		}
	}
	return row, keys
}

func runGetKeys(_ command.Session, w *resp.Writer, args [][]byte) {
	if _, keys := keysOfCommand(w, args[2:]); len(keys) > 0 {
		command.WriteKeys(w, keys)
	}
}

func runGetKeysAndFlags(_ command.Session, w *resp.Writer, args [][]byte) {
	row, keys := keysOfCommand(w, args[2:])
	if len(keys) == 0 {
		return
	}
	w.Array(len(keys))
	for i, key := range keys {
		w.Array(2)
		w.Bulk(key)
		command.Statuses(row.FlagsOfKey(args[2:], i)).Write(w)
	}
}
