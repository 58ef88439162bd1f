package store

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// growingBytes is the bound on the memory of a growingStore.
const growingBytes = 8 << 20

// growingStore is one full of keys beside a log, a semaphore and a group's log, that hold little yet.
func growingStore(t *testing.T, mode engine.NewKeys, replicated bool) *Store {
	s := New(Config{Shards: 16, MaxBytes: growingBytes, Replicated: replicated})
	t.Cleanup(s.Close)
	s.SetRules(admission.Rules{NewKeys: mode, Delimiters: ":"})
	for i := range 40 {
		if ask(s, epoch+int64(i), engine.Op{Key: []byte("log"), Limit: aLog, Tokens: 1}).Status != engine.OK || !hold(s, i).Allowed {
			t.Fatal("the first ones are refused")
		}
	}
	return s
}

var (
	aLog       = limits.Limit{Algorithm: limits.SlidingLog, Capacity: 10_000, Rate: limits.Rate{Tokens: 0, Period: 3600 * sec}}
	aSemaphore = limits.Limit{Algorithm: limits.Concurrency, Capacity: 500, Rate: limits.Rate{Tokens: 0, Period: 3600 * sec}}
)

func hold(s *Store, i int) engine.Result {
	return ask(s, epoch, engine.Op{Key: []byte("semaphore"), Limit: aSemaphore, Tokens: 1, Who: fmt.Appendf(nil, "holder:%d", i)})
}

func fillUp(s *Store) {
	for i := range 200_000 {
		ask(s, epoch, engine.Op{Key: fmt.Appendf(nil, "key:%d", i), Limit: bucket(10, 1, 3600*sec), Tokens: 1})
	}
}

// New keys that take all the memory there is for them leave room for logs and semaphores that are there to reach their
// limits.
func TestExistingKeysGrow(t *testing.T) {
	for _, mode := range []engine.NewKeys{engine.DenyNew, engine.AllowNew, engine.OverflowNew} {
		s := growingStore(t, mode, false)
		fillUp(s)
		if res := ask(s, epoch, engine.Op{Key: []byte("one more"), Limit: aLog, Tokens: 1}); mode == engine.DenyNew && res.Status != engine.OutOfRoom {
			t.Fatalf("the store is not full: %+v", res)
		}
		granted, held := 40, 40
		for i := range 11_000 {
			res := ask(s, epoch+100+int64(i), engine.Op{Key: []byte("log"), Limit: aLog, Tokens: 1})
			if res.Status != engine.OK {
				t.Fatalf("mode %d: after %d grants the log is answered %d", mode, granted, res.Status)
			}
			granted += int(res.Granted)
			if res = hold(s, i); res.Status != engine.OK {
				t.Fatalf("mode %d: after %d holders the semaphore is answered %d", mode, held, res.Status)
			}
			if i >= 40 {
				held += int(res.Granted)
			}
		}
		if granted != 10_000 || held != 500 {
			t.Errorf("mode %d: the log granted %d, the semaphore %d", mode, granted, held)
		}
		if s.Bytes() > 8<<20 {
			t.Errorf("mode %d: %d bytes", mode, s.Bytes())
		}
	}
}

// The same for several limits of one request.
func TestExistingGroupsGrow(t *testing.T) {
	s := growingStore(t, engine.DenyNew, false)
	all := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: []byte("log"), Limit: aLog, Tokens: 1}, {Key: []byte("log 2"), Limit: aLog, Tokens: 1}}}
	ask(s, epoch+50, all)
	fillUp(s)
	for i := range 9000 {
		if res := ask(s, epoch+100+int64(i), all); !res.Allowed {
			t.Fatalf("request %d: %+v", i, res)
		}
	}
}

// The reserve for growth is counted through every way in which entries come, grow, change their limit, and go.
func TestReservedBytes(t *testing.T) {
	s := growingStore(t, engine.DenyNew, false)
	full := 2 * (algorithm.FullLog(&aLog) + algorithm.FullLeases(&aSemaphore))
	check := func(when string, most int64) {
		t.Helper()
		checkTables(t, s)
		s.SetMaxBytes(1 << 40) // which leaves all that states can grow by
		got := s.ReservedBytes()
		if s.SetMaxBytes(growingBytes); got > most {
			t.Errorf("%s: %d bytes are to come, at most %d", when, got, most)
		}
	}
	check("a few", full)
	larger := aLog
	larger.Capacity *= 2
	ask(s, epoch+50, engine.Op{Key: []byte("log"), Limit: larger, Tokens: 1})
	check("another limit", full+2*algorithm.FullLog(&larger))
	for i := range 3000 {
		ask(s, epoch+100+int64(i), engine.Op{Key: []byte("log"), Limit: larger, Tokens: 1})
	}
	check("grown", full+2*algorithm.FullLog(&larger))
	fillUp(s)
	s.Sweep(epoch+100, 1_000_000)
	check("full", full+2*algorithm.FullLog(&larger))
	again := New(Config{Shards: 4})
	defer again.Close()
	s.Scan(0, 1_000_000, epoch, func(e keyspace.Entry) { _ = again.Load(epoch, e) })
	again.SetMaxBytes(1 << 40)
	if checkTables(t, again); again.ReservedBytes() == 0 {
		t.Error("nothing is counted of what was loaded")
	}
	if s.ReservedBytes() > 1<<20 {
		t.Errorf("%d bytes of 8 MB are kept", s.ReservedBytes())
	}
	ask(s, epoch, engine.Op{Verb: engine.Delete, Key: []byte("log")})
	check("deleted", full)
	ask(s, epoch+4000*sec, engine.Op{Key: []byte("semaphore"), Limit: aSemaphore, Tokens: 1, Who: []byte("x")})
	check("expired and begun anew", full)
	ask(s, epoch, engine.Op{Verb: engine.Flush})
	check("flushed", 0)
}

// Growth beyond the reserve is refused, with a separate status.
func TestGrowthIsBounded(t *testing.T) {
	s := New(Config{Shards: 4, MaxBytes: 1 << 20})
	defer s.Close()
	huge := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 1_000_000, Rate: limits.Rate{Tokens: 0, Period: 3600 * sec}}
	for i := range 1_000_000 {
		switch res := ask(s, epoch+int64(i), engine.Op{Key: []byte("log"), Limit: huge, Tokens: 1}); res.Status {
		case engine.OK:
		case engine.NoRoomToGrow:
			if s.Bytes() > 1<<20 {
				t.Errorf("%d bytes", s.Bytes())
			}
			if res := ask(s, epoch+int64(i), engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: []byte("log"), Limit: huge, Tokens: 1}}}); res.Status != engine.NoRoomToGrow {
				t.Errorf("in a group: %+v", res)
			}
			return
		default:
			t.Fatalf("entry %d: %+v", i, res)
		}
	}
	t.Error("a log of 16 MB fitted 1 MB")
}

// A replicated store, which refuses nothing for its own memory, does not grow by more than it needs beyond its bound.
func TestReplicatedGrowsTightly(t *testing.T) {
	s := New(Config{Shards: 64, MaxBytes: 4 << 20, Replicated: true})
	defer s.Close()
	for i := 0; s.Bytes() < 4<<20; i++ {
		ask(s, epoch, engine.Op{Key: fmt.Appendf(nil, "key:%d", i), Limit: bucket(10, 1, 3600*sec), Tokens: 1})
	}
	n := s.Len()
	for i := range n / 8 {
		ask(s, epoch, engine.Op{Key: fmt.Appendf(nil, "more:%d", i), Limit: bucket(10, 1, 3600*sec), Tokens: 1})
	}
	if got := s.Bytes(); got > 4<<20/8*9+4<<20/16 {
		t.Errorf("an eighth more keys took it from 4194304 bytes to %d", got)
	}
}
