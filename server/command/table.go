package command

import (
	"cmp"

	"github.com/stintdb/stint/engine/limits"
)

// Table holds every command, in the order of the handbook.
var Table = concat(
	throttleRows,
	acquireRows,
	concurrencyRows,
	logRows,
	shareRows, classRows, adaptiveRows,
	allRows,
	reservationRows,
	lendRows,
	policyRows,
	inspectRows,
	usageRows,
	keyRows,
	databaseRows,
	expireRows, renameRows, objectRows,
	stringRows, increxRows, readAndChangeRows, substringRows,
	hashRows,
	sortedSetRows, placeRows, popRows, blockingSortedSetRows, combineScoredRows,
	listRows, elementRows, blockingListRows,
	setRows, combineRows,
	gcraRows,
	randomRows, scanRows,
	scriptRows,
	pubSubRows,
	transactionRows,
	connectionRows,
	clientRows,
	aclRows,
	serverRows,
	memoryRows,
	topRows,
	slowlogRows,
	latencyRows,
	monitorRows,
	clusterRows,
	raftRows,
)

// commandRows come last: COMMAND needs the table it is part of. Every container gets HELP.
func init() {
	Table = append(Table, commandRows...)
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

// firstVersion is the first version of Stint.
const firstVersion = "0.2.0"

func (r *Row) complete(container string) {
	r.FullName, r.Since = r.Name, cmp.Or(r.Since, firstVersion)
	fixed := 1
	if container != "" {
		r.FullName, fixed = container+"|"+r.Name, 2
	}
	r.Number = len(All)
	All = append(All, r)
	r.args = parseSyntax(r.Syntax)
	r.arity = arityOf(r.args, fixed)
	if len(r.Sub) > 0 && r.Run == nil {
		r.arity = -2 // a container needs its subcommand
	}
	if r.Data != nil && r.Parse == nil && r.Run == nil {
		r.Parse = func(q *Request) error { return q.dataOp(r) }
		if r.Waits != limits.NoAlgorithm {
			r.Parse = func(q *Request) error { return q.waitOp(r) }
		}
		if r.Reply == nil {
			r.Reply = replyData
		}
	}
	r.mustHaveCategory()
	r.mustHaveCost()
	r.mustHaveAccess()
}

func concat(families ...[]Row) (all []Row) {
	for _, f := range families {
		all = append(all, f...)
	}
	return all
}
