package command

// The errors of sorted sets.
var (
	errAddConditions  = dataErrors.Add("ERR XX and NX options at the same time are not compatible", "")
	errAddComparisons = dataErrors.Add("ERR GT, LT, and/or NX options at the same time are not compatible", "")
	errAddIncrement   = dataErrors.Add("ERR INCR option supports a single increment-element pair", "")
	errScoreNaN       = dataErrors.Add("ERR resulting score is not a number (NaN)", "")
	errScoreRange     = dataErrors.Add("ERR min or max is not a float", "")
	errMemberRange    = dataErrors.Add("ERR min or max not valid string range item", "")
	errRangeLimit     = dataErrors.Add("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX", "")
	errRangeScores    = dataErrors.Add("ERR syntax error, WITHSCORES not supported in combination with BYLEX", "")
	errUnionKeys      = dataErrors.Add("ERR at least 1 input key is needed for '%s' command", "")
	errWeight         = dataErrors.Add("ERR weight value is not a float", "")
)
