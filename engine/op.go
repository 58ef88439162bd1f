package engine

import (
	"bytes"
	"slices"
)

// Verb is the kind of an operation.
type Verb uint8

// The verbs.
const (
	Acquire      Verb = iota // ask Limit for Tokens
	AcquireAll               // ask every one of Parts, all or nothing; has no key
	Check                    // ask the policy named Key on behalf of the caller Who, all or nothing
	Look                     // report the key's limiter and change nothing
	Refund                   // give back at most Tokens of those taken
	Release                  // end the lease that Who holds
	Leases                   // list the leases, in Result.Leases
	Delete                   // reset the key to its full limit
	Flush                    // reset every key to its full limit; has no key
	SetPolicy                // keep Parts as the policy named Key
	DropPolicy               // forget the policy named Key
	SetOverride              // keep Parts in place of the policy's own for the caller Who; none ends it
	Restrict                 // treat new keys that begin with Key by NewKeys, with the delimiters of prefixes in Who
	KeepOverflow             // restore a shared limiter from a snapshot: of the prefix Key, the state Who, the limit of Parts
	Command                  // carry out the command Args on the keys among them
	Script                   // carry out the script call Args, which may touch keys beyond those it declares
	KeepScript               // keep the body Who of a script
	DropScripts              // forget the bodies of all scripts
	ListLog                  // list the newest Tokens grants of a sliding log, in Result.Reply
	Reserve                  // carry out Parts[0], and remember a grant under the id Key for MaxWait
	Settle                   // charge the limits of the reservation Key: Tokens for each without a FixedCost, or Parts, each with a FixedCost or as it was
	Lend                     // set tokens of the key's limiter aside for the holder Who, for as long as MaxWait if that is not 0; see [Loan]
	Return                   // end the loan of the holder Who, and give back the tokens that it has not spent
	Void                     // end the loan of the holder Who, all of it counting as spent; of one that may still spend it only with Force
	Loans                    // list the loans, in Result.Reply
	Prepare                  // number the next operation on the loan of a key whose limit has its home elsewhere; see [Tank]
	Deposit                  // keep home's answer to the prepared operation
	Carry                    // a key without a limiter begins with Tokens taken at PriorAt
	ListMembers              // list the active members of a fair share, in Result.Reply
	Adapt                    // adapt the rate of an adaptive limiter to the Report
)

// Option changes how an Acquire decides.
type Option uint8

// The options; docs/commands.md explains each for clients.
const (
	Peek         Option = 1 << iota // answer without taking tokens
	UpTo                            // grant as many as there are, up to Tokens
	Force                           // grant even tokens that are not available
	Shadow                          // SetPolicy: only count what would be denied
	Loaded                          // KeepScript: until DropScripts
	DeclaredOnly                    // Script: keys that it does not declare are refused; Settle: limits' keys that match none of the patterns in Args are
	FixedCost                       // a part: Tokens are its own, whatever the request asks for

	Cancel       = UpTo         // Settle, Prepare: everything goes back
	Strict       = Force        // SetPolicy: its keys are decided in the log alone, see [Store.IsStrict]
	NamedFields  = DeclaredOnly // SetPolicy, SetOverride: {name} in the Key and Who of Parts stands for a field; Check: Args are such fields
	AlsoDeclared = UpTo         // Script: PriorAt counts for the keys that it declares too
	Merged       = UpTo         // Lend: Loan has requests that wait
	WriteOnly    = Force        // Script: Key says which declared keys may not be read
)

// Op is one operation. It is a value: building it touches no state.
type Op struct {
	Verb     Verb
	Options  Option
	NewKeys  NewKeys  // Restrict: the decision on these keys
	Instance uint8    // KeepOverflow: the number among the limiters of one prefix and limit, below MaxParts
	MaxKey   uint32   // Check: most bytes of a key once the caller's id is filled in, 0 for no bound
	Key      []byte   // binary, may be empty; only read while the operation is applied; Script: with WriteOnly, see [Op.IsWriteOnly]
	Limit    Limit    // Acquire
	Tokens   int64    // Acquire, Refund and ListLog; 0 in an Acquire asks without taking; AcquireAll: asked of each part without FixedCost; Script: the dialect, [ScriptDialect] or an earlier one
	Keep     Keep     // Acquire, Check: grant only if so much remains
	Weight   int64    // Acquire, of an algorithm that weighs members: 1 to MaxWeight, or 0 for 1
	MaxWait  int64    // Reserve: remember it for so many nanoseconds; Acquire: grant the tokens available within this many nanoseconds, or with NoWait only those available now
	Who      []byte   // the holder of a lease, the member of a fair share, or the caller a policy is checked for; Script: the commands that it may call, in lower case, separated by blanks, all if empty; KeepScript: the body
	Args     [][]byte // Command, Script: the arguments, the command's name included; Check: with NamedFields, names and values of fields by turns; Settle: with DeclaredOnly, patterns of package glob
	KeyFrom  uint32   // Command, Script: the position in Args of the first declared key
	KeyCount uint32   // Command, Script: the number of declared keys, one after the other
	Loan     *Loan    // Lend, Return and Deposit
	Report   *Report  // Adapt
	PriorAt  int64    // Acquire, also in parts, Check, Lend, Settle: if not 0, a key without a limiter begins with the leader's share taken at this time, in nanoseconds since the Unix epoch; Script: a key that it does not declare, at the time of the script, and with AlsoDeclared any; Carry: when Tokens were taken
	Parts    []Op     // AcquireAll: the limits to ask, each with the options, tokens and MaxWait of the whole, but for a FixedCost; SetPolicy, SetOverride: the policy's limits, {} in Key and Who standing for the caller
}

// Request is the operation that a Reserve carries out, or else the operation itself.
func (o *Op) Request() *Op {
	if o.Verb == Reserve {
		return &o.Parts[0]
	}
	return o
}

// DeclaredKeys are the keys that a Command or Script states in its arguments.
func (o *Op) DeclaredKeys() [][]byte { return o.Args[o.KeyFrom : o.KeyFrom+o.KeyCount] }

// MarkWriteOnly says of a Script that its declared key number i may be changed but not read.
func (o *Op) MarkWriteOnly(i int) {
	if o.Options&WriteOnly == 0 {
		o.Options, o.Key = o.Options|WriteOnly, make([]byte, o.writeOnlyBytes())
	}
	o.Key[i/8] |= 1 << (i % 8)
}

// IsWriteOnly reports whether a Script may change its declared key number i but not read it: Key has a bit for each.
func (o *Op) IsWriteOnly(i int) bool { return o.Options&WriteOnly != 0 && o.Key[i/8]>>(i%8)&1 == 1 }

// MarksValidly reports whether Key has a bit for each declared key of a Script with WriteOnly, and is empty without.
func (o *Op) MarksValidly() bool {
	if o.Options&WriteOnly == 0 {
		return len(o.Key) == 0
	}
	return len(o.Key) == o.writeOnlyBytes()
}

func (o *Op) writeOnlyBytes() int { return (int(o.KeyCount) + 7) / 8 }

// HasNames reports whether a SetPolicy or SetOverride means something else with [NamedFields] than without.
func (o *Op) HasNames() bool {
	return slices.ContainsFunc(o.Parts, func(p Op) bool { return HasNames(p.Key) || p.Limit.Algorithm != Class && HasNames(p.Who) })
}

// OptionBits returns the byte of the options in a written operation: Options, and in the bits above Peek the NewKeys of
// a Restrict and the Instance of a KeepOverflow.
func (o *Op) OptionBits() byte {
	switch o.Verb {
	case Restrict:
		return byte(o.Options) | byte(o.NewKeys)<<1
	case KeepOverflow:
		return byte(o.Options) | o.Instance<<1
	}
	return byte(o.Options)
}

// SetOptionBits sets the fields of an operation, whose Verb is set, from a byte of [Op.OptionBits].
func (o *Op) SetOptionBits(b byte) {
	switch o.Verb {
	case Restrict:
		o.Options, o.NewKeys = Option(b)&Peek, NewKeys(b>>1)
	case KeepOverflow:
		o.Options, o.Instance = Option(b)&Peek, b>>1
	default:
		o.Options = Option(b)
	}
}

// SetMaxWait sets MaxWait, also of the parts.
func (o *Op) SetMaxWait(nanos int64) {
	o.MaxWait = nanos
	for i := range o.Parts {
		o.Parts[i].MaxWait = nanos
	}
}

// HasOneKey reports whether the operation is about its Key alone.
func (v Verb) HasOneKey() bool {
	switch v {
	case Acquire, Look, Refund, Release, Delete, Lend, Return, Void, Prepare, Deposit, Carry, Adapt:
		return true
	}
	return v.Lists()
}

// Lists reports whether the operation is a Look with a list of entries.
func (v Verb) Lists() bool { return v == Leases || v == ListLog || v == ListMembers || v == Loans }

// Writes reports whether the operation can change state.
func (o *Op) Writes() bool { return o.Verb != Look && !o.Verb.Lists() && o.Options&Peek == 0 }

// Status is the outcome of an operation.
type Status uint8

// The statuses.
const (
	OK                 Status = iota
	NotFound                  // Look, Refund, Delete, …: the key has no limiter, or an expired one; or there is no such policy
	WrongType                 // the key belongs to another algorithm, named by Result.Held
	OutOfRoom                 // a new key did not fit the memory bound
	DebtTooBig                // Force would leave the key further in debt than can be kept
	NotRefundable             // the algorithm holds nothing that could be given back
	TooMany                   // the number of policies, overrides or restrictions has reached its bound
	DuplicateKey              // two limits have the same key
	NotDurable                // the decision could not be made durable: the tokens count as taken, and the client must not act on it
	Uncertain                 // leadership was lost while it was being decided: it may or may not have been, and counts as taken
	NoLeader                  // the cluster has no leader that could decide; nothing was taken
	Moved                     // another node of the cluster decides, and the client must ask there; nothing was taken
	Overloaded                // too many operations wait to be decided; nothing was taken
	TooLong                   // the policy's limits come to a key longer than MaxKey, or a holder out of bounds, with this caller's id
	TooBig                    // the call is more than one entry of the cluster's log takes, or the reply more than a frame between nodes; nothing was taken
	Unreadable                // a node could not read or apply the operation; nothing was taken
	NoRoomToGrow              // the key exists, and its larger state did not fit the memory bound
	ListTooLong               // Leases, ListLog, ListMembers: the batch lists more than MaxListedBytes
	TooNew                    // some member of the cluster does not know the operation yet; nothing was taken
	MissingField              // Check: it lacks a field, named by Result.Reply, that the policy's limits ask for
	UnknownField              // Check: it has a field, named by Result.Reply, that no limit of the policy asks for
	ReservationDiffers        // Reserve: the id was used with other parameters
	SettledOtherwise          // Settle: it was settled with other amounts
	WrongAmounts              // Settle: the number of amounts is not that of the limits; Result.Limit has it
	NotPermitted              // Settle: the key of a limit, named by Result.Reply, matches none of the patterns in Args
	NotHeld                   // Lend, Return: the holder states more tokens than are set aside for it, Result.Lent
	NoHome                    // the key's limit has its home elsewhere, which did not answer, and no tokens of it are left here
	NotAwayFromHome           // the operation is not possible on a key whose limit has its home elsewhere; nothing was taken
	TooManyMembers            // a fair share has MaxMembers active members, and the request is of another

	endOfStatuses
)

// Known reports whether this version has the status.
func (s Status) Known() bool { return s < endOfStatuses }

// NoWait is Op.MaxWait of a request that must not wait. It only differs from none in a queue, where a place is a wait.
const NoWait = -1

// NeverWait is Result.Wait of a request that can never be granted: it asks for more than the limit.
const NeverWait = -1

// Repeated is Result.Number of a Reserve whose id was granted before.
const Repeated = 1

// NeverExpires is Result.Reset of a value without an expiry.
const NeverExpires = -1

// Result answers one Op. Times are nanoseconds, rounded up.
type Result struct {
	Status    Status
	Allowed   bool      // Acquire…: the request may go ahead
	Wanted    Algorithm // WrongType: the algorithm the operation is for; Held has the key's own
	Granted   int64     // tokens granted, or given back by a Refund; Command, Script: the number of keys changed
	Limit     int64     // most tokens that can be granted at once
	Remaining int64     // whole tokens that could still be granted, without those lent; below zero only when in debt; Command, Script: the receivers of its messages, on this replica
	Wait      int64     // allowed: hold the request this long, of several limits the longest; denied: ask again after this long, or NeverWait
	Reset     int64     // until the limiter is at its full limit
	Held      Limit     // Look: the limit the key was last held to; WrongType: of the key's algorithm
	Bytes     int64     // Look: memory the entry takes
	Lent      int64     // Look: tokens set aside for holders; Lend, Return, Void: for this holder
	Number    uint64    // Lend, Return: of the last operation on the holder's loan, 0 if it has none; Reserve: 0 or Repeated

	// Work is the work of the answer beyond the fixed cost of an operation, in units of one lease read or 64 bytes
	// copied: some 3 to 15 ns. It is not sent between nodes.
	Work int

	Binding int      // AcquireAll, Check: the part that denied with the longest wait, or -1
	Parts   []Result // AcquireAll, Check: the result of each limit; kept for reuse from one Apply to the next
	Leases  []Lease  // Leases
	Reply   []byte   // Command, Script: the reply in RESP2; ListLog: see [Result.Grants]; Look: see [Result.Details]; ListMembers: see [Result.Members]; Adapt: the rate in tokens a second; Check: the name of a field; Settle: a key that is not permitted; kept for reuse from one Apply to the next
}

// Lease is one holder of a concurrency limit.
type Lease struct {
	Holder    []byte
	Remaining int64 // nanoseconds until it expires
}

// Clear resets the fields that every operation sets. Held and Binding are only read where they were set. Slices
// keep their room, and are only written when they are in use, because a decision must not wait for the garbage collector's
// write barrier.
func (res *Result) Clear() {
	res.Status, res.Allowed = OK, false
	res.Granted, res.Limit, res.Remaining, res.Wait, res.Reset, res.Bytes, res.Lent, res.Number, res.Work = 0, 0, 0, 0, 0, 0, 0, 0, 0
	if len(res.Parts) > 0 {
		res.Parts = res.Parts[:0]
	}
	if res.Leases != nil {
		res.Leases = nil
	}
	if len(res.Reply) > 0 {
		res.Reply = res.Reply[:0]
	}
}

// grow makes room for the results of parts.
func (res *Result) grow(parts int) {
	if cap(res.Parts) < parts {
		res.Parts = make([]Result, parts)
	}
	res.Parts = res.Parts[:parts]
}

// Trim drops buffers that are too large to be kept for the next use of the result.
func (res *Result) Trim() {
	const keepReply = 16 << 10
	if res.Leases != nil {
		res.Leases = nil
	}
	if cap(res.Reply) > keepReply {
		res.Reply = nil
	}
}

// ShowsHeld reports whether Held was set: of a key that was looked at, or that an operation was not for.
func (res *Result) ShowsHeld() bool {
	return res.Status == OK && res.Bytes > 0 || res.Status == WrongType || res.Status == NotRefundable
}

// Clone returns an operation that shares no memory with the original.
func (o *Op) Clone() Op {
	c := *o
	c.Key, c.Who, c.Parts = bytes.Clone(o.Key), bytes.Clone(o.Who), slices.Clone(o.Parts)
	for i := range c.Parts {
		c.Parts[i].Key, c.Parts[i].Who = bytes.Clone(o.Parts[i].Key), bytes.Clone(o.Parts[i].Who)
	}
	if o.Verb == Reserve {
		c.Parts[0] = o.Parts[0].Clone()
	}
	if o.Loan != nil {
		loan := *o.Loan
		c.Loan = &loan
	}
	if o.Report != nil {
		report := *o.Report
		c.Report = &report
	}
	c.Args = slices.Clone(o.Args)
	for i := range c.Args {
		c.Args[i] = bytes.Clone(c.Args[i])
	}
	return c
}
