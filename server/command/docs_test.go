package command_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testgenerated"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
)

//go:generate go test -run "TestTable|TestHandbook|TestErrorsPageIsCurrent" -update
//go:generate go test .. -run "TestTranscripts$|TestAccess$" -update

var update = flag.Bool("update", false, "write docs/commands.md and docs/errors.md instead of comparing them")

const handbook = "../../docs/commands.md"

// docs/commands.md is made from the table of commands.
func TestHandbookIsCurrent(t *testing.T) {
	testgenerated.Check(t, handbook, handbookPage(), *update, "go generate ./server/command")
}

// Every command that can answer has a description of its reply, and an example if it takes arguments.
func TestHandbookDescribesReplies(t *testing.T) {
	for _, row := range command.All {
		if row.Summary == "" || row.Since == "" || row.Group == "" {
			t.Errorf("%s: Summary, Since or Group is missing in its row", row.FullName)
		}
		if !slices.ContainsFunc(handbookGroups, func(g struct{ group, heading string }) bool { return g.group == row.Group }) {
			t.Errorf("%s: the group %q is not in handbookGroups", row.FullName, row.Group)
		}
		if row.IsContainer() {
			continue
		}
		if row.Returns == "" && !redisGroups[row.Group] {
			t.Errorf("%s: Returns is missing", row.FullName)
		}
		if !row.Accepts(len(exampleCall(row))) {
			t.Errorf("%s: Example has the wrong number of arguments: %q", row.FullName, row.Example)
		}
	}
}

// handbookGroups are the headings, in order.
var handbookGroups = []struct{ group, heading string }{
	{"limiter", "Limiters"},
	{"generic", "Keys of all kinds"},
	{"string", "Strings"},
	{"hash", "Hashes"},
	{"sorted-set", "Sorted sets"},
	{"list", "Lists"},
	{"set", "Sets"},
	{"stream", "Streams"},
	{"rate_limit", "GCRA of Redis"},
	{"scripting", "Scripts"},
	{"pubsub", "Channels"},
	{"transactions", "Transactions"},
	{"connection", "The connection"},
	{"server", "The server"},
	{"cluster", "Cluster mode"},
}

// redisGroups are the groups of commands that do and reply what Redis 7.0 does. The page only names them, except those in
// [differsFromRedis].
var redisGroups = map[string]bool{"string": true, "hash": true, "sorted-set": true, "list": true, "set": true, "stream": true, "scripting": true}

// differsFromRedis has the commands of [redisGroups] whose summary says something that neither Redis's documentation nor
// docs/migrate/redis.md does.
var differsFromRedis = map[string]bool{
	"INCREX": true, "HSCAN": true, "ZSCAN": true, "SSCAN": true, "SMEMBERS": true, "SCRIPT KILL": true,
}

const handbookIntroduction = `# Commands

<!-- Made from the table of commands by "go generate ./server/command". Change it there. -->

Names and options are not case-sensitive. In the syntax, lower-case words stand for values and UPPER-CASE words are
literal; ` + "`[…]`" + ` is optional, ` + "`|`" + ` separates alternatives, ` + "`...`" + ` repeats the element before it. Values can be any bytes.
*Data* means keys with values of Redis's types, such as strings, as opposed to limiters. With RESP2, a map is an array that alternates
names and values, and text is a bulk string.

[rate-limits.md](rate-limits.md) explains the arguments and replies of limiters, and [errors.md](errors.md) explains the errors. A command without
*Since* exists since ` + command.FirstVersion + `, and a command without *Reply* replies ` + "`OK`" + `. A command with subcommands also has ` + "`HELP`" + `.

For some commands for data and scripts, this page has only the name. They work as in [Redis 7.0](https://redis.io/docs/latest/commands/),
with [these differences](migrate/redis.md#differences-from-redis). ` + "`COMMAND DOCS`" + ` shows their arguments.
`

func handbookPage() []byte {
	var out bytes.Buffer
	out.WriteString(handbookIntroduction + "\n")
	rows := handbookRows(command.Table)
	for _, g := range handbookGroups {
		if g.group != "limiter" {
			fmt.Fprintf(&out, "- [%s](#%s)\n", g.heading, handbookAnchor(g.heading))
			continue
		}
		var links []string
		for _, row := range rows {
			if row.Group == g.group && !strings.Contains(row.FullName, "|") {
				title := row.Title()
				links = append(links, fmt.Sprintf("[`%s`](#%s)", title, handbookAnchor(title)))
			}
		}
		fmt.Fprintf(&out, "- %s: %s\n", g.heading, strings.Join(links, ", "))
	}
	for _, g := range handbookGroups {
		fmt.Fprintf(&out, "\n## %s\n", g.heading)
		if redisGroups[g.group] {
			writeRedisGroup(&out, g.group, rows)
			continue
		}
		for _, row := range rows {
			if handbookGroup(row) == g.group {
				writeHandbookEntry(&out, row)
			}
		}
	}
	return out.Bytes()
}

// handbookRows returns every row, a container before its subcommands.
func handbookRows(table []command.Row) (rows []*command.Row) {
	for i := range table {
		rows = append(append(rows, &table[i]), handbookRows(table[i].Sub)...)
	}
	return rows
}

// handbookGroup keeps a subcommand with its container.
func handbookGroup(row *command.Row) string {
	container, _, _ := strings.Cut(row.FullName, "|")
	return command.LookUp([]byte(container)).Group
}

// exampleCall is the row's example as the server receives it.
func exampleCall(row *command.Row) [][]byte {
	return bytes.Fields([]byte(row.Title() + " " + row.Example))
}

// handbookAnchor returns the anchor that Markdown renderers make for a heading.
func handbookAnchor(heading string) string {
	return strings.NewReplacer(" ", "-", ".", "").Replace(strings.ToLower(heading))
}

// isHelp reports whether the row is a HELP subcommand, which the introduction describes.
func isHelp(row *command.Row) bool { return strings.HasSuffix(row.FullName, "|help") }

// plainReply is the reply of commands for which the page shows none.
const plainReply = "`OK`."

// writeRedisGroup names the commands that Redis's documentation describes, and describes those that differ.
func writeRedisGroup(out *bytes.Buffer, group string, rows []*command.Row) {
	names := map[string][]string{} // by version
	var differing bytes.Buffer
	for _, row := range rows {
		switch {
		case handbookGroup(row) != group || isHelp(row) || row.IsContainer():
		case !differsFromRedis[row.Title()]:
			names[row.Since] = append(names[row.Since], "`"+row.Title()+"`")
		default:
			fmt.Fprintf(&differing, "- `%s`: %s\n", row.Usage(), row.Summary)
		}
	}
	out.WriteString("\n")
	for _, version := range slices.Sorted(maps.Keys(names)) {
		if version != command.FirstVersion {
			fmt.Fprintf(out, "Since %s: ", version)
		}
		fmt.Fprintf(out, "%s.\n", strings.Join(names[version], ", "))
	}
	if differing.Len() > 0 {
		fmt.Fprintf(out, "\n%s", &differing)
	}
}

func writeHandbookEntry(out *bytes.Buffer, row *command.Row) {
	if isHelp(row) {
		return
	}
	title := row.Title()
	fmt.Fprintf(out, "\n### %s\n\n", title)
	if row.Syntax != "" && !row.IsContainer() {
		fmt.Fprintf(out, "`%s %s`\n\n", title, row.Syntax)
	}
	fmt.Fprintf(out, "%s\n", row.Summary)
	example := row.Group == "limiter" && row.Example != ""
	if !row.IsContainer() && (row.Returns != plainReply || example) {
		fmt.Fprintf(out, "\nReply: %s", row.Returns)
		if example {
			fmt.Fprintf(out, " Example: `%s`", bytes.Join(exampleCall(row), []byte(" ")))
		}
		out.WriteString("\n")
	}
	if row.Since != command.FirstVersion {
		fmt.Fprintf(out, "\nSince: %s\n", row.Since)
	}
}
