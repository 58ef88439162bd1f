package engine

// Verb is what an operation does to its key.
type Verb uint8

// The verbs.
const (
	Acquire Verb = iota // ask Limit for Tokens
	Look                // report the key's limiter and change nothing
	Refund              // give back at most Tokens of what was taken
	Delete              // make the key as good as new
	Flush               // make every key as good as new; has no key
)

// Option changes how an Acquire decides.
type Option uint8

// The options; commands.md of the handbook says what each means to a client.
const (
	Peek  Option = 1 << iota // answer as if, change nothing
	UpTo                     // grant as many as there are, up to Tokens
	Force                    // grant even what is not there
)

// Op is one operation on one key. It is a value: building it touches no state.
type Op struct {
	Verb    Verb
	Options Option
	Key     []byte // binary, may be empty; only read while the operation is applied
	Limit   Limit  // Acquire
	Tokens  int64  // Acquire and Refund; 0 in an Acquire asks without taking
	MaxWait int64  // Acquire: grant what will be there within this many nanoseconds
}

// Writes reports whether the operation can change state.
func (o *Op) Writes() bool {
	return o.Verb != Look && o.Options&Peek == 0
}

// Status says whether an operation could be carried out.
type Status uint8

// The statuses.
const (
	OK         Status = iota
	NotFound          // Look, Refund, Delete: the key has no limiter, or one as good as new
	WrongType         // the key belongs to another algorithm, named by Result.Held
	OutOfRoom         // a new key did not fit the memory bound
	DebtTooBig        // Force would leave the key further in debt than can be kept
)

// NeverWait is Result.Wait of a request that can never be granted: it asks for more than the limit.
const NeverWait = -1

// Result answers one Op. Times are nanoseconds, rounded up.
type Result struct {
	Status    Status
	Allowed   bool  // Acquire: the request may go ahead
	Granted   int64 // tokens granted, or given back by a Refund
	Limit     int64 // most tokens that can be granted at once
	Remaining int64 // whole tokens that could still be granted; below zero only when in debt
	Wait      int64 // allowed: hold the request this long; denied: ask again after this long, or NeverWait
	Reset     int64 // until the limiter is as good as new
	Held      Limit // Look: the limit the key was last held to; WrongType: of the key's algorithm
	Bytes     int64 // Look: memory the entry takes
}
