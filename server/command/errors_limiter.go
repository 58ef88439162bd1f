package command

import "github.com/stintdb/stint/server/resp"

var limiterErrors = resp.ErrorSection{Heading: "Limiters"}

// The errors of this section. Other packages return the exported ones.
var (
	errArgument = limiterErrors.Add("ERR %s: %s, got '%s'",
		"The error names the argument, the allowed values and the received value. [rate-limits.md](rate-limits.md#bounds) has the bounds.")
	errUnknownOption = limiterErrors.Add("ERR syntax error: %s does not take '%s' here; it takes %s",
		"An unknown option, or a malformed number.")
	errGivenTwice = limiterErrors.Add("ERR %s: given twice",
		"")
	errCombined = limiterErrors.Add("ERR %s: cannot be combined with %s",
		"Two options that contradict each other. Choose one.")
	errKeepsNothing = limiterErrors.Add("ERR KEEP: does not apply to %s",
		"")
	errWarnsNothing = limiterErrors.Add("ERR WARN: does not apply to %s: %s",
		"Which part of such a limit is used says nothing.")
	errWeighsNothing = limiterErrors.Add("ERR WEIGHT: does not apply to %s",
		"")
	errNotOfCalendar = limiterErrors.Add("ERR %s: needs FW and a window @day, @week, @month, @quarter or @year, got '%s'",
		"Other windows have no zone, and begin with the first request or at a multiple of their length.")
	errZone = limiterErrors.Add("ERR TZ: must be a time zone such as Europe/Berlin, got '%s'",
		"Names are those of the [IANA database](https://www.iana.org/time-zones), which the server brings with it. `UTC` is the default.")
	errKeepsNoWindows = limiterErrors.Add("ERR HISTORY: needs FW, got %s",
		"Other limits have no windows that end.")
	errAsWithoutFor = limiterErrors.Add("ERR AS: needs FOR and a duration, for which the request is remembered",
		"Add `FOR 10m`: longer than the call and its retries take.")
	errEmptyID = limiterErrors.Add("ERR AS: the id must not be empty",
		"All requests with an empty id would be one, and all but the first free. Give each request its own id.")
	errForWithoutAs = limiterErrors.Add("ERR FOR: needs AS and an id",
		"")
	errReservationDiffers = limiterErrors.Add("ERR AS: the id was used for a request with other parameters; nothing was taken",
		"An id names one request. To send a request again, send it unchanged; for another one, use another id.")
	ErrSettledOtherwise = limiterErrors.Add("ERR id: it was settled or canceled with other amounts; nothing was changed",
		"A reservation is settled once. The same settlement may be sent again.")
	errWrongAmounts = limiterErrors.Add("ERR COSTS: needs an amount or - for each of the %d limits of the request",
		"The amounts stand in the order of the limits in the request, or in its policy at that time.")
	errNotReservation = limiterErrors.Add("WRONGTYPE the key holds a %s, this command needs a reservation",
		"The id is the key of something else. Give requests ids that nothing else uses as its key.")
	errNotLent = limiterErrors.Add("ERR spec: tokens of '%s' cannot be lent: expected one of %s",
		"Only tokens of limits that count them from the request on, and have no places or names, can be set aside for a holder.")
	errNotHeld = limiterErrors.Add("ERR the holder states more tokens than the %d that are set aside for it",
		"`LEFT` of `RL.LEND`, or the tokens of `RL.RETURN`. The holder counts wrongly, or shares its name with another.")
	errNodeHolder = limiterErrors.Add("ERR holder: names that begin with %s are those of a cluster's nodes and groups",
		"Give the holder in `RL.LEND` and `RL.RETURN` another name. `RL.VOID` takes these names too.")
	errNoValue = limiterErrors.Add("ERR %s: needs a value",
		"")
	errLogLimit = limiterErrors.Add("ERR limit: a sliding log keeps a time for every request, so its limit is at most %d (--max-sliding-log), got '%s'; SW.ACQUIRE needs no log and takes more",
		"Use `SW.ACQUIRE`, or raise `--max-sliding-log`.")
	errHolder = limiterErrors.Add("ERR holder: must be 1 to %d bytes, got %d",
		"")
	errSwapped = limiterErrors.Add("ERR holder: '%s' is a duration, and the ttl '%s' has no unit; the ttl comes before the holder",
		"")
	errMember = limiterErrors.Add("ERR member: must be 1 to %d bytes, got %d",
		"")
	errTooManyMembers = limiterErrors.Add("ERR member: the pool has %d active members, the most it can have",
		"A member is active while it has taken tokens that the refill has not given back to it yet. Nothing was taken. Ask again later, with fewer names, or divide the members among several pools.")
	errSharesNotRefundable = limiterErrors.Add("ERR key: RL.REFUND names no member of this fair share",
		"Ask with `AS id FOR duration` in `RL.ALL`; `RL.SETTLE` and `RL.CANCEL` then give tokens back to their member.")
	errTreeLevels = limiterErrors.Add("ERR UNDER: a class has 1 to %d ancestors, got %d",
		"")
	errTreeWithoutClass = limiterErrors.Add("ERR UNDER: must follow HT or another UNDER",
		"")
	errTreeCircle = limiterErrors.Add("ERR UNDER: '%s' stands twice on the way from the class to the root",
		"")
	errNotRefundable = limiterErrors.Add("ERR key: leases are ended by CC.RELEASE, not refunded",
		"")
	errKeyTooLong = limiterErrors.Add("ERR key: at most %d bytes (--max-key-size), got %d",
		"The key is too long. Send a hash of it, or raise `--max-key-size`.")
	ErrWrongType = limiterErrors.Add("WRONGTYPE the key belongs to a %s limiter, this command needs a %s",
		"Another algorithm's command was used on the key. Give each its own keys, or `DEL` the key first.")
	errHoldsData = limiterErrors.Add("WRONGTYPE the key holds a %s, this command needs a limiter",
		"The key was written by `SET` or another command on data. Give limiters their own keys, or `DEL` the key first.")
	ErrOutOfMemory = limiterErrors.Add("OOM command not allowed when used memory > 'maxmemory': no room for another key",
		"`--max-memory` or the prefix's quota is reached: [security.md](security.md#memory). Raise `--max-memory`, also at run time.")
	errNoRoomToGrow = limiterErrors.Add("OOM command not allowed when used memory > 'maxmemory': no room for the log or the holders of this key to grow",
		"The sliding log or the list of holders would need more memory than `--max-memory` leaves. Nothing was taken. Raise `--max-memory`, use `SW.ACQUIRE`, or lower the limits: [security.md](security.md#memory).")
	ErrDebtTooBig = limiterErrors.Add("ERR tokens: FORCE would put the key further in debt than can be kept: 1000000000000 tokens beyond the capacity, or 150 years until the bucket is full again",
		"Nothing was taken. Look for a caller with a counting error.")
	ErrNotKept = limiterErrors.Add("MISCONF cannot write to disk, and --durability is always: nothing is granted; see the log and INFO persistence",
		"The disk is full, read-only or failing: [durability.md](durability.md#when-the-disk-fails). The tokens of a request in progress may stay taken. Grants resume when writes succeed.")
)

var policyErrors = resp.ErrorSection{Heading: "Several limits, and policies", After: "An example of each of the first two kinds of errors:\n" +
	"\n" +
	"```redis\n" +
	"> TB.ACQUIRE k ten 1/m\n" +
	"(error) ERR capacity: must be an integer between 1 and 1000000000000, got 'ten'\n" +
	"> TB.ACQUIRE k 10 1/fortnight\n" +
	"(error) ERR rate: must be a rate such as 100, 0.035, 1000/60, 1000/m, 5/500ms or '10 per second'; units: ms (millisecond), s (sec, second), m (min, minute), h (hour), d (day), got '1/fortnight'\n" +
	"> TB.ACQUIRE k 10 1/m 1 SOON\n" +
	"(error) ERR syntax error: TB.ACQUIRE does not take 'SOON' here; it takes …\n" +
	"```\n"}

// The errors of this section. Other packages return the exported ones.
var (
	errSpecWord = policyErrors.Add("ERR spec: must begin with one of %s, got '%s'",
		"")
	errSpecShort = policyErrors.Add("ERR spec: %s needs %d arguments, %s, got %d",
		"")
	errTooManySpecs = policyErrors.Add("ERR spec: at most %d limits at once",
		"")
	errDuplicateKey = policyErrors.Add("ERR spec: the same key twice; each limit needs a different key",
		"Two limits have the same key, perhaps only after the id replaces a policy's `{}`.")
	errMeetingKeys = policyErrors.Add("ERR spec: the keys '%s' and '%s' would be the same for some callers or fields; each limit needs a different text before {}, such as user: and all:",
		"With such a policy a caller could choose an id, or a field, that makes the key of one limit that of another. The id `all` would do so with `user:{}` and `user:all`.")
	errDividedKeys = policyErrors.Add("ERR spec: the keys '%s' and '%s' would be in different groups of the cluster for some callers or fields; begin all keys with one hash tag, as in {{{}}}:a and {{{}}}:b, or name those that all callers share in --cluster-shared",
		"A cluster with [`--groups`](cluster.md#groups), where one group decides a check: it would answer these callers with `CROSSSLOT`. A hash tag counts if no `{}` or `{name}` stands before it. A key that matches `--cluster-shared` may be in another group if its limit is `TB`, `CL`, `LB` or `FW`, without `KEEP` and `HISTORY`.")
	errDividedTags = policyErrors.Add("ERR spec: ids with : or %% would put the keys '%s' and '%s' in different groups of the cluster; use a field as the hash tag of both, as in {{{tenant}}}:a and {{{tenant}}}:b",
		"As above: `{}` is the id as it is, but escaped in a key with a field, [so that no value has a `:`](rate-limits.md#several-names).")
	errTemplate = policyErrors.Add("ERR spec: %s, got '%s'",
		"The key or the holder of a policy's limit has `{` or `}` without the other, the same `{name}` twice, or names with no `:` between them. [rate-limits.md](rate-limits.md#several-names) has the rules.")
	errFieldValue = policyErrors.Add("ERR WITH: must be the last option, followed by the names of fields, each with a value",
		"`WITH` without a field, or a field without a value. `WITH` comes last, behind all options.")
	errTooManyFields = policyErrors.Add("ERR WITH: at most %d fields",
		"")
	errFieldName = policyErrors.Add("ERR WITH: a field's name must be 1 to %d letters, digits, _ and -, got '%s'",
		"No policy can ask for such a field.")
	errFieldTwice = policyErrors.Add("ERR WITH: the field '%s' is given twice",
		"")
	errEmptyCaller = policyErrors.Add("ERR id: the caller's id must not be empty",
		"All callers without a name would share one limit. If that is meant, give them one, such as `anonymous`.")
	errEmptyField = policyErrors.Add("ERR WITH: the value of the field '%s' must not be empty",
		"As for an empty id.")
	errFieldTooLong = policyErrors.Add("ERR WITH: the value of the field '%s': at most %d bytes (--max-key-size), got %d",
		"The value is too long. Send a hash of it, or raise `--max-key-size`.")
	errMissingField = policyErrors.Add("ERR WITH: the policy needs the field '%s'",
		"A limit of the policy has `{name}` in its key or holder. Append `WITH name value`. Nothing was taken.")
	errUnknownField = policyErrors.Add("ERR WITH: no limit of the policy asks for the field '%s'",
		"The field is misspelt, or the policy has changed. Nothing was taken.")
	errIDTooLong = policyErrors.Add("ERR id: with it, or the fields, in place, a key of the policy is longer than --max-key-size or a holder is not 1 to %d bytes",
		"The caller's id, or a field, is too long for this policy.")
	errPolicyName = policyErrors.Add("ERR name: must be 1 to %d bytes, got %d",
		"")
	errTooManyPolicies = policyErrors.Add("ERR name: at most %d policies, and %d overrides in all, of together %d bytes, are kept",
		"")
	errPolicyChanged = policyErrors.Add("TRYAGAIN the policy changed meanwhile; ask again",
		"")
	ErrNoPolicy = policyErrors.Add("ERR no such policy '%s'; RL.POLICY LIST lists the policies",
		"`RL.CHECK` or `RL.POLICY OVERRIDE` on a policy that was never set, or was deleted.")
	// ErrNoPolicyAccess is the same for a policy that exists and for one that does not.
	ErrNoPolicyAccess = policyErrors.Add("NOPERM no such policy, or no permissions to access a key of it",
		"`RL.CHECK` by a user that may not use all keys. The error does not reveal the names of policies.")
)
