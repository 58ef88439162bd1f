package engine

// Verb is what an operation does to its key.
type Verb uint8

// The verbs.
const (
	Acquire      Verb = iota // ask Limit for Tokens
	AcquireAll               // ask every one of Parts, all or nothing; has no key
	Check                    // ask the policy named Key on behalf of the caller Who, all or nothing
	Look                     // report the key's limiter and change nothing
	Refund                   // give back at most Tokens of what was taken
	Release                  // end the lease that Who holds
	Leases                   // list the leases, in Result.Leases
	Delete                   // make the key as good as new
	Flush                    // make every key as good as new; has no key
	SetPolicy                // keep Parts as the policy named Key
	DropPolicy               // forget the policy named Key
	SetOverride              // keep Parts in place of the policy's own for the caller Who; none ends it
	Restrict                 // treat new keys that begin with Key as Options say; Who are the delimiters of prefixes
	KeepOverflow             // a shared limiter as it was, from a snapshot: of the prefix Key, the state Who, the limit of Parts
)

// Option changes how an Acquire decides.
type Option uint8

// The options; commands.md of the handbook says what each means to a client.
const (
	Peek   Option = 1 << iota // answer as if, change nothing
	UpTo                      // grant as many as there are, up to Tokens
	Force                     // grant even what is not there
	Shadow                    // SetPolicy: only count what would be denied
)

// Op is one operation. It is a value: building it touches no state.
type Op struct {
	Verb    Verb
	Options Option
	MaxKey  uint32 // Check: most bytes of a key once the caller's id is filled in, 0 for no bound
	Key     []byte // binary, may be empty; only read while the operation is applied
	Limit   Limit  // Acquire
	Tokens  int64  // Acquire and Refund; 0 in an Acquire asks without taking
	MaxWait int64  // Acquire: grant what will be there within this many nanoseconds, or with NoWait only what is there now
	Who     []byte // the holder of a lease, or the caller a policy is checked for
	Parts   []Op   // AcquireAll: the limits to ask; SetPolicy, SetOverride: the policy's limits, {} in Key standing for Who
}

// Writes reports whether the operation can change state.
func (o *Op) Writes() bool {
	return o.Verb != Look && o.Verb != Leases && o.Options&Peek == 0
}

// Status says whether an operation could be carried out.
type Status uint8

// The statuses.
const (
	OK            Status = iota
	NotFound             // Look, Refund, Delete, …: the key has no limiter, or one as good as new; or there is no such policy
	WrongType            // the key belongs to another algorithm, named by Result.Held
	OutOfRoom            // a new key did not fit the memory bound
	DebtTooBig           // Force would leave the key further in debt than can be kept
	NotRefundable        // the algorithm holds nothing that could be given back
	PolicyTooMany        // there are as many policies, or overrides of one, as are kept
	SameKeyTwice         // the policy's limits come to the same key for this caller
	NotKept              // what was decided could not be made durable: it counts as taken, and must not be acted on
	Uncertain            // leadership was lost while it was being decided: it may or may not have been, and counts as taken
	NoLeader             // the cluster has no leader that could decide; nothing was taken
	Moved                // another node of the cluster decides, and the client is to ask there; nothing was taken
	Overloaded           // more is waiting to be decided than may; nothing was taken
	TooLong              // the policy's limits come to a key longer than MaxKey, or a holder out of bounds, for this caller

	endOfStatuses
)

// NoWait is Op.MaxWait of a request that must not wait. It only differs from none in a queue, where a place is a wait.
const NoWait = -1

// NeverWait is Result.Wait of a request that can never be granted: it asks for more than the limit.
const NeverWait = -1

// Result answers one Op. Times are nanoseconds, rounded up.
type Result struct {
	Status    Status
	Allowed   bool      // Acquire…: the request may go ahead
	Wanted    Algorithm // WrongType: the algorithm the operation is for; Held has the key's own
	Granted   int64     // tokens granted, or given back by a Refund
	Limit     int64     // most tokens that can be granted at once
	Remaining int64     // whole tokens that could still be granted; below zero only when in debt
	Wait      int64     // allowed: hold the request this long; denied: ask again after this long, or NeverWait
	Reset     int64     // until the limiter is as good as new
	Held      Limit     // Look: the limit the key was last held to; WrongType: of the key's algorithm
	Bytes     int64     // Look: memory the entry takes

	Binding int      // AcquireAll, Check: the part that denied with the longest wait, or -1
	Parts   []Result // AcquireAll, Check: what each limit says; kept for reuse from one Apply to the next
	Leases  []Lease  // Leases
}

// Lease is one holder of a concurrency limit.
type Lease struct {
	Holder    []byte
	Remaining int64 // nanoseconds until it ends by itself
}

// reset empties what an operation fills in unasked. Held and Binding are only read where they were set. Slices
// keep their room, and are only written when they are in use, as a decision must not wait for the garbage collector's
// write barrier.
func (res *Result) reset() {
	res.Status, res.Allowed = OK, false
	res.Granted, res.Limit, res.Remaining, res.Wait, res.Reset, res.Bytes = 0, 0, 0, 0, 0, 0
	if len(res.Parts) > 0 {
		res.Parts = res.Parts[:0]
	}
	if res.Leases != nil {
		res.Leases = nil
	}
}
