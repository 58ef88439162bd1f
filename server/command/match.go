package command

import (
	"sync"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/resp"
)

// The bounds of a search for keys.
const (
	MaxScanSteps  = 1 << 20   // of matching, in one step of SCAN
	MaxKeysBytes  = 3_500_000 // of the reply to KEYS, so that it fits the default --output-buffer-size
	maxKeysReply  = 100_000   // keys in that reply
	maxMatchSteps = 1 << 22   // of matching one key; a pattern that takes more is refused
	keysStride    = 1000      // keys that KEYS passes over before it lets others at the shards
	bulkOverhead  = 9         // bytes of the reply for a key, without the key
)

// Finder lists keys that match and that a user may look at.
type Finder struct {
	Reader        KeyReader
	Database      uint8
	Pattern, Type string
	MaxBytes      int // where a step ends
	Most          int // keys of the database after which it ends, 0 for no bound

	own          int // keys of the database in this step
	Keys         [][]byte
	bytes, Steps int
	TooManySteps bool // on one key
}

// Step passes over at most count keys from a cursor on, and fewer where they are long or hard to match.
func (f *Finder) Step(s Server, cursor uint64, count int) (next uint64) {
	f.Steps, f.own = 0, 0
	return s.Keys().ScanWhile(cursor, count, s.Now(), func(e keyspace.Entry) bool {
		number, key := database.Split(e.Key)
		if number != f.Database {
			return true
		}
		f.own++
		if (f.Type == "" || f.Type == e.Limit.Algorithm.String()) && f.Matches(key) && f.Reader.Reaches(key) {
			f.Keys = append(f.Keys, append([]byte{}, key...))
			f.bytes += len(key) + bulkOverhead
		}
		return f.own != f.Most && f.bytes < f.MaxBytes && f.Steps < MaxScanSteps && !f.TooManySteps
	})
}

// Matches reports whether a key matches the pattern. A pattern that takes too many steps on one key ends the search: see TooManySteps.
func (f *Finder) Matches(key []byte) bool {
	if f.Pattern == "*" {
		return true
	}
	matches, steps := glob.MatchWithin(f.Pattern, string(key), maxMatchSteps)
	f.Steps += steps
	f.TooManySteps = f.TooManySteps || steps >= maxMatchSteps
	return matches
}

// WriteKeys writes an array of keys.
func WriteKeys(w *resp.Writer, keys [][]byte) {
	w.Array(len(keys))
	for _, k := range keys {
		w.Bulk(k)
	}
}

// Listing lets one KEYS or CLIENT LIST at a time render a long list.
var Listing sync.Mutex

// All goes through all keys. Its error is the reply to the caller: a pattern that takes more than maxSteps, or more keys than KEYS may return.
func (f *Finder) All(s Server, maxSteps int) error {
	steps := 0
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = f.Step(s, cursor, keysStride)
		steps += f.Steps
		switch {
		case f.TooManySteps || steps > maxSteps:
			return ErrPattern
		case len(f.Keys) > maxKeysReply || f.bytes > MaxKeysBytes:
			return errManyKeys.With(maxKeysReply, MaxKeysBytes)
		}
	}
	return nil
}

// Answer writes the keys that were found, or the error that ended the search.
func (f *Finder) Answer(w *resp.Writer, err error) {
	if err != nil {
		w.Error(err.Error())
		return
	}
	WriteKeys(w, f.Keys)
}
