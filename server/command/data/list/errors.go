package list

import "github.com/stintdb/stint/server/command"

// The errors of lists.
var (
	errIndexRange = command.DataErrors.Add("ERR index out of range", "")
	errRank       = command.DataErrors.Add("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list", "")
	errFindCount  = command.DataErrors.Add("ERR COUNT can't be negative", "")
	errFindLength = command.DataErrors.Add("ERR MAXLEN can't be negative", "")
)
