package command

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/generated"
)

//go:generate go test -run TestHandbookIsCurrent -update-handbook

var updateHandbook = flag.Bool("update-handbook", false, "write docs/commands.md instead of comparing it")

const handbook = "../../docs/commands.md"

// docs/commands.md is made from the table of commands.
func TestHandbookIsCurrent(t *testing.T) {
	generated.Check(t, handbook, handbookPage(), *updateHandbook, "go generate ./server/command")
}

// Every command that can answer has its reply described, and nothing else has.
func TestHandbookDescribesReplies(t *testing.T) {
	described := map[string]bool{}
	for _, row := range handbookRows(Table) {
		if row.answers() {
			described[row.FullName] = true
			if handbookReplies[row.FullName] == "" {
				t.Errorf("%s: its reply is not described in handbook_replies_test.go", row.FullName)
			}
		}
		if row.Summary == "" || row.Since == "" || row.Group == "" {
			t.Errorf("%s: summary, since or group is missing", row.FullName)
		}
	}
	for name := range handbookReplies {
		if !described[name] {
			t.Errorf("handbook_replies_test.go describes %s, which is no command that answers", name)
		}
	}
}

// handbookGroups are the headings, in order.
var handbookGroups = []struct{ group, heading string }{
	{"limiter", "Limiters"},
	{"generic", "Limiter keys"},
	{"transactions", "Transactions"},
	{"connection", "The connection"},
	{"server", "The server"},
	{"cluster", "Cluster mode"},
}

const handbookIntroduction = `# Commands

<!-- Made from the table of commands by "go generate ./server/command". Change it there. -->

Command names and option words are understood in upper and lower case. In the lines below, lower-case words stand for
values, UPPER-CASE words for themselves; ` + "`[…]`" + ` may be left out, ` + "`|`" + ` separates alternatives and ` + "`...`" + ` repeats what is before
it. Keys and all other values are binary-safe. A reply described as a map is an array of names and values in turn on a
connection that speaks RESP2, and text is a bulk string there; RESP3 has types of its own for both.

[rate-limits.md](rate-limits.md) explains capacities, rates, durations, options and replies of limiters, and
[errors.md](errors.md) the errors. ` + "`COMMAND`" + ` and ` + "`COMMAND DOCS`" + ` report what is on this page to clients and tools.
`

func handbookPage() []byte {
	var out bytes.Buffer
	out.WriteString(handbookIntroduction)
	rows := handbookRows(Table)
	for _, g := range handbookGroups {
		fmt.Fprintf(&out, "\n| %s | |\n|---|---|\n", g.heading)
		for _, row := range rows {
			if row.Group == g.group && !strings.Contains(row.FullName, "|") {
				title := handbookTitle(row)
				fmt.Fprintf(&out, "| [`%s`](#%s) | %s |\n", title, handbookAnchor(title), row.Summary)
			}
		}
	}
	for _, g := range handbookGroups {
		fmt.Fprintf(&out, "\n## %s\n", g.heading)
		for _, row := range rows {
			if handbookGroup(row) == g.group {
				writeHandbookEntry(&out, row)
			}
		}
	}
	return out.Bytes()
}

// handbookRows is every row, a container's own before those of its subcommands.
func handbookRows(table []Row) (rows []*Row) {
	for i := range table {
		rows = append(append(rows, &table[i]), handbookRows(table[i].Sub)...)
	}
	return rows
}

// handbookGroup keeps a subcommand with its container.
func handbookGroup(row *Row) string {
	container, _, _ := strings.Cut(row.FullName, "|")
	return byName[container].Group
}

func handbookTitle(row *Row) string {
	return strings.ToUpper(strings.ReplaceAll(row.FullName, "|", " "))
}

// handbookAnchor is what a heading's link is called where Markdown is shown.
func handbookAnchor(heading string) string {
	return strings.NewReplacer(" ", "-", ".", "").Replace(strings.ToLower(heading))
}

// answers reports whether the command itself, not only its subcommands, can be called.
func (r *Row) answers() bool { return r.Run != nil || r.Parse != nil }

func writeHandbookEntry(out *bytes.Buffer, row *Row) {
	title := handbookTitle(row)
	fmt.Fprintf(out, "\n### %s\n\n", title)
	if row.answers() {
		fmt.Fprintf(out, "```text\n%s\n```\n\n", strings.TrimSpace(title+" "+row.Syntax))
	}
	fmt.Fprintf(out, "%s\n\n", row.Summary)
	if len(row.Sub) > 0 {
		var subs []string
		for i := range row.Sub {
			sub := handbookTitle(&row.Sub[i])
			subs = append(subs, fmt.Sprintf("[`%s`](#%s)", sub, handbookAnchor(sub)))
		}
		fmt.Fprintf(out, "- Subcommands: %s\n", strings.Join(subs, ", "))
	}
	if row.answers() {
		fmt.Fprintf(out, "- Reply: %s\n", handbookReplies[row.FullName])
		fmt.Fprintf(out, "- Keys: %s\n", handbookKeys(row.Keys))
		words := row.words()
		for _, c := range row.Categories() {
			words = append(words, "@"+c)
		}
		fmt.Fprintf(out, "- Flags: %s\n", strings.Join(words, " "))
	}
	fmt.Fprintf(out, "- Since: %s\n", row.Since)
}

func handbookKeys(k Keys) string {
	switch {
	case k.First == 0:
		return "none"
	case k.Last == k.First:
		return fmt.Sprintf("argument %d", k.First)
	case k.Last == -1 && k.Step == 1:
		return fmt.Sprintf("every argument from %d on", k.First)
	}
	return fmt.Sprintf("arguments %d to %d, every %d", k.First, k.Last, k.Step)
}
