package command

import (
	"cmp"
	"strings"

	"github.com/stintdb/stint/server/resp"
)

// Register fills the table, and adds HELP to every container. It is called once, and panics if a row is incomplete.
func Register(families ...[]Row) {
	for _, family := range families {
		for i := range family {
			Table = append(Table, family[i])
			if family[i].Alias != "" {
				Table = append(Table, aliasRow(&family[i]))
			}
		}
	}
	for i := range Table {
		row := &Table[i]
		row.complete("")
		byName[row.Name], tableNames = row, append(tableNames, row.Name)
		if len(row.Sub) > 0 {
			row.Sub = append(row.Sub, helpRow(row))
		}
		for j := range row.Sub {
			row.Sub[j].complete(row.Name)
		}
	}
}

// FirstVersion is the first version of Stint.
const FirstVersion = "0.2.0"

func (r *Row) complete(container string) {
	r.FullName, r.upper, r.Since = r.Name, strings.ToUpper(r.Name), cmp.Or(r.Since, FirstVersion)
	r.isWhole = container == "" && len(r.Sub) == 0
	fixed := 1
	if container != "" {
		r.FullName, fixed = container+"|"+r.Name, 2
	}
	r.Number = len(All)
	All = append(All, r)
	r.Args = parseSyntax(r.Syntax)
	r.arity = arityOf(r.Args, fixed)
	if len(r.Sub) > 0 && r.Run == nil {
		r.arity = -2 // a container needs its subcommand
	}
	r.mustHaveCategory()
	r.mustHaveCost()
	r.mustHaveAccess()
}

// aliasRow is the row of a command's other name, which came later: older nodes of a cluster do not know it in scripts.
func aliasRow(of *Row) Row {
	alias, other := *of, strings.ToUpper(of.Name)
	alias.Name, alias.Summary, alias.Returns = of.Alias, "Same as "+other+".", "as "+other+"."
	alias.Since, alias.Alias = "0.3.0", ""
	alias.Dialect = 2
	return alias
}

// helpRow is the row of a container's HELP.
func helpRow(container *Row) Row {
	return Row{Name: "help", Since: container.Since, Group: "server", Summary: "List the subcommands.",
		Returns: "an array of lines.",
		Cost:    Report, Flags: Fast | Harmless,
		Run: func(_ Session, w *resp.Writer, _ [][]byte) {
			w.Array(2*len(container.Sub) + 1)
			w.Status(container.Title() + " <subcommand> [<arg> ...]. Subcommands are:")
			for i := range container.Sub {
				w.Status(strings.TrimSpace(strings.ToUpper(container.Sub[i].Name) + " " + container.Sub[i].Syntax))
				w.Status("    " + container.Sub[i].Summary)
			}
		}}
}
