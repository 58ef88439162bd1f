package zset

import "github.com/stintdb/stint/server/command"

// The errors of sorted sets.
var (
	errAddConditions  = command.DataErrors.Add("ERR XX and NX options at the same time are not compatible", "")
	errAddComparisons = command.DataErrors.Add("ERR GT, LT, and/or NX options at the same time are not compatible", "")
	errAddIncrement   = command.DataErrors.Add("ERR INCR option supports a single increment-element pair", "")
	errScoreNaN       = command.DataErrors.Add("ERR resulting score is not a number (NaN)", "")
	errScoreRange     = command.DataErrors.Add("ERR min or max is not a float", "")
	errMemberRange    = command.DataErrors.Add("ERR min or max not valid string range item", "")
	errRangeLimit     = command.DataErrors.Add("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX", "")
	errRangeScores    = command.DataErrors.Add("ERR syntax error, WITHSCORES not supported in combination with BYLEX", "")
	errUnionKeys      = command.DataErrors.Add("ERR at least 1 input key is needed for '%s' command", "")
	errWeight         = command.DataErrors.Add("ERR weight value is not a float", "")
)
