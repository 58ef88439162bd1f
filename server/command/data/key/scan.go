package key

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

const (
	scanCount = 10 // the default COUNT, as in Redis

	// A step of SCAN ends at the first of these.
	maxScanCount = 10_000    // keys visited
	maxScanBytes = 256 << 10 // bytes of the reply
)

func runScan(s command.Session, w *resp.Writer, args [][]byte) {
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		w.Error(command.ErrInvalidCursor.Error())
		return
	}
	f := command.Finder{Reader: s, Database: s.Client().Database, Pattern: "*", MaxBytes: maxScanBytes, Most: scanCount}
	err = f.ReadOptions(args[2:], true, func(value []byte) error {
		count, ok := command.ParseRedisInt(value)
		switch {
		case !ok:
			return command.ErrNotInteger
		case count < 1:
			return command.ErrSyntax
		}
		f.Most = int(min(count, maxScanCount))
		return nil
	})
	if err != nil {
		w.Error(err.Error())
		return
	}
	passed := f.Most
	if s.Server().Keys().LastDatabase() > 0 {
		passed = maxScanCount // most keys may be in other databases
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
	keysAtOnce  = 10_000  // the most keys through which KEYS looks on the event loop
	stepsAtOnce = 1 << 22 // matching steps on the event loop
	maxSteps    = 1 << 28 // matching steps of one KEYS
)

// runKeys looks through few keys on the event loop, and through many in another goroutine while the connection waits.
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
	randomAll   = 1000 // the most keys through all of which RANDOMKEY looks
)

// runRandomKey takes a key from a random place. It gives up after some tries, because few among millions of keys may be
// in the database and open to the user.
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
