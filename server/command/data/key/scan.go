package key

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

const (
	scanCount = 10 // entries a SCAN passes over when COUNT is not given, as Redis does

	// A step of SCAN ends at the first of these.
	maxScanCount = 10_000    // entries passed over
	maxScanBytes = 256 << 10 // of the reply
)

func runScan(s command.Session, w *resp.Writer, args [][]byte) {
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		w.Error(command.ErrInvalidCursor.Error())
		return
	}
	pattern, count, typ := "*", int64(scanCount), ""
	for words := args[2:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 {
			w.Error(command.ErrSyntax.Error())
			return
		}
		switch {
		case command.IsWord(words[0], "MATCH"):
			pattern = string(words[1])
		case command.IsWord(words[0], "TYPE"):
			typ = strings.ToLower(string(words[1]))
		case command.IsWord(words[0], "COUNT"):
			var ok bool
			if count, ok = command.ParseInteger(words[1]); !ok {
				w.Error(command.ErrNotInteger.Error())
				return
			}
			if count < 1 {
				w.Error(command.ErrSyntax.Error())
				return
			}
		default:
			w.Error(command.ErrSyntax.Error())
			return
		}
	}
	f := command.Finder{Reader: s, Database: s.Client().Database, Pattern: pattern, Type: typ, MaxBytes: maxScanBytes, Most: int(min(count, maxScanCount))}
	passed := f.Most
	if s.Server().Keys().LastDatabase() > 0 {
		passed = maxScanCount // most may be those of other databases
	}
	next := f.Step(s.Server(), cursor, passed)
	if f.TooManySteps {
		w.Error(command.ErrPattern.Error())
		return
	}
	w.Array(2)
	w.BulkString(strconv.FormatUint(next, 10))
	command.WriteKeys(w, f.Keys)
}

const (
	keysAtOnce  = 10_000 // keys, up to which KEYS looks through them on the event loop
	stepsAtOnce = 1 << 22
	maxSteps    = 1 << 28 // of one KEYS
)

// runKeys looks through a few keys at once, and through many beside the event loop, while the connection waits.
func runKeys(s command.Session, w *resp.Writer, args [][]byte) {
	server, pattern, many := s.Server(), string(args[1]), s.Server().Keys().Len() > keysAtOnce
	if many && !s.MayAwait() {
		w.Error(errKeysInMulti.With(keysAtOnce).Error())
		return
	}
	if f := newKeysFinder(s, pattern); !many {
		if err := f.All(server, stepsAtOnce); !errors.Is(err, command.ErrPattern) || !s.MayAwait() {
			f.Answer(w, err)
			return
		}
	}
	s.AwaitReply(func(done func(func(*resp.Writer))) {
		go func() {
			command.Listing.Lock()
			defer command.Listing.Unlock()
			f := newKeysFinder(s, pattern)
			err := f.All(server, maxSteps)
			done(func(w *resp.Writer) { f.Answer(w, err) })
		}()
	})
}

func newKeysFinder(s command.Session, pattern string) *command.Finder {
	return &command.Finder{Reader: s, Database: s.Client().Database, Pattern: pattern, MaxBytes: math.MaxInt}
}

const (
	randomTries = 100  // places where RANDOMKEY looks for a key that the user may look at
	randomAll   = 1000 // keys, up to which it looks at all of them
)

// runRandomKey takes a key from a random place. It gives up after some tries: a user's keys, or those of the database, may be few among millions.
func runRandomKey(s command.Session, w *resp.Writer, _ [][]byte) {
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
		if f.Step(s.Server(), 0, 2*randomAll); len(f.Keys) > 0 {
			found = f.Keys[rand.IntN(len(f.Keys))]
		}
	}
	if found == nil {
		w.Null()
		return
	}
	w.Bulk(found)
}
