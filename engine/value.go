package engine

// MaxValueBytes bounds the data of one value that is not in blocks: a command reads and copies all of it.
const MaxValueBytes = 1 << 20

// Value is the data of a key that holds no limiter: a string, hash, sorted set, list or set of Redis, or the state of
// its command GCRA.
type Value struct {
	Kind      Kind   // of a limiter's key, its algorithm: such a key has no Data
	InBlocks  bool   // Data is the head of a value in blocks: see package large
	ExpiresAt int64  // nanoseconds since the Unix epoch; 0 for never
	Data      []byte // laid out as package datatype says
}
