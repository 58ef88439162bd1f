package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/stintdb/stint/engine/limits"
)

// Warning says that the use of a limit has reached its threshold, [limits.Limit.Warn]. There is one for each window and
// key.
type Warning struct {
	Key        []byte // as the keyspace has it, see package database
	Limit      limits.Limit
	Used       int64 // tokens
	At         int64 // nanoseconds since the Unix epoch
	Start, End int64 // of the window; 0 of a bucket, which has none
}

// ID is the same for the same key, limit and window, on every replica and whenever it is computed.
func (w *Warning) ID() string {
	start := w.Start
	if w.End == 0 {
		start = w.At
	}
	b := binary.BigEndian.AppendUint64(w.Limit.Append(nil), uint64(start))
	sum := sha256.Sum256(append(b, w.Key...))
	return hex.EncodeToString(sum[:16])
}
