package engine

import (
	"encoding/binary"
	"math/bits"

	"github.com/stintdb/stint/engine/limits"
)

// Status is the outcome of an operation.
type Status uint8

// The statuses.
const (
	OK                 Status = iota
	NotFound                  // Look, Refund, Delete, …: the key has no limiter, or an expired one; or there is no such policy as Result.Reply names
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
	ListTooLong               // Leases, ListLog, ListMembers, ListWindows: the batch lists more than MaxListedBytes
	TooNew                    // some member of the cluster does not know the operation yet; nothing was taken
	MissingField              // Check: it lacks a field, named by Result.Reply, that the policy's limits ask for
	UnknownField              // Check: it has a field, named by Result.Reply, that no limit of the policy asks for
	ReservationDiffers        // Reserve: the id was used with other parameters
	SettledOtherwise          // Settle: it was settled with other amounts
	WrongAmounts              // Settle: more amounts than limits, or fewer; Result.Limit is the number of limits
	NotPermitted              // Settle, Extend: the key of a limit, named by Result.Reply, matches none of the patterns in Args
	NotHeld                   // Lend, Return: the holder states more tokens than are set aside for it, Result.Lent
	NoHome                    // the key's limit has its home elsewhere, which did not answer, and no tokens of it are left here
	NotAwayFromHome           // the operation is not possible on a key whose limit has its home elsewhere; nothing was taken
	TooManyMembers            // a fair share has MaxMembers active members, and the request is of another
	CrossSlot                 // the keys are of several groups of a cluster, see package slot; nothing was taken
	NotShared                 // AcquireAll, Check: a limit of several groups is of a kind that purses cannot have; nothing was taken
	KeyChanged                // Expect, and all after it in its batch: a key has another fingerprint, or the policies have another sum; nothing was done
	Importing                 // the cluster does not have all of the state yet that it begins with; nothing was taken
	NotNext                   // Extend: the next extension of the reservation has the number Result.Limit
	AlreadySettled            // Extend: the reservation is settled
	ReservationFull           // Extend: the reservation would have tokens of more than MaxMarks windows, or more than MaxTokens
	TooManyCredits            // AddCredits: the balance would have more than limits.MaxTokens
	TooManyGrants             // AddCredits: the balance has as many grants that expire as can be kept

	endOfStatuses
)

// Result answers one Op. Times are nanoseconds, rounded up.
type Result struct {
	Status    Status
	Allowed   bool             // Acquire…: the request may go ahead
	Wanted    limits.Algorithm // WrongType: the algorithm the operation is for; Held has the key's own
	Granted   int64            // tokens granted, or given back by a Refund; Command, Script: the number of keys changed
	Limit     int64            // most tokens that can be granted at once
	Remaining int64            // whole tokens that could still be granted, without those lent; below zero only when in debt; Command, Script: the receivers of its messages, on this replica
	Wait      int64            // allowed: hold the request this long, of several limits the longest; denied: ask again after this long, or NeverWait
	Reset     int64            // until the limiter is at its full limit
	Held      limits.Limit     // Look: the limit the key was last held to; WrongType: of the key's algorithm
	Bytes     int64            // Look: memory the entry takes
	Lent      int64            // Look: tokens set aside for holders; Lend, Return, Void: for this holder; Settle: of a part from a purse, tokens that its home is to be given back, or to be asked for if below zero
	Number    uint64           // Lend, Return: of the last operation on the holder's loan, 0 if it has none; Reserve: 0 or Repeated; Extend: the tokens of the reservation, with all its extensions; Check: of a part, the Warn of its limit, and OfBalance

	// Work is the work of the answer beyond the fixed cost of an operation, in units of one lease read or 64 bytes
	// copied: some 3 to 15 ns. It is not sent between nodes.
	Work int

	Binding int      // AcquireAll, Check, Extend: the part that denied with the longest wait, or -1
	Parts   []Result // AcquireAll, Check, Extend, Settle: the result of each limit; kept for reuse from one Apply to the next
	Leases  []Lease  // Leases
	Reply   []byte   // Command, Script: the reply in RESP2; ListLog: see [Result.Grants]; Look: see [Result.Details]; ListMembers: see [Result.Members]; ListWindows: see [Result.Windows]; ListCredits: see [Result.Credits]; Adapt: the rate in tokens a second; Check: the name of a field, or of no policy; Settle, Extend: a key that is not permitted; Fingerprint: that of the key; kept for reuse from one Apply to the next
}

// OfBalance in Result.Number says that a part of a Check is a balance.
const OfBalance = 1 << 8

// Lease is one holder of a concurrency limit.
type Lease struct {
	Holder    []byte
	Remaining int64 // nanoseconds until it expires
}

// Known reports whether this version has the status.
func (s Status) Known() bool { return s < endOfStatuses }

// Warns reports whether the use of a limit has reached a percentage of it by this result: tokens that are lent count as
// used.
func (res *Result) Warns(percent uint8) bool {
	limit := limits.Limit{Capacity: res.Limit, Warn: percent}
	return percent != 0 && res.Limit-res.Remaining >= limit.WarnAt()
}

// Binds reports whether a refusal weighs more than another.
func (res *Result) Binds(other *Result) bool {
	if (res.Status != OK) != (other.Status != OK) {
		return res.Status != OK
	}
	if res.Status != OK || other.Wait == NeverWait {
		return false
	}
	return res.Wait == NeverWait || res.Wait > other.Wait
}

// Clear resets the fields that every operation sets. Held and Binding are only read where they were set. Slices keep
// their room, and are only written when they are in use, because a decision must not wait for the garbage collector's
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

// Grow makes room for the results of parts.
func (res *Result) Grow(parts int) {
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

// StillTaken is the number of a granted request's tokens that time has not brought back after some nanoseconds. A rate
// brings back the oldest first; a window that is over brings back all. It is never too much, so giving the tokens back
// then leaves no more than if the request had never been made. Only in a sliding window that is exact, whose newest tokens are given
// back, may a part of them count for a shorter time.
func (res *Result) StillTaken(limit limits.Limit, elapsed int64) int64 {
	left := res.Reset - elapsed
	switch limit.Algorithm {
	case limits.SlidingWindow:
		left -= limit.Rate.Period // Reset is the end of the next window
	case limits.Concurrency:
		left = limit.Rate.Period - elapsed // Reset is the time until all leases have ended
	default:
		if elapsed < max(1, res.Wait) {
			return res.Granted
		}
		tokens := limit.Rate.Tokens
		if limit.Algorithm.HasLeast() {
			tokens = limit.Least // the rate in use is not known here, and never below it
		}
		// Reset was rounded up by less than a nanosecond.
		hi, lo := bits.Mul64(uint64(max(0, left-1)), uint64(tokens))
		period := uint64(limit.Rate.Period)
		if hi >= period {
			return res.Granted
		}
		still, _ := bits.Div64(hi, lo, period)
		return int64(min(still, uint64(res.Granted)))
	}
	if left <= 0 {
		return 0
	}
	return res.Granted
}

// NoPolicy makes the result one about a policy that does not exist.
func (res *Result) NoPolicy(name []byte) {
	res.Status, res.Reply = NotFound, append(res.Reply[:0], name...)
}

// StartReply makes the result one without a reply.
func (res *Result) StartReply() {
	res.Clear()
	res.Reply = res.Reply[:0]
}

// Details are facts about the state that a Look found, beyond its tokens: of fair shares, classes and adaptive rates.
func (res *Result) Details() (all []limits.Param) {
	if res.Status != OK {
		return nil
	}
	for r := (PartReader{Rest: res.Reply}); len(r.Rest) > 0; {
		p := limits.Param{Name: string(r.Text()), Text: string(r.Text())}
		if r.Bad {
			return nil
		}
		all = append(all, p)
	}
	return all
}

// AddDetail appends a field for [Result.Details] to the reply.
func (res *Result) AddDetail(name, text string) {
	for _, s := range [...]string{name, text} {
		res.Reply = append(binary.AppendUvarint(res.Reply, uint64(len(s))), s...)
	}
}

// LoansListed are the loans that a Loans has found, in the order in which they were made.
func (res *Result) LoansListed() (all []LoanOf) {
	b := res.Reply
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		b = b[max(0, size):]
		return n
	}
	for len(b) > 0 {
		size := min(number(), uint64(len(b)))
		holder := b[:size]
		b = b[size:]
		all = append(all, LoanOf{holder, int64(number()), int64(number())})
	}
	return all
}

// LoanOf is one holder's tokens of a key.
type LoanOf struct {
	Holder []byte
	Tokens int64
	Left   int64 // nanoseconds until they count as spent, 0 if that has no end
}

// Members are the members that a [ListMembers] has found, in the order of their names.
func (res *Result) Members() (all []Member) {
	if res.Status != OK {
		return nil
	}
	r := PartReader{Rest: res.Reply}
	for len(r.Rest) > 0 {
		m := Member{Weight: int64(r.Uvarint()), Taken: int64(r.Uvarint())}
		if m.Name = r.Take(uint64(r.Byte())); r.Bad {
			return nil
		}
		all = append(all, m)
	}
	return all
}

// Grants are the grants that a ListLog has found, oldest first.
func (res *Result) Grants() []Grant {
	if res.Status != OK {
		return nil
	}
	all := make([]Grant, len(res.Reply)/LogEntry)
	for i := range all {
		entry := res.Reply[i*LogEntry:]
		all[i] = Grant{int64(binary.LittleEndian.Uint64(entry)), int64(binary.LittleEndian.Uint64(entry[8:]))}
	}
	return all
}

// Member is an active member of a fair share.
type Member struct {
	Name   []byte
	Weight int64
	Taken  int64 // tokens that the refill has not given back to it, rounded up but for a thousandth
}

// Grant is tokens granted by a sliding log at a time, in nanoseconds since the Unix epoch.
type Grant struct{ Time, Tokens int64 }
