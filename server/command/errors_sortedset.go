package command

// The errors of sorted sets.
var (
	errAddConditions = dataErrors.Add("ERR XX and NX options at the same time are not compatible",
		"`ZADD` with options that contradict each other.")
	errAddComparisons = dataErrors.Add("ERR GT, LT, and/or NX options at the same time are not compatible",
		"`ZADD` with options that contradict each other.")
	errAddIncrement = dataErrors.Add("ERR INCR option supports a single increment-element pair",
		"`ZADD` with INCR takes one score and one member.")
	errScoreNaN = dataErrors.Add("ERR resulting score is not a number (NaN)",
		"The sum of inf and -inf. Nothing was changed.")
	errScoreRange = dataErrors.Add("ERR min or max is not a float",
		"A range of scores is between two numbers, inf and -inf included; `(` in front of one leaves it out.")
	errMemberRange = dataErrors.Add("ERR min or max not valid string range item",
		"With BYLEX a range is between two members, with `[` in front or with `(`, which leaves it out; `-` and `+` are the ends.")
	errRangeLimit = dataErrors.Add("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
		"A range of places has no LIMIT.")
	errRangeScores = dataErrors.Add("ERR syntax error, WITHSCORES not supported in combination with BYLEX",
		"Members are in the order of their bytes only where their scores are equal.")
	errUnionKeys = dataErrors.Add("ERR at least 1 input key is needed for '%s' command",
		"The first argument is the number of keys.")
	errWeight = dataErrors.Add("ERR weight value is not a float",
		"`ZUNION` takes one number for each key behind WEIGHTS.")
)
