package engine

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/stintdb/stint/engine/limits"
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
	Prepare                  // number the next operation on the loan of a key whose limit has its home elsewhere; see package purse
	Deposit                  // keep home's answer to the prepared operation
	Carry                    // a key without a limiter begins with Tokens taken at PriorAt
	ListMembers              // list the active members of a fair share, in Result.Reply
	Adapt                    // adapt the rate of an adaptive limiter to the Report
	Fingerprint              // report the fingerprint of the key, in Result.Reply; see [FingerprintBytes]
	Expect                   // at the front of an atomic batch: nothing of the batch is done unless every declared key still has its fingerprint in Who; without keys, unless the policies still have the sum in Who
	ListWindows              // a Look that lists the windows of the key's limiter, in Result.Reply
	Extend                   // take Tokens more from each limit of the reservation Key without a FixedCost, and remember it for MaxWait from now on if that is longer; a part: one of these limits
	AddCredits               // in a Reserve: add Tokens to a balance, until PriorAt
	ListCredits              // a Look that lists the credits of a balance, in Result.Reply
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
	DeclaredOnly                    // Script: keys that it does not declare are refused; Settle, Extend: limits' keys that match none of the patterns in Args are
	FixedCost                       // a part: Tokens are its own, whatever the request asks for

	Cancel       = UpTo         // Settle, Prepare: everything goes back
	Strict       = Force        // SetPolicy: its keys are decided in the log alone, see Store.IsStrict in package store
	NamedFields  = DeclaredOnly // SetPolicy, SetOverride: {name} in the Key and Who of Parts stands for a field; Check: Args are such fields
	OneDatabase  = UpTo         // Flush: the keys of Database alone
	Spread       = DeclaredOnly // Acquire, also in parts and policies: a denial's wait counts those who were denied before, see package spread
	AlsoDeclared = UpTo         // Script: PriorAt counts for the keys that it declares too
	FromPurses   = Shadow       // AcquireAll, Check: limits of keys that the store does not own are asked in their purses
	Merged       = UpTo         // Lend: Loan has requests that wait
	Whole        = Force        // Lend: up to all tokens that are available, not only a part of them
	WriteOnly    = Force        // Script: Key says which declared keys may not be read
	Unread       = FixedCost    // Script: nobody reads the reply, which is left out
	Else         = DeclaredOnly // of a balance, the last part: it gives what the limits before it cannot, see package request
)

// Op is one operation. It is a value: building it touches no state.
type Op struct {
	Verb     Verb
	Options  Option
	NewKeys  NewKeys      // Restrict: the decision on these keys
	Instance uint8        // KeepOverflow: the number among the limiters of one prefix and limit, below MaxParts
	Database uint8        // Command, Script: the database of the keys; Flush: with OneDatabase; 0 in a cluster, and in the bytes of opcodec
	MaxKey   uint32       // Check: most bytes of a key once the caller's id is filled in, 0 for no bound
	Nth      uint32       // Extend: the number of the extension among those of the reservation, 1 to MaxExtensions
	Key      []byte       // binary, may be empty; only read while the operation is applied; Script: with WriteOnly, see [Op.IsWriteOnly]
	Limit    limits.Limit // Acquire
	Tokens   int64        // Acquire, Refund and ListLog; 0 in an Acquire asks without taking; AcquireAll: asked of each part without FixedCost; Script: the dialect, ScriptDialect of package store or an earlier one
	Keep     Keep         // Acquire, Check: grant only if so much remains
	Weight   int64        // Acquire, of an algorithm that weighs members: 1 to MaxWeight, or 0 for 1
	MaxWait  int64        // Reserve: remember it for this many nanoseconds; Acquire: grant the tokens available within this many nanoseconds, or with NoWait only those available now; Settle: give nothing back to a purse whose loan is that old, 0 for any age
	Who      []byte       // the holder of a lease, the member of a fair share, or the caller a policy is checked for; Script: the commands that it may call, in lower case, separated by blanks, all if empty; KeepScript: the body; Expect: the fingerprints of the declared keys, one after the other, zeros for a key that did not exist, or [PoliciesSumBytes] of the policies
	Args     [][]byte     // Command, Script: the arguments, the command's name included; Expect: the names of keys in the keyspace, see package database; Check: with NamedFields, names and values of fields by turns; Settle, Extend: with DeclaredOnly, patterns of package glob
	KeyFrom  uint32       // Command, Script, Expect: the position in Args of the first declared key
	KeyCount uint32       // Command, Script, Expect: the number of declared keys, one after the other
	Loan     *Loan        // Lend, Return and Deposit
	Report   *Report      // Adapt
	PriorAt  int64        // Acquire, also in parts, Check, Lend, Settle, Extend: if not 0, a key without a limiter begins with the leader's allowance taken at this time, in nanoseconds since the Unix epoch; Script: a key that it does not declare, at the time of the script, and with AlsoDeclared any; Carry: when Tokens were taken; AddCredits: when they expire, 0 for never
	Parts    []Op         // AcquireAll: the limits to ask, each with the options, tokens and MaxWait of the whole, but for a FixedCost; SetPolicy, SetOverride: the policy's limits, {} in Key and Who standing for the caller
}

// Request is the operation that a Reserve carries out, or else the operation itself.
func (o *Op) Request() *Op {
	if o.Verb == Reserve {
		return &o.Parts[0]
	}
	return o
}

// FirstLease is the position among Parts of the first concurrency limit that the operation asks, -1 if the operation is
// itself one. Without a concurrency limit it is len(Parts).
func (o *Op) FirstLease() int {
	if o.Verb == Acquire && o.Limit.Algorithm == limits.Concurrency {
		return -1
	}
	at := slices.IndexFunc(o.Parts, func(part Op) bool { return part.Limit.Algorithm == limits.Concurrency })
	if at < 0 {
		return len(o.Parts)
	}
	return at
}

// ExpectPolicies is an Expect of policies that have a sum.
func ExpectPolicies(sum [PoliciesSumBytes]byte) Op { return Op{Verb: Expect, Who: sum[:]} }

// ExpectsPolicies reports whether an operation is an Expect of policies.
func (o *Op) ExpectsPolicies() bool {
	return o.Verb == Expect && o.KeyCount == 0 && len(o.Who) == PoliciesSumBytes
}

// DeclaredKeys are the keys that a Command, Script or Expect states in its arguments.
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
	case Acquire, Look, Refund, Release, Delete, Lend, Return, Void, Prepare, Deposit, Carry, Adapt, Fingerprint, AddCredits:
		return true
	}
	return v.Lists()
}

// ChangesPolicies reports whether the operation sets or forgets a policy or an override.
func (v Verb) ChangesPolicies() bool { return v == SetPolicy || v == DropPolicy || v == SetOverride }

// AnyChangesPolicies reports whether some operations set or forget a policy or an override.
func AnyChangesPolicies(ops []Op) bool {
	for i := range ops {
		if ops[i].Verb.ChangesPolicies() {
			return true
		}
	}
	return false
}

// Lists reports whether the operation is a Look with a list of entries.
func (v Verb) Lists() bool {
	return v == Leases || v == ListLog || v == ListMembers || v == Loans || v == ListWindows || v == ListCredits
}

// Writes reports whether the operation can change state.
func (o *Op) Writes() bool {
	switch o.Verb {
	case Look, Fingerprint, Expect:
		return false
	}
	return !o.Verb.Lists() && o.Options&Peek == 0
}

// NoWait is Op.MaxWait of a request that must not wait. It only differs from none in a queue, where a place is a wait.
const NoWait = -1

// NeverWait is Result.Wait of a request that can never be granted: it asks for more than the limit.
const NeverWait = -1

// Repeated is Result.Number of a Reserve whose id was granted before.
const Repeated = 1

// NeverExpires is Result.Reset of a value without an expiry.
const NeverExpires = -1

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

// Loan identifies an operation on a holder's loan, and states the holder's unspent tokens.
//
// A holder decides requests alone, with tokens that were set aside for it before. The limiter's capacity is reduced by
// them until the holder states in its next [Lend] or [Return] how many it has not spent, or a [Void] counts all of them
// as spent. So the limiter and the holders never grant more than the limit together, and no clock of a holder matters.
//
// An operation is ignored unless Previous is the number of the last one that was carried out. Otherwise an operation
// that the holder has given up on could be carried out first, and Left would not count the tokens that it brought.
type Loan struct {
	Number   uint64 // of this operation, another for each of a holder's operations on any key; not 0
	Previous uint64 // the number of the last operation on the loan that was carried out, 0 if there is none
	Left     int64  // tokens that the holder has and has not spent, 0 to MaxTokens

	// A Lend with [Merged] first grants requests that wait at the holder, like Waiting Acquires of Each tokens. It adds
	// their tokens to Result.Granted, not to Result.Lent. If one was denied, Result.Wait is the wait of the first.
	Waiting, Each int64
}

// Report is the news of some calls of the backend that an [Adapt] brings.
type Report struct {
	Good, Bad int64 // calls that went well, and that did not, 0 to MaxReported
	Every     int64 // nanoseconds between two decisions, MinDuration to MaxDuration
	Down, Up  int64 // thousandths of a percent: the rate left after bad calls, and the part of the highest rate added after good ones
	Pause     int64 // grant nothing for this many nanoseconds, 0 to MaxDuration
}

// NewKeys is the treatment of a request on a key that has no entry, and so would need room for a new one.
type NewKeys uint8

// The treatments of new keys.
const (
	AdmitNew    NewKeys = iota // they are kept
	DenyNew                    // they are refused: [OutOfRoom]
	AllowNew                   // they are decided as usual, and no state is kept
	OverflowNew                // keys of one prefix share one limiter for each requested limit
)

// Keep is the part of a limit that a request must leave to others: it is granted only if so much remains afterwards. It
// is trunk reservation, as telephone networks keep lines for the calls that matter most. A limit from which something
// is kept must have room now: MaxWait does not apply to it. The zero value keeps nothing, but for what a check keeps of
// all limits.
type Keep int64

// KeepNothing keeps nothing of a policy's limit, whatever a check keeps of the others.
const KeepNothing Keep = math.MinInt64

// KeepPercent is a share of the capacity in thousandths of a percent, 0 to MaxKeepPercent.
func KeepPercent(thousandths int64) Keep { return Keep(-thousandths) }

// KeepTokens is a number of tokens, 0 to MaxTokens.
func KeepTokens(n int64) Keep { return Keep(n) }

// MaxKeepPercent is all of a limit.
const MaxKeepPercent = 100_000

// Valid reports whether k is in its range.
func (k Keep) Valid() bool { return k == KeepNothing || k >= -MaxKeepPercent && k <= limits.MaxTokens }

// HasElse reports whether the last of some parts is one with [Else].
func HasElse(parts []Op) bool { return len(parts) > 0 && parts[len(parts)-1].IsElse() }

// IsElse reports whether a part is a balance with [Else].
func (o *Op) IsElse() bool { return o.Options&Else != 0 && o.Limit.Algorithm == limits.Balance }

// IsSpread reports whether denied callers of a limit are told to come back in turn: [Spread].
func (o *Op) IsSpread() bool { return o.Options&Spread != 0 && o.Limit.Algorithm != limits.Balance }

// IsIncluded reports whether a part gives what it can of a cost whose rest a part with [Else] gives: its limit can give
// less than it is asked for, and it has no cost of its own.
func (o *Op) IsIncluded() bool {
	return o.Options&FixedCost == 0 && o.Limit.Algorithm.Base().Keeps()
}

// ElseValidly reports whether [Else] stands, if at all, at the last of the parts, a balance without a cost of its own,
// after a part with which it divides the cost. No part may have [Spread]: what a limit is asked for depends on the others.
func (o *Op) ElseValidly() bool {
	for i := range o.Parts {
		p := &o.Parts[i]
		if !p.IsElse() {
			continue
		}
		if i != len(o.Parts)-1 || p.Options&FixedCost != 0 {
			return false
		}
		return slices.ContainsFunc(o.Parts[:i], func(p Op) bool { return p.IsIncluded() }) && !slices.ContainsFunc(o.Parts, func(p Op) bool { return p.IsSpread() })
	}
	return true
}

// AsksNothing reports whether a part is only to be reported.
func (o *Op) AsksNothing() bool { return o.Options&FixedCost != 0 && o.Tokens == 0 }

// IsRequest reports whether an operation asks several limits, and nothing else.
func (o *Op) IsRequest() bool { return o.Verb == AcquireAll || o.Verb == Check }

// OfAllowance is the question to the leader's allowance for an Acquire; it returns false if that cannot answer it.
func (o *Op) OfAllowance() (own Op, ok bool) {
	most := o.Limit.LeaderAllowance()
	if most == 0 || o.Options&^(Peek|UpTo|FixedCost|Spread) != 0 || o.Keep != 0 && o.Keep != KeepNothing || o.MaxWait > 0 {
		return own, false
	}
	own = *o
	if o.Options&Peek != 0 {
		return own, true
	}
	own.Options &^= UpTo // all or nothing: the rest of the limit may have more
	own.Keep = KeepTokens(o.Limit.Capacity - most)
	return own, o.Tokens <= most
}

// MaxPrefix bounds a prefix in bytes; a longer one counts as none.
const MaxPrefix = 64

// Valid reports whether every field is in its range.
func (r *Report) Valid() bool {
	return r.Good >= 0 && r.Good <= MaxReported && r.Bad >= 0 && r.Bad <= MaxReported && r.Every >= limits.MinDuration && r.Every <= limits.MaxDuration &&
		r.Down > 0 && r.Down < WholeRate && r.Up > 0 && r.Up <= WholeRate && r.Pause >= 0 && r.Pause <= limits.MaxDuration
}

// IsEmpty reports whether it changes nothing.
func (r *Report) IsEmpty() bool { return r.Good == 0 && r.Bad == 0 && r.Pause == 0 }

// MemberKey is key:member of a request for a fair share, nil of all others. No limiter has this key; a user needs
// access to it to name the member, which bounds the names that a user can make up.
func (o *Op) MemberKey() []byte {
	if !o.Limit.Algorithm.Weighs() {
		return nil
	}
	return AppendMember(append(make([]byte, 0, len(o.Key)+1+len(o.Who)), o.Key...), o.Who)
}

// KeepsValidly reports whether an operation on a limit may have its Keep.
func (o *Op) KeepsValidly() bool {
	return o.Keep == 0 || o.Keep.Valid() && o.Limit.Algorithm.Keeps() && o.Options&Force == 0
}

// SpreadsValidly reports whether an operation on a limit may have Spread.
func (o *Op) SpreadsValidly() bool { return !o.IsSpread() || o.Limit.Algorithm.Spreads() }

// WeighsValidly reports whether an operation on a limit may have its Weight.
func (o *Op) WeighsValidly() bool {
	return o.Weight == 0 || o.Weight > 0 && o.Weight <= MaxWeight && o.Limit.Algorithm.Weighs()
}

// Of is the number of tokens kept of a capacity. A share is rounded up.
func (k Keep) Of(capacity int64) int64 {
	switch {
	case k == KeepNothing:
		return 0
	case k >= 0:
		return int64(k)
	}
	share := int64(-k)
	return capacity/MaxKeepPercent*share + (capacity%MaxKeepPercent*share+MaxKeepPercent-1)/MaxKeepPercent
}

// String is k as clients write it, such as 50 or 12.5%.
func (k Keep) String() string {
	switch {
	case k == KeepNothing:
		return "0"
	case k >= 0:
		return strconv.FormatInt(int64(k), 10)
	}
	return strconv.FormatFloat(float64(-k)/1000, 'f', -1, 64) + "%"
}

// AppendMember appends the rest of [Op.MemberKey] to the key of the fair share.
func AppendMember(key, member []byte) []byte { return append(append(key, ':'), member...) }
