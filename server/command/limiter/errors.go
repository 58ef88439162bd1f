package limiter

import "github.com/stintdb/stint/server/command"

// The errors that only commands on limiters have.
var (
	errKeepsNothing = command.LimiterErrors.Add("ERR KEEP: does not apply to %s", "")
	errWarnsNothing = command.LimiterErrors.Add("ERR WARN: does not apply to %s: %s",
		"The use of this limit cannot be stated as a percentage.")
	errSpreadsNothing = command.LimiterErrors.Add("ERR SPREAD: does not apply to %s",
		"`SPREAD` applies only to `TB`, `LB`, `CL`, `LQ` and `FW`.")
	errWeighsNothing  = command.LimiterErrors.Add("ERR WEIGHT: does not apply to %s", "")
	errNotOfCalendar  = command.LimiterErrors.Add("ERR %s: needs FW and a window @day, @week, @month, @quarter or @year, got '%s'", "")
	errZone           = command.LimiterErrors.Add("ERR TZ: must be a time zone such as Europe/Berlin, got '%s'", "")
	errKeepsNoWindows = command.LimiterErrors.Add("ERR HISTORY: needs FW, got %s", "")
	errRollsNothing   = command.LimiterErrors.Add("ERR ROLLOVER: needs FW and a window that begins with @, such as @month, got '%s'", "")
	errNotSegmented   = command.LimiterErrors.Add("ERR SEGMENTS: needs SW, got %s", "")
	errDoublesNothing = command.LimiterErrors.Add("ERR DOUBLING: needs PENALTY, got %s", "")
	errAsWithoutFor   = command.LimiterErrors.Add("ERR AS: needs FOR and the duration for which the request is remembered", "")
	errNoPayment      = command.LimiterErrors.Add("ERR AS: BAL.ADD needs AS and the id of the payment", "")
	errEmptyID        = command.LimiterErrors.Add("ERR AS: the id must not be empty", "")
	errForWithoutAs   = command.LimiterErrors.Add("ERR FOR: needs AS and an id", "")
	errNotLent        = command.LimiterErrors.Add("ERR spec: tokens of '%s' cannot be lent: expected one of %s", "")
	errNotAtMost      = command.LimiterErrors.Add("ERR spec: RL.ATMOST does not apply to '%s': expected one of %s", "")
	// Clients of 0.2.0 match this text.
	errNotHeld = command.LimiterErrors.Add("ERR the holder states more tokens than the %d that are set aside for it",
		"Either the holder counts wrongly, or two holders share a name: give each holder its own name.")
	errNodeHolder = command.LimiterErrors.Add("ERR holder: names that begin with %s are reserved for a cluster's nodes and groups", "")
	errLogLimit   = command.LimiterErrors.Add("ERR limit: a sliding log keeps a time for every request, so its limit is at most %d (--max-sliding-log), got '%s'; SW.ACQUIRE needs no log and takes more", "")
	errPriority   = command.LimiterErrors.Add("ERR PRIORITY: needs BLOCK and a CC limit", "")
	errHolder     = command.LimiterErrors.Add("ERR holder: must be 1 to %d bytes, got %d", "")
	errSwapped    = command.LimiterErrors.Add("ERR holder: '%s' is a duration, and the ttl '%s' has no unit; the ttl comes before the holder",
		"")
	errMember           = command.LimiterErrors.Add("ERR member: must be 1 to %d bytes, got %d", "")
	errTreeLevels       = command.LimiterErrors.Add("ERR UNDER: a class has 1 to %d ancestors, got %d", "")
	errTreeWithoutClass = command.LimiterErrors.Add("ERR UNDER: must follow HT or another UNDER", "")
	errTreeCircle       = command.LimiterErrors.Add("ERR UNDER: '%s' is named twice between the class and the root", "")
	errSpecWord         = command.PolicyErrors.Add("ERR spec: must begin with one of %s, got '%s'", "")
	errSpecShort        = command.PolicyErrors.Add("ERR spec: %s needs %d arguments, %s, got %d", "")
	errTooManySpecs     = command.PolicyErrors.Add("ERR spec: at most %d limits at once", "")
	errMeetingKeys      = command.PolicyErrors.Add("ERR spec: the keys '%s' and '%s' would be the same for some callers or fields; each limit needs a different text before {}, such as user: and all:",
		"A caller could choose an id that turns one key into the other. For example, the id `all` turns `user:{}` into `user:all`.")
	errDividedKeys = command.PolicyErrors.Add("ERR spec: the keys '%s' and '%s' would be in different groups of the cluster for some callers or fields; begin all keys with one hash tag, as in {{{}}}:a and {{{}}}:b, or name those that all callers share in --cluster-shared",
		"In a cluster with [`--groups`](cluster.md#policies-with-groups), one group decides a whole check. A hash tag counts only if no `{}` or `{name}` comes before it. A key that matches `--cluster-shared` may be in another group if its limit is `TB`, `CL`, `LB` or `FW`, without `KEEP` and `HISTORY`.")
	errDividedTags = command.PolicyErrors.Add("ERR spec: ids with : or %% would put the keys '%s' and '%s' in different groups of the cluster; use a field as the hash tag of both, as in {{{tenant}}}:a and {{{tenant}}}:b",
		"In a cluster with [`--groups`](cluster.md#policies-with-groups), one group decides a whole check. In the key that also has a field, the id is [escaped](rate-limits.md#several-names), so the two hash tags differ.")
	errElse = command.PolicyErrors.Add("ERR ELSE: must stand before the last limit, a BAL without COST, and after a TB, CL, LB, FW, SW or SL without COST, and no limit may have SPREAD",
		"The limits before `ELSE` [give what they can of a cost](recipes/credits.md), and the balance gives the rest.")
	errBalanceLast = command.PolicyErrors.Add("ERR BAL: must be the last limit", "")
	errTemplate    = command.PolicyErrors.Add("ERR spec: %s, got '%s'",
		"The key or the holder of a policy's limit has `{` or `}` without the other, the same `{name}` twice, or names with no `:` between them. [rate-limits.md](rate-limits.md#several-names) has the rules.")
	errFieldValue    = command.PolicyErrors.Add("ERR WITH: must be the last option, followed by the names of fields, each with a value", "")
	errTooManyFields = command.PolicyErrors.Add("ERR WITH: at most %d fields", "")
	errFieldName     = command.PolicyErrors.Add("ERR WITH: a field's name must be 1 to %d letters, digits, _ and -, got '%s'", "")
	errFieldTwice    = command.PolicyErrors.Add("ERR WITH: the field '%s' is given twice", "")
	errEmptyCaller   = command.PolicyErrors.Add("ERR id: the caller's id must not be empty",
		"All callers without an id would share one limit. If you want that, give them an id such as `anonymous`.")
	errEmptyField      = command.PolicyErrors.Add("ERR WITH: the value of the field '%s' must not be empty", "")
	errFieldTooLong    = command.PolicyErrors.Add("ERR WITH: the value of the field '%s': at most %d bytes (--max-key-size), got %d", "")
	errPolicyName      = command.PolicyErrors.Add("ERR name: must be 1 to %d bytes, got %d", "")
	errTooManyPolicies = command.PolicyErrors.Add("ERR name: at most %d policies, and %d overrides in all, of together %d bytes, are kept",
		"")
	errPolicyChanged = command.PolicyErrors.Add("TRYAGAIN the policy changed in the meantime; try again", "")
)
