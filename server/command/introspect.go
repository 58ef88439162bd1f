package command

import (
	"bytes"
	"math"
	"strings"

	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/server/resp"
)

var commandRows = []Row{{
	Name: "command", Syntax: "[subcommand]", Group: "server", Summary: "Describe the commands.",
	Returns: "an array with one array for each command: name, arity, flags, first key, last key, step, categories and more.",
	Cost:    LongText, Flags: Harmless, Run: func(_ Session, w *resp.Writer, _ [][]byte) { writeRows(w, tableRows()) },
	Sub: []Row{
		{Name: "count", Group: "server", Summary: "The number of commands.",
			Returns: "an integer.",
			Cost:    Light, Flags: Harmless,
			Run: func(_ Session, w *resp.Writer, _ [][]byte) { w.Int(int64(len(Table))) }},
		{Name: "info", Syntax: "[name ...]", Group: "server", Summary: "Arity, flags and key positions of commands.",
			Returns: "the same as COMMAND of the named commands; null for an unknown command.", Example: "get",
			Cost: LongText, Flags: Harmless,
			Run: runCommandInfo},
		{Name: "docs", Syntax: "[name ...]", Group: "server", Summary: "Summary and arguments of commands.",
			Returns: "a map of commands to maps of summary, since, group and arguments.", Example: "get",
			Cost: LongText, Flags: Harmless,
			Run: runCommandDocs},
		{Name: "list", Syntax: "[FILTERBY filter value]", Group: "server", Summary: "The names of the commands.",
			Returns: "an array of names. The filter is PATTERN with a glob pattern, ACLCAT with a category, or MODULE.",
			Cost:    LongText, Flags: Harmless,
			Run: runCommandList},
		{Name: "getkeys", Syntax: "command argument [argument ...]", Group: "server", Summary: "The keys in a command.",
			Returns: "an array of keys.", Example: "del alice:1",
			Cost: Report, Flags: Harmless,
			Run: runGetKeys},
	},
}}

func tableRows() []*Row {
	rows := make([]*Row, len(Table))
	for i := range Table {
		rows[i] = &Table[i]
	}
	return rows
}

// namedRows looks commands up by name, container|subcommand included; an unknown one is nil.
func namedRows(names [][]byte) []*Row {
	rows := make([]*Row, len(names))
	for i, name := range names {
		container, sub, found := bytes.Cut(name, []byte{'|'})
		rows[i] = lookUp(container)
		if found && rows[i] != nil {
			rows[i] = rows[i].subcommand(sub)
		}
	}
	return rows
}

func runCommandInfo(_ Session, w *resp.Writer, args [][]byte) {
	if len(args) == 2 {
		writeRows(w, tableRows())
		return
	}
	writeRows(w, namedRows(args[2:]))
}

func writeRows(w *resp.Writer, rows []*Row) {
	w.Array(len(rows))
	for _, r := range rows {
		if r == nil {
			w.Null()
			continue
		}
		writeRow(w, r)
	}
}

func writeRow(w *resp.Writer, r *Row) {
	var categories statuses
	for _, c := range r.Categories() {
		categories = append(categories, "@"+c)
	}
	w.Array(10)
	w.BulkString(r.FullName)
	w.Int(int64(r.arity))
	statuses(r.words()).write(w)
	w.Int(int64(r.Keys.First))
	w.Int(int64(r.Keys.lastShown()))
	w.Int(int64(r.Keys.step()))
	categories.write(w)
	w.Array(0) // tips
	w.Array(0) // key specifications: the positions above say all
	w.Array(len(r.Sub))
	for i := range r.Sub {
		writeRow(w, &r.Sub[i])
	}
}

func runCommandDocs(_ Session, w *resp.Writer, args [][]byte) {
	rows := tableRows()
	if len(args) > 2 {
		rows = rows[:0]
		for _, r := range namedRows(args[2:]) {
			if r != nil {
				rows = append(rows, r)
			}
		}
	}
	writeDocs(w, rows)
}

func writeDocs(w *resp.Writer, rows []*Row) {
	w.Map(len(rows))
	for _, r := range rows {
		w.BulkString(r.FullName)
		fields := []field{{"summary", r.Summary}, {"since", r.Since}, {"group", r.Group}}
		if len(r.args) > 0 && len(r.Sub) == 0 {
			fields = append(fields, field{"arguments", func(w *resp.Writer) { writeArguments(w, r.args) }})
		}
		if len(r.Sub) > 0 {
			subs := make([]*Row, len(r.Sub))
			for i := range r.Sub {
				subs[i] = &r.Sub[i]
			}
			fields = append(fields, field{"subcommands", func(w *resp.Writer) { writeDocs(w, subs) }})
		}
		writeFields(w, fields)
	}
}

func writeArguments(w *resp.Writer, args []argument) {
	w.Array(len(args))
	for _, a := range args {
		fields := []field{{"name", a.name}, {"type", a.kind}}
		if len(a.sub) == 0 {
			fields = append(fields, field{"display_text", a.name})
		}
		if a.token != "" {
			fields = append(fields, field{"token", a.token})
		}
		var flags statuses
		if a.optional {
			flags = append(flags, "optional")
		}
		if a.multiple {
			flags = append(flags, "multiple")
		}
		if len(flags) > 0 {
			fields = append(fields, field{"flags", flags})
		}
		if len(a.sub) > 0 {
			fields = append(fields, field{"arguments", func(w *resp.Writer) { writeArguments(w, a.sub) }})
		}
		writeFields(w, fields)
	}
}

func runCommandList(_ Session, w *resp.Writer, args [][]byte) {
	keep := func(*Row) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 5 && isWord(args[2], "FILTERBY") && isWord(args[3], "PATTERN"):
		keep = func(r *Row) bool { return glob.Match(strings.ToLower(string(args[4])), r.Name) }
	case len(args) == 5 && isWord(args[2], "FILTERBY") && isWord(args[3], "ACLCAT"):
		category := strings.ToLower(string(args[4]))
		keep = func(r *Row) bool { return r.In(category) }
	case len(args) == 5 && isWord(args[2], "FILTERBY") && isWord(args[3], "MODULE"):
		keep = func(*Row) bool { return false }
	default:
		w.Error(ErrSyntax.Error())
		return
	}
	var names []string
	for i := range Table {
		if keep(&Table[i]) {
			names = append(names, Table[i].Name)
		}
	}
	writeTexts(w, names)
}

func runGetKeys(_ Session, w *resp.Writer, args [][]byte) {
	row, err := Find(args[2:])
	switch {
	case err != nil && lookUp(args[2]) == nil:
		w.Error(errGetKeysCommand.Error())
	case err != nil:
		w.Error(errGetKeysArity.Error())
	case row.Keys.First == 0 && row.Flags&MovableKeys == 0:
		w.Error(errGetKeysNone.Error())
	default:
		keys := row.KeysOf(args[2:])
		if len(keys) == 0 {
			w.Error(errGetKeysArguments.Error())
			return
		}
		writeKeys(w, keys)
	}
}

// KeysOf returns the keys among a command's arguments; none if an error in the arguments hides movable keys.
func (r *Row) KeysOf(args [][]byte) (keys [][]byte) {
	if r.Flags&MovableKeys != 0 {
		request := Request{Args: args, Bounds: Bounds{MaxKeyBytes: math.MaxInt, MaxLogLimit: math.MaxInt}}
		if r.Parse(&request) == nil {
			op := request.Ops[0].Request()
			for _, part := range op.Parts {
				keys = append(keys, part.Key)
			}
			if op != &request.Ops[0] {
				keys = append(keys, request.Ops[0].Key) // the id
			}
			keys = append(keys, op.DeclaredKeys()...)
		}
		return keys
	}
	return r.Keys.of(args).in(args)
}
