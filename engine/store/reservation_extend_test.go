package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

func extendBy(id string, nth uint32, tokens int64, options engine.Option) engine.Op {
	return engine.Op{Verb: engine.Extend, Key: []byte(id), Nth: nth, Tokens: tokens, Options: options}
}

// A thousand streams on one budget, each of which reserves a little and extends while it runs, use no more than the
// budget, and nearly all of it.
func TestStreamsOnOneBudget(t *testing.T) {
	const streams, budget, slice = 1000, 1_000_000, 100
	limit := limits.Limit{Algorithm: limits.FixedWindow, Capacity: budget, Rate: limits.Rate{Period: 86400 * sec}}
	s := New(Config{Shards: 8})
	defer s.Close()
	var used atomic.Int64
	var all sync.WaitGroup
	stream := func(n int) {
		r, id := rand.New(rand.NewPCG(uint64(n), 65)), fmt.Sprint("stream-", n)
		wants := 1 + r.Int64N(4*budget/streams) // together about twice the budget
		res := ask(s, epoch, reserveOne(id, engine.Op{Key: []byte("budget"), Limit: limit, Tokens: slice, Options: engine.UpTo}))
		if !res.Allowed {
			return
		}
		total := res.Granted
		for nth := uint32(1); total < wants; nth++ {
			res := ask(s, epoch, extendBy(id, nth, slice, engine.UpTo))
			if res.Status != engine.OK {
				t.Errorf("%+v", res)
			}
			if !res.Allowed {
				break
			}
			total = int64(res.Number)
		}
		spent := min(wants, total)
		if res := ask(s, epoch, settleAt(id, spent)); res.Status != engine.OK || res.Parts[0].Granted != spent {
			t.Errorf("%+v", res)
		}
		used.Add(spent)
	}
	for n := range streams {
		all.Go(func() { stream(n) })
	}
	all.Wait()
	left := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("budget")}).Remaining
	if n := used.Load(); n > budget || n != budget-left || n < budget*95/100 {
		t.Errorf("%d of %d are used, and %d are left", n, budget, left)
	}
}

// A reservation keeps a bounded number of windows from which tokens could go back, and says so when it is full. It can
// still be settled.
func TestExtensionsOfALogAreBounded(t *testing.T) {
	log := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 1000, Rate: limits.Rate{Period: 3600 * sec}}
	s := New(Config{Shards: 2})
	defer s.Close()
	ask(s, epoch, reserveOne("id", engine.Op{Key: []byte("l"), Limit: log, Tokens: 1}))
	for nth := uint32(1); ; nth++ {
		res, same := askTwice(t, s, epoch+int64(nth), extendBy("id", nth, 1, 0))
		if res.Allowed && nth < engine.MaxMarks && res.Number == uint64(nth)+1 {
			continue
		}
		if res.Status != engine.ReservationFull || !same || nth != engine.MaxMarks {
			t.Errorf("extension %d: %+v", nth, res)
		}
		break
	}
	if res := ask(s, epoch+sec, extendBy("id", engine.MaxMarks-1, 1, 0)); res.Status != engine.OK || !res.Allowed {
		t.Errorf("the last one again: %+v", res)
	}
	if res := ask(s, epoch+3*sec, settleAt("id", 200)); res.Status != engine.OK || res.Parts[0].Remaining != 800 {
		t.Errorf("%+v", res)
	}
	grants := ask(s, epoch+3*sec, engine.Op{Verb: engine.ListLog, Key: []byte("l"), Tokens: 999})
	if all := grants.Grants(); len(all) != 200 || all[199].Time != epoch+199 {
		t.Errorf("%d grants are left: %v", len(all), all)
	}
}

// Windows that are over take no room in a long reservation.
func TestLongStreamOverManyWindows(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	second := limits.Rate{Period: sec}
	request := severalOf(1, engine.Op{Key: []byte("f"), Limit: limits.Limit{Algorithm: limits.FixedWindow, Capacity: 10, Rate: second}},
		engine.Op{Key: []byte("s"), Limit: limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 30, Rate: second}},
		engine.Op{Key: []byte("l"), Limit: limits.Limit{Algorithm: limits.SlidingLog, Capacity: 20, Rate: second}})
	ask(s, epoch, engine.Op{Verb: engine.Reserve, Key: []byte("id"), MaxWait: 3600 * sec, Parts: []engine.Op{request}})
	const extensions = 3000
	now := epoch
	for nth := range uint32(extensions) {
		now += sec / 3
		if res := ask(s, now, extendBy("id", nth+1, 2, 0)); !res.Allowed || res.Number != uint64(2*nth+3) {
			t.Fatalf("extension %d: %+v", nth+1, res)
		}
	}
	if size := heldBy(&s.keys, []byte("id")).Bytes; size > 300 {
		t.Errorf("it takes %d bytes", size)
	}
	if res := ask(s, now, settleAt("id", 2*extensions+1-3)); res.Status != engine.OK {
		t.Fatalf("%+v", res)
	}
	for _, key := range []string{"f", "s", "l"} {
		if res := ask(s, now, engine.Op{Verb: engine.Look, Key: []byte(key)}); res.Status == engine.OK && res.Limit-res.Remaining > 7 {
			t.Errorf("%s: %+v", key, res)
		}
	}
}

// A reservation that was extended is the same after a snapshot, and as a copy of its bytes; a plain one has no more
// bytes than before there were extensions.
func TestExtendedReservationIsKept(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	log := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 1000, Rate: limits.Rate{Period: 3600 * sec}}
	ask(s, epoch, reserveOne("id", engine.Op{Key: []byte("l"), Limit: log, Tokens: 5}))
	ask(s, epoch+sec, extendBy("id", 1, 7, 0))
	copied := New(Config{Shards: 4})
	defer copied.Close()
	s.Scan(0, 100, epoch+sec, func(e keyspace.Entry) {
		e.Key, e.State = append([]byte{}, e.Key...), append([]byte{}, e.State...)
		if err := copied.Load(epoch+sec, e); err != nil {
			t.Error(err)
		}
	})
	if s.Digest(epoch+sec) != copied.Digest(epoch+sec) {
		t.Error("the copy differs")
	}
	res := ask(copied, epoch+2*sec, cancelOf("id"))
	if res.Status != engine.OK || res.Parts[0].Remaining != 1000 {
		t.Errorf("%+v", res)
	}
}
