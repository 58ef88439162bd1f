package command

import (
	"strings"
	"sync"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/resp"
)

// The limits of a search for keys.
const (
	MaxScanSteps  = 1 << 20   // matching steps in one step of SCAN
	MaxKeysBytes  = 3_500_000 // bytes in a reply to KEYS, so that it fits the default --output-buffer-size
	maxKeysReply  = 100_000   // keys in a reply to KEYS
	maxMatchSteps = 1 << 22   // matching steps for one key; a pattern that takes more is refused
	keysStride    = 1000      // keys that KEYS visits before it lets other requests use the shards
	bulkOverhead  = 9         // bytes of the reply for a key, without the key itself
)

// Finder lists the keys that match a pattern and that a user may look at.
type Finder struct {
	Reader        KeyReader
	Database      uint8
	Pattern, Type string
	MaxBytes      int // bytes of reply after which a step ends
	Most          int // keys of the database after which a step ends, 0 for no limit

	own          int // keys of the database in this step
	Keys         [][]byte
	bytes, Steps int
	TooManySteps bool // matching a single key took too many steps
}

// ReadOptions parses the options of SCAN and similar commands: MATCH, TYPE if the command has it, and COUNT, which count
// checks.
func (f *Finder) ReadOptions(words [][]byte, hasType bool, count func(value []byte) error) error {
	for ; len(words) > 0; words = words[2:] {
		switch {
		case len(words) < 2:
			return ErrSyntax
		case IsWord(words[0], "MATCH"):
			f.Pattern = string(words[1])
		case hasType && IsWord(words[0], "TYPE"):
			f.Type = strings.ToLower(string(words[1]))
		case IsWord(words[0], "COUNT"):
			if err := count(words[1]); err != nil {
				return err
			}
		default:
			return ErrSyntax
		}
	}
	return nil
}

// Step visits at most count keys from a cursor on. It visits fewer if they are long or hard to match.
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

// Matches reports whether a key matches the pattern. If matching takes too many steps, it sets TooManySteps, which ends
// the search.
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

// Listing is held while KEYS or CLIENT LIST renders a long list, so that only one does at a time.
var Listing sync.Mutex

// All visits all keys. If matching takes more than maxSteps, or more keys match than KEYS may return, it returns the
// error for the caller.
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
