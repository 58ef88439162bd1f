package store

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// The changes that Changes reports, applied in order to a copy, keep the copy equal to the store, through growth,
// deletion, refunds, releases and flushes; and a store loaded from the copy decides like the original.
func TestChangesKeepACopyEqual(t *testing.T) {
	type kept struct {
		limit limits.Limit
		state []byte
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := New(Config{Shards: 4, Commands: txSteps{}})
		s.Track(true)
		mirror := map[string]kept{}
		takeUpTo := func(stateBytes int, now int64) (left bool) {
			complete, left := s.changesUpTo(stateBytes, now, func(c keyspace.Change) {
				switch c.Kind {
				case keyspace.Changed:
					mirror[string(c.Entry.Key)] = kept{c.Entry.Limit, bytes.Clone(c.Entry.State)}
				case keyspace.Deleted:
					delete(mirror, string(c.Entry.Key))
				case keyspace.Flushed:
					clear(mirror)
				}
			})
			if !complete {
				t.Fatal("changes were lost")
			}
			if left && !s.HasChanges() {
				t.Fatal("what was left is forgotten")
			}
			return left
		}
		take := func(now int64) {
			if takeUpTo(math.MaxInt, now) {
				t.Fatal("something is left of all")
			}
		}
		now, left := epoch, 0
		for i := range 5000 {
			now += r.Int64N(sec / 50)
			p := randomPart(r)
			number := uint8(r.IntN(3))
			p.Key = database.Append(nil, number, fmt.Appendf(p.Key, "-%d", r.IntN(50)))
			switch r.IntN(14) {
			case 12, 13:
				op := stepCommand(r)
				op.Database = number
				ask(s, now, op)
			case 0:
				ask(s, now, engine.Op{Verb: engine.Delete, Key: p.Key})
			case 1:
				ask(s, now, engine.Op{Verb: engine.Refund, Key: p.Key, Tokens: p.Tokens})
			case 2:
				ask(s, now, engine.Op{Verb: engine.Release, Key: p.Key, Who: p.Who})
			case 3:
				s.Sweep(now, 50)
			case 4:
				switch r.IntN(100) {
				case 0:
					ask(s, now, engine.Op{Verb: engine.Flush})
				case 1, 2, 3:
					ask(s, now, engine.Op{Verb: engine.Flush, Options: engine.OneDatabase, Database: number})
				}
			case 5:
				p.Options = engine.Peek
				ask(s, now, p)
			default:
				ask(s, now, p)
			}
			if r.IntN(20) == 0 && takeUpTo(r.IntN(200), now) {
				left++
			}
			if i%500 != 0 {
				continue
			}
			take(now)
			if s.HasChanges() {
				t.Fatal("there is more to tell")
			}
			again := New(Config{Shards: 2})
			for key, k := range mirror {
				if err := again.Load(now, keyspace.Entry{Key: []byte(key), Limit: k.limit, State: bytes.TrimRight(k.state, "\x00")}); err != nil {
					t.Fatalf("seed %d: %v: %s %v %x", seed, err, key, k.limit, k.state)
				}
			}
			if got, want := fmt.Sprint(contents(again, now)), fmt.Sprint(contents(s, now)); got != want {
				t.Fatalf("seed %d step %d:\ngot  %s\nwant %s", seed, i, got, want)
			}
			checkTables(t, again)
			checkDatabases(t, again)
			checkDatabases(t, s)
			again.Close()
		}
		s.Close()
		if left < 10 {
			t.Errorf("seed %d: large states were left %d times", seed, left)
		}
	}
}

// checkDatabases compares the number of keys in each database with the keys.
func checkDatabases(t *testing.T, s *Store) {
	t.Helper()
	var keys [3]int
	for i := range s.Shards() {
		s.keys.ShardAt(uint32(i)).Each(func(name []byte, _ *limits.Limit, _ []byte) {
			number, _ := database.Split(name)
			keys[number]++
		})
	}
	for number, want := range keys {
		if got := s.DatabaseLen(uint8(number)); got != want {
			t.Fatalf("database %d has %d keys, and counts %d", number, want, got)
		}
	}
}

// Flushing one database leaves all others, and of its limiters the loans.
func TestFlushOneDatabase(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	s.Track(true)
	in := func(number uint8, key string) []byte { return database.Append(nil, number, []byte(key)) }
	acquire := func(number uint8, key string) engine.Result {
		return ask(s, epoch, engine.Op{Key: in(number, key), Limit: slow, Tokens: 10})
	}
	for i := range 100 {
		acquire(uint8(i%3), fmt.Sprint("k", i))
	}
	lent := lend("a", slow, 50, 1, 0, 0)
	lent.Key = in(1, "lent")
	ask(s, epoch, lent)
	acquire(1, "lent")
	s.Changes(epoch, func(keyspace.Change) {})
	flush := func(number uint8) (kinds map[keyspace.ChangeKind]int) {
		ask(s, epoch, engine.Op{Verb: engine.Flush, Options: engine.OneDatabase, Database: number})
		kinds = map[keyspace.ChangeKind]int{}
		s.Changes(epoch, func(c keyspace.Change) { kinds[c.Kind]++ })
		return kinds
	}
	if kinds := flush(1); kinds[keyspace.Deleted] != 33 || kinds[keyspace.Changed] != 1 || kinds[keyspace.Flushed] != 0 {
		t.Errorf("reported as %v", kinds)
	}
	if got := [...]int{s.DatabaseLen(0), s.DatabaseLen(1), s.DatabaseLen(2), s.LastDatabase()}; got != [...]int{34, 1, 33, 2} {
		t.Errorf("left are %d", got)
	}
	if r := acquire(1, "lent"); r.Remaining != 100-12-10 {
		t.Errorf("with 12 tokens lent and 10 taken there are %d", r.Remaining)
	}
	if kinds := flush(0); kinds[keyspace.Deleted] != 34 || kinds[keyspace.Flushed] != 0 {
		t.Errorf("reported as %v", kinds)
	}
	ask(s, epoch, engine.Op{Verb: engine.Flush})
	acquire(0, "k")
	ask(s, epoch, engine.Op{Verb: engine.Void, Key: in(1, "lent"), Who: []byte("a"), Options: engine.Force})
	ask(s, epoch, engine.Op{Verb: engine.Delete, Key: in(1, "lent")})
	s.Changes(epoch, func(keyspace.Change) {})
	if kinds := flush(0); kinds[keyspace.Flushed] != 1 || kinds[keyspace.Deleted] != 0 || s.Len() != 0 {
		t.Errorf("the only database: reported as %v", kinds)
	}
}

// A key written many times between two calls is reported once.
func TestChangesAreCoalesced(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	s.Track(true)
	for range 100_000 {
		ask(s, epoch, engine.Op{Key: []byte("hot"), Limit: bucket(limits.MaxTokens, 1000, sec), Tokens: 1})
	}
	told := 0
	s.Changes(epoch, func(keyspace.Change) { told++ })
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	s.Changes(epoch, func(keyspace.Change) { t.Error("told again") })
}

func TestPolicyChangesAreReported(t *testing.T) {
	s, again := New(Config{}), New(Config{})
	defer s.Close()
	defer again.Close()
	s.Track(true)
	part := []engine.Op{{Key: []byte("{}"), Limit: bucket(2, 1, sec)}}
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("a"), Parts: part, Options: engine.Shadow})
	ask(s, epoch, engine.Op{Verb: engine.SetOverride, Key: []byte("a"), Who: []byte("x"), Parts: part})
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("b"), Parts: part})
	ask(s, epoch, engine.Op{Verb: engine.DropPolicy, Key: []byte("b")})
	ask(s, epoch, engine.Op{Verb: engine.DropPolicy, Key: []byte("none")})
	n := 0
	s.Changes(epoch, func(c keyspace.Change) {
		if n++; c.Kind != keyspace.PolicyChanged {
			t.Errorf("told of %+v", c)
		}
		ask(again, epoch, *c.Op)
	})
	third := New(Config{})
	defer third.Close()
	again.PolicyOps(func(op *engine.Op) { ask(third, epoch, *op) })
	want, _ := s.Policy("a")
	got, _ := third.Policy("a")
	if n != 4 || fmt.Sprint(got) != fmt.Sprint(want) || len(third.PolicyNames()) != 1 {
		t.Errorf("%d told: got %v, want %v", n, got, want)
	}
}

// payment adds credits to a balance until a time, under an id of its own.
func payment(key string, credits, expires int64) engine.Op {
	add := engine.Op{Verb: engine.AddCredits, Key: []byte(key), Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: credits, PriorAt: expires}
	return engine.Op{Verb: engine.Reserve, Key: fmt.Appendf(nil, "payment-%s-%d", key, expires), MaxWait: limits.MaxDuration, Parts: []engine.Op{add}}
}

// Whatever bytes are loaded, the engine refuses them or decides on them; it does not fall over.
func FuzzLoad(f *testing.F) {
	f.Add(uint8(limits.GCRA), uint8(0), int64(5), int64(1), sec, []byte{1, 2, 3})
	f.Add(uint8(limits.SlidingLog), uint8(0), int64(5), int64(0), sec, []byte{88, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0})
	f.Add(uint8(limits.SlidingSegments), uint8(2), int64(5), int64(0), sec, []byte{40, 0, 0, 0, 0, 0, 0, 128, 255, 255, 255, 255, 255, 255, 255, 127, 1, 0, 0, 0, 0, 0, 255, 255})
	f.Add(uint8(limits.HistoryFixedWindow), uint8(limits.EachDay), int64(6), int64(0), int64(0), []byte{80, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 129, 1})
	f.Add(uint8(limits.Concurrency), uint8(0), int64(5), int64(0), sec, []byte{64, 0, 0, 0, 27, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 127, 255, 255, 255, 255, 255, 255, 255, 127, 1, 0, 'x'})
	f.Add(uint8(limits.FixedWindow), uint8(limits.EachDay), int64(5), int64(0), int64(0), []byte{})
	s := New(Config{})
	for i := range 9 {
		ask(s, epoch+int64(i), shareOp(fairShare(90, 7, sec), string(keyOf(i)), int64(i), 1+int64(i%3)))
	}
	s.Scan(0, 1<<20, epoch, func(e keyspace.Entry) {
		f.Add(uint8(limits.FairShare), uint8(0), e.Limit.Capacity, e.Limit.Rate.Tokens, e.Limit.Rate.Period, bytes.Clone(e.State))
	})
	ask(s, epoch, reservationOfThree(1))
	ask(s, epoch, reserveOne("id", engine.Op{Key: []byte("log"), Limit: limits.Limit{Algorithm: limits.SlidingLog, Capacity: 9, Rate: limits.Rate{Tokens: 0, Period: sec + 1}}, Tokens: 2}))
	tree := func(names ...string) engine.Op {
		return treeOp(1, bucket(3, 1, sec), names, bucketOf(limits.Class, 9, 3, sec), bucketOf(limits.Class, 9, 3, sec))
	}
	for i := range 4 {
		ask(s, epoch, tree(string(keyOf(100+i)), "root"))
	}
	ask(s, epoch, engine.Op{Key: []byte("pace"), Limit: adaptiveLimit(9, 1, 3), Tokens: 1})
	for i := range int64(3) {
		ask(s, epoch, payment("credits", 9, i*sec+epoch*min(i, 1)))
	}
	ask(s, epoch, knock(penaltyLimit(2, 60*sec, sec, 9*sec), "penalty"))
	s.Scan(0, 1<<20, epoch, func(e keyspace.Entry) {
		switch e.Limit.Algorithm {
		case limits.Reservation:
			f.Add(uint8(limits.Reservation), uint8(0), int64(1), int64(0), 600*sec, bytes.Clone(e.State))
		case limits.Class, limits.Adaptive, limits.Balance, limits.Penalty:
			f.Add(uint8(e.Limit.Algorithm), uint8(0), e.Limit.Capacity, e.Limit.Rate.Tokens, e.Limit.Rate.Period, bytes.Clone(e.State))
		}
	})
	s.Close()
	f.Fuzz(func(t *testing.T, algorithm, span uint8, capacity, tokens, period int64, state []byte) {
		s := New(Config{Shards: 1})
		defer s.Close()
		l := limits.Limit{Algorithm: limits.Algorithm(algorithm), Span: limits.Span(span), Capacity: capacity, Rate: limits.Rate{Tokens: tokens, Period: period}}
		if l.Algorithm.HasLeast() {
			l.Least = max(1, tokens/2)
		}
		if l.Algorithm == limits.SlidingSegments {
			l.Segments, l.Span = span, 0
		}
		if l.Algorithm == limits.Penalty {
			l.Ban, l.LongestBan, l.Rate.Tokens = 1+int64(span)*sec, limits.MaxDuration, 0
		}
		if l.Algorithm.Known() && l.Algorithm.Base() == limits.FixedWindow && l.Span != limits.FromFirst && capacity%2 == 0 {
			l.History, l.Rollover = 3, 50
		}
		key := []byte("k")
		if len(state) > 4 && state[3] > 0 {
			return // hundreds of megabytes: not worth the fuzzer's time
		}
		if s.Load(epoch, keyspace.Entry{Key: key, Limit: l, State: state}) != nil {
			return
		}
		op := engine.Op{Key: key, Limit: l, Tokens: 1, Who: []byte("x")}
		if !l.IsAskable() {
			op.Limit = bucket(5, 1, sec)
		}
		ask(s, epoch, op)
		ask(s, epoch, settleAt("k", 7))
		ask(s, epoch, settleAt("k", 7))
		ask(s, epoch+sec, op)
		op.Options = engine.UpTo
		ask(s, epoch, op)
		ask(s, epoch, engine.Op{Verb: engine.Look, Key: key})
		ask(s, epoch, engine.Op{Verb: engine.ListMembers, Key: key})
		ask(s, epoch, engine.Op{Verb: engine.Leases, Key: key})
		ask(s, epoch, tree("k", "root"))
		ask(s, epoch, knock(op.Limit, "k"))
		ask(s, epoch+sec, tree(string(keyOf(100)), "k"))
		ask(s, epoch+sec, tree(string(keyOf(200)), "k"))
		ask(s, epoch+sec, engine.Op{Verb: engine.Adapt, Key: key, Report: &engine.Report{Good: 1, Every: sec, Down: engine.WholeRate / 2, Up: engine.WholeRate, Pause: 1}})
		ask(s, epoch, engine.Op{Verb: engine.ListCredits, Key: key})
		for i := range int64(3) {
			ask(s, epoch, payment("k", 9, i*sec+epoch*min(i, 1)))
		}
		ask(s, epoch, engine.Op{Key: key, Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: 100, Options: engine.Force})
		ask(s, epoch, engine.Op{Verb: engine.Refund, Key: key, Tokens: 3})
		ask(s, epoch, engine.Op{Verb: engine.Release, Key: key, Who: []byte("x")})
		s.Sweep(epoch+sec, 10)
	})
}

// An entry that is dropped, by a sweep or to make room, before it was reported is reported as deleted, because an older
// reported state may expire later.
func TestUnreportedDropIsReported(t *testing.T) {
	slow, fast := bucket(10, 1, 3600*sec), bucket(10, 1000, sec)
	for name, drop := range map[string]func(s *Store, now int64){
		"nothing": func(*Store, int64) {},
		"a sweep": func(s *Store, now int64) { s.Sweep(now, 10) },
		"growth": func(s *Store, now int64) {
			for i := range 100 {
				ask(s, now, engine.Op{Key: fmt.Appendf(nil, "other-%d", i), Limit: slow, Tokens: 1})
			}
		},
		"a deletion": func(s *Store, now int64) { ask(s, now, engine.Op{Verb: engine.Delete, Key: []byte("k")}) },
	} {
		s := New(Config{Shards: 1})
		s.Track(true)
		ask(s, epoch, engine.Op{Key: []byte("k"), Limit: slow, Tokens: 1})
		told := ""
		take := func(now int64) {
			s.Changes(now, func(c keyspace.Change) {
				if string(c.Entry.Key) == "k" {
					told += fmt.Sprint(c.Kind, " ")
				}
			})
		}
		take(epoch)
		// as many tokens taken as before, under a limit that gives them back within a millisecond
		ask(s, epoch+1, engine.Op{Key: []byte("k"), Limit: fast, Tokens: 1})
		drop(s, epoch+sec)
		take(epoch + sec)
		if want := fmt.Sprint(keyspace.Changed, " ", keyspace.Deleted, " "); told != want {
			t.Errorf("%s: told %q, want %q", name, told, want)
		}
		s.Close()
	}
}

// A deletion is reported even if the emptied shard was swept since, and even if the key alone is more than a shard
// records.
func TestDeletionsAreReportedAfterASweep(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	s.Track(true)
	for _, key := range [][]byte{[]byte("k"), bytes.Repeat([]byte("k"), 2*64<<10)} {
		ask(s, epoch, engine.Op{Key: key, Limit: bucket(10, 1, sec), Tokens: 1})
		s.Changes(epoch, func(keyspace.Change) {})
		ask(s, epoch, engine.Op{Verb: engine.Delete, Key: key})
		s.Sweep(epoch, 10)
		told := 0
		complete := s.Changes(epoch, func(c keyspace.Change) {
			if told++; c.Kind != keyspace.Deleted || !bytes.Equal(c.Entry.Key, key) {
				t.Errorf("told %d of %.5s", c.Kind, c.Entry.Key)
			}
		})
		if told != 1 || !complete {
			t.Errorf("told %d, complete %t", told, complete)
		}
	}
}

// What happened before changes were tracked, as in recovery, is not told afterwards.
func TestChangesBeginWithTracking(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	ask(s, epoch, engine.Op{Verb: engine.Flush})
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("a"), Parts: []engine.Op{{Key: []byte("{}"), Limit: bucket(2, 1, sec)}}})
	ask(s, epoch, engine.Op{Key: []byte("k"), Limit: bucket(10, 1, sec), Tokens: 1})
	s.Track(true)
	s.Changes(epoch, func(c keyspace.Change) { t.Errorf("told of %+v", c) })
}
