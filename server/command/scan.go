package command

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/resp"
)

const (
	scanCount = 10 // entries a SCAN passes over when COUNT is not given, as Redis does

	// A step of SCAN ends at the first of these.
	maxScanCount = 10_000    // entries passed over
	maxScanBytes = 256 << 10 // of the reply
	maxScanSteps = 1 << 20   // of matching the pattern

	// KEYS answers with an error beyond these.
	maxKeysReply = 100_000
	maxKeysBytes = 3_500_000 // of the reply, so that it fits the default --output-buffer-size

	// maxMatchSteps bounds the steps of matching one key; a pattern that takes more is refused.
	maxMatchSteps = 1 << 22
)

func runScan(s Session, w *resp.Writer, args [][]byte) {
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		w.Error(ErrInvalidCursor.Error())
		return
	}
	pattern, count, typ := "*", int64(scanCount), ""
	for words := args[2:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 {
			w.Error(ErrSyntax.Error())
			return
		}
		switch {
		case isWord(words[0], "MATCH"):
			pattern = string(words[1])
		case isWord(words[0], "TYPE"):
			typ = strings.ToLower(string(words[1]))
		case isWord(words[0], "COUNT"):
			var ok bool
			if count, ok = integer(words[1]); !ok {
				w.Error(ErrNotInteger.Error())
				return
			}
			if count < 1 {
				w.Error(ErrSyntax.Error())
				return
			}
		default:
			w.Error(ErrSyntax.Error())
			return
		}
	}
	f := finder{reader: s, database: s.Client().Database, pattern: pattern, typ: typ, maxBytes: maxScanBytes, most: int(min(count, maxScanCount))}
	passed := f.most
	if s.Server().Keys().LastDatabase() > 0 {
		passed = maxScanCount // most may be those of other databases
	}
	next := f.step(s.Server(), cursor, passed)
	if f.tooManySteps {
		w.Error(errPattern.Error())
		return
	}
	w.Array(2)
	w.BulkString(strconv.FormatUint(next, 10))
	writeKeys(w, f.keys)
}

// finder lists keys that match and that a user may look at.
type finder struct {
	reader       KeyReader
	database     uint8
	pattern, typ string
	maxBytes     int // where a step ends
	most         int // keys of the database after which it ends, 0 for no bound

	own          int // keys of the database in this step
	keys         [][]byte
	bytes, steps int
	tooManySteps bool // on one key
}

// step passes over at most count keys from a cursor on, and fewer where they are long or hard to match.
func (f *finder) step(s Server, cursor uint64, count int) (next uint64) {
	f.steps, f.own = 0, 0
	return s.Keys().ScanWhile(cursor, count, s.Now(), func(e keyspace.Entry) bool {
		number, key := database.Split(e.Key)
		if number != f.database {
			return true
		}
		f.own++
		if (f.typ == "" || f.typ == e.Limit.Algorithm.String()) && f.matches(key) && f.reader.Reaches(key) {
			f.keys = append(f.keys, append([]byte{}, key...))
			f.bytes += len(key) + bulkOverhead
		}
		return f.own != f.most && f.bytes < f.maxBytes && f.steps < maxScanSteps && !f.tooManySteps
	})
}

// bulkOverhead is the size of a reply for a key, without the key's bytes.
const bulkOverhead = 9

func (f *finder) matches(key []byte) bool {
	if f.pattern == "*" {
		return true
	}
	matches, steps := glob.MatchWithin(f.pattern, string(key), maxMatchSteps)
	f.steps += steps
	f.tooManySteps = f.tooManySteps || steps >= maxMatchSteps
	return matches
}

func writeKeys(w *resp.Writer, keys [][]byte) {
	w.Array(len(keys))
	for _, k := range keys {
		w.Bulk(k)
	}
}

const (
	keysStride  = 1000   // keys that KEYS passes over before it lets others at the shards
	keysAtOnce  = 10_000 // keys, up to which KEYS looks through them on the event loop
	stepsAtOnce = 1 << 22
	maxSteps    = 1 << 28 // of one KEYS
)

// runKeys looks through a few keys at once, and through many beside the event loop, while the connection waits.
func runKeys(s Session, w *resp.Writer, args [][]byte) {
	server, pattern, many := s.Server(), string(args[1]), s.Server().Keys().Len() > keysAtOnce
	if many && !s.MayAwait() {
		w.Error(errKeysInMulti.With(keysAtOnce).Error())
		return
	}
	if f := newKeysFinder(s, pattern); !many {
		if err := f.all(server, stepsAtOnce); !errors.Is(err, errPattern) || !s.MayAwait() {
			f.answer(w, err)
			return
		}
	}
	s.AwaitReply(func(done func(func(*resp.Writer))) {
		go func() {
			listing.Lock()
			defer listing.Unlock()
			f := newKeysFinder(s, pattern)
			err := f.all(server, maxSteps)
			done(func(w *resp.Writer) { f.answer(w, err) })
		}()
	})
}

func newKeysFinder(s Session, pattern string) *finder {
	return &finder{reader: s, database: s.Client().Database, pattern: pattern, maxBytes: math.MaxInt}
}

// listing lets one KEYS or CLIENT LIST at a time render a long list.
var listing sync.Mutex

// all goes through all keys. It fails with what answers the caller.
func (f *finder) all(s Server, maxSteps int) error {
	steps := 0
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = f.step(s, cursor, keysStride)
		steps += f.steps
		switch {
		case f.tooManySteps || steps > maxSteps:
			return errPattern
		case len(f.keys) > maxKeysReply || f.bytes > maxKeysBytes:
			return errManyKeys.With(maxKeysReply, maxKeysBytes)
		}
	}
	return nil
}

func (f *finder) answer(w *resp.Writer, err error) {
	if err != nil {
		w.Error(err.Error())
		return
	}
	writeKeys(w, f.keys)
}

const (
	randomTries = 100  // places where RANDOMKEY looks for a key that the user may look at
	randomAll   = 1000 // keys, up to which it looks at all of them
)

// runRandomKey takes a key from a random place. It gives up after some tries: a user's keys, or those of the database, may be few among millions.
func runRandomKey(s Session, w *resp.Writer, _ [][]byte) {
	var found []byte
	keys, own := s.Server().Keys(), s.Client().Database
	if keys.Len() > randomAll {
		keys.Random(randomTries, s.Server().Now(), rand.IntN, func(e keyspace.Entry) bool {
			if number, key := database.Split(e.Key); number == own && s.Reaches(key) {
				found = append([]byte{}, key...)
			}
			return found == nil
		})
	}
	if found == nil && (keys.Len() <= randomAll || keys.LastDatabase() > 0) {
		f := newKeysFinder(s, "*")
		if f.step(s.Server(), 0, 2*randomAll); len(f.keys) > 0 {
			found = f.keys[rand.IntN(len(f.keys))]
		}
	}
	if found == nil {
		w.Null()
		return
	}
	w.Bulk(found)
}
