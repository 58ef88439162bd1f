package stream

import "github.com/stintdb/stint/server/command"

// The errors of streams.
var (
	errID            = command.DataErrors.Add("ERR Invalid stream ID specified as stream command argument", "")
	errSmallID       = command.DataErrors.Add("ERR The ID specified in XADD is equal or smaller than the target stream top item", "")
	errZeroID        = command.DataErrors.Add("ERR The ID specified in XADD must be greater than 0-0", "")
	errNoMoreIDs     = command.DataErrors.Add("ERR The stream has exhausted the last possible ID, unable to add more items", "")
	errTwoBounds     = command.DataErrors.Add("ERR syntax error, MAXLEN and MINID options at the same time are not compatible", "")
	errNegativeMost  = command.DataErrors.Add("ERR The MAXLEN argument must be >= 0.", "")
	errLimitAlone    = command.DataErrors.Add("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy", "")
	errLimitExact    = command.DataErrors.Add("ERR syntax error, LIMIT cannot be used without the special ~ option", "")
	errLimit         = command.DataErrors.Add("ERR The LIMIT argument must be >= 0.", "")
	errNoBound       = command.DataErrors.Add("ERR syntax error, XTRIM must be called with a trimming strategy", "")
	errStart         = command.DataErrors.Add("ERR invalid start ID for the interval", "")
	errEnd           = command.DataErrors.Add("ERR invalid end ID for the interval", "")
	errUnbalanced    = command.DataErrors.Add("ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.", "")
	errBlockInScript = command.DataErrors.Add("ERR %s command is not allowed with BLOCK option from scripts", "")
	errInfo          = command.DataErrors.Add("ERR unknown subcommand or wrong number of arguments for '%s'. Try XINFO HELP.", "")
	errGroupOnly     = command.DataErrors.Add("ERR The %s option is only supported by XREADGROUP. You called XREAD instead.", "")
	errGroupID       = command.DataErrors.Add("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.", "")
	errAdded         = command.DataErrors.Add("ERR entries_added must be positive", "")
	errFewAdded      = command.DataErrors.Add("ERR The entries_added specified in XSETID is smaller than the target stream length", "")
	errSetDeleted    = command.DataErrors.Add("ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id", "")
	errBelowDeleted  = command.DataErrors.Add("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id", "")
	errBelowTop      = command.DataErrors.Add("ERR The ID specified in XSETID is smaller than the target stream top item", "")
)
