package command

// The errors of [LimiterErrors]. Other packages return the exported ones.
var (
	errArgument = LimiterErrors.Add("ERR %s: %s, got '%s'",
		"The error names the argument, the allowed values and the received value. [rate-limits.md](rate-limits.md#bounds) lists all bounds.")
	errUnknownOption = LimiterErrors.Add("ERR syntax error: %s does not take '%s' here; it takes %s",
		"An unknown option, or a malformed number.")
	errGivenTwice         = LimiterErrors.Add("ERR %s: given twice", "")
	errCombined           = LimiterErrors.Add("ERR %s: cannot be combined with %s", "")
	errReservationDiffers = LimiterErrors.Add("ERR AS: the id was used for a request with other parameters; nothing was taken",
		"To retry a request, send it unchanged. For another request, use another id.")
	ErrSettledOtherwise = LimiterErrors.Add("ERR id: the request was already settled or canceled with other amounts; nothing was changed", "")
	errNotNext          = LimiterErrors.Add("ERR n: the next extension of this reservation has the number %d; nothing was taken",
		"Granted extensions are numbered from 1; denied ones have no number. To repeat an extension, or to try again after a denial, send the same number again.")
	errAlreadySettled  = LimiterErrors.Add("ERR id: the request was already settled or canceled; nothing was taken", "")
	errReservationFull = LimiterErrors.Add("ERR id: the reservation has tokens of %d windows or times of one limit, or %d tokens, which is the most; nothing was taken",
		"Extend in larger steps, or settle the request and go on with another id.")
	errWrongAmounts   = LimiterErrors.Add("ERR COSTS: needs an amount or - for each of the %d limits of the request", "")
	errNotReservation = LimiterErrors.Add("WRONGTYPE the key holds a %s, this command needs a reservation", "")
	ErrNoValue        = LimiterErrors.Add("ERR %s: needs a value", "")
	errTooManyMembers = LimiterErrors.Add("ERR member: the pool already has %d active members, the maximum",
		"A member stays active until the refill has given back its tokens. Try again later, or divide the members among several pools.")
	errTooManyCredits = LimiterErrors.Add("ERR credits: a balance has at most %d credits; nothing was added", "")
	errTooManyGrants  = LimiterErrors.Add("ERR EXPIRE: the balance already has credits that expire at %d different times, the maximum; nothing was added",
		"Let all payments of a day or month expire at the same time, because credits that expire together count as one.")
	errSharesNotRefundable = LimiterErrors.Add("ERR key: RL.REFUND names no member of this fair share",
		"`RL.REFUND` cannot know to which member the tokens go back. Take tokens by `RL.ALL` with `AS id FOR duration`, so that `RL.SETTLE` and `RL.CANCEL` can give them back to the right member.")
	errBanNotRefundable = LimiterErrors.Add("ERR key: a penalty has no tokens; DEL ends a ban", "")
	errNotRefundable    = LimiterErrors.Add("ERR key: leases are ended by CC.RELEASE, not refunded", "")
	errKeyTooLong       = LimiterErrors.Add("ERR key: at most %d bytes (--max-key-size), got %d", "")
	ErrWrongType        = LimiterErrors.Add("WRONGTYPE the key belongs to a %s limiter, this command needs a %s",
		"The key belongs to another algorithm. Give each algorithm its own keys, or `DEL` the key first.")
	ErrHoldsData   = LimiterErrors.Add("WRONGTYPE the key holds a %s, this command needs a limiter: choose another key, or DEL this one", "")
	ErrOutOfMemory = LimiterErrors.Add("OOM command not allowed when used memory > 'maxmemory': no room for another key",
		"The memory of `--max-memory` is used up, or a quota for keys with this prefix is reached ([security.md](security.md#memory)). You can raise `--max-memory` at run time.")
	errNoRoomToGrow = LimiterErrors.Add("OOM command not allowed when used memory > 'maxmemory': no room for the log or the holders of this key to grow",
		"The memory of `--max-memory` is used up ([security.md](security.md#memory)). Raise it, lower the limits, or replace `SL.ACQUIRE` by `SW.ACQUIRE`.")
	ErrDebtTooBig = LimiterErrors.Add("ERR tokens: FORCE would put the key further in debt than can be kept: 1000000000000 tokens beyond the capacity, or 150 years until the bucket is full again",
		"Such a debt is usually a mistake: look for a caller that counts wrongly.")
	ErrNotKept = LimiterErrors.Add("MISCONF cannot write to disk, and --durability is always: nothing is granted; see the log and INFO persistence",
		"The disk is full, read-only or failing ([durability.md](durability.md#when-the-disk-fails)). The server grants requests again as soon as writes succeed.")
)

// The errors of [PolicyErrors]. Other packages return the exported ones.
var (
	ErrDuplicateKey = PolicyErrors.Add("ERR spec: the same key twice; each limit needs a different key",
		"Two limits have the same key. In a policy, this can depend on the id that replaces `{}`.")
	errMissingField = PolicyErrors.Add("ERR WITH: the policy needs the field '%s'", "")
	errUnknownField = PolicyErrors.Add("ERR WITH: no limit of the policy asks for the field '%s'", "")
	errIDTooLong    = PolicyErrors.Add("ERR id: with this id and these fields, a key of the policy is longer than --max-key-size or a holder is not 1 to %d bytes", "")
	ErrNoPolicy     = PolicyErrors.Add("ERR no such policy '%s'; RL.POLICY LIST lists the policies", "")
	// ErrNoPolicyAccess is the same for a policy that exists and for one that does not.
	ErrNoPolicyAccess = PolicyErrors.Add("NOPERM no such policy, or no permissions to access a key of it",
		"The policy does not exist, or has keys that the user may not use. The error does not reveal which.")
)
