package engine

// MaxValueBytes bounds the data of one value: a command reads and copies all of it.
const MaxValueBytes = 1 << 20

// Value is the data of a key that holds no limiter: a string, hash, sorted set, list or set of Redis, or the state of
// its command GCRA.
type Value struct {
	Kind      Kind   // of a limiter's key, its algorithm: such a key has no Data
	ExpiresAt int64  // nanoseconds since the Unix epoch; 0 for never
	Data      []byte // laid out as package datatype says
}
