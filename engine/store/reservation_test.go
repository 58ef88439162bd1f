package store

import (
	"bytes"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// reserveOne is a Reserve of one limit.
func reserveOne(id string, request engine.Op) engine.Op {
	return engine.Op{Verb: engine.Reserve, Key: []byte(id), MaxWait: 600 * sec, Parts: []engine.Op{request}}
}

func settleAt(id string, tokens int64) engine.Op {
	return engine.Op{Verb: engine.Settle, Key: []byte(id), Tokens: tokens}
}

func cancelOf(id string) engine.Op {
	return engine.Op{Verb: engine.Settle, Key: []byte(id), Tokens: 1, Options: engine.Cancel}
}

// severalOf is a request of all limits together.
func severalOf(tokens int64, parts ...engine.Op) engine.Op {
	for i := range parts {
		if parts[i].Options&engine.FixedCost == 0 {
			parts[i].Tokens = tokens
		}
	}
	return engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: parts}
}

func queue(capacity int64) limits.Limit {
	return limits.Limit{Algorithm: limits.LeakyQueue, Capacity: capacity, Rate: limits.Rate{Tokens: 1, Period: sec}}
}

// A settlement above the reserved tokens takes more of a queue than it has room for, like that of any other limit.
func TestSettlementAboveAQueue(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	ask(s, epoch, reserveOne("id", severalOf(2, engine.Op{Key: []byte("q"), Limit: queue(3)})))
	res := ask(s, epoch, settleAt("id", 5))
	if res.Status != engine.OK || len(res.Parts) != 1 || res.Parts[0].Remaining != -2 || res.Parts[0].Granted != 5 {
		t.Fatalf("%+v", res)
	}
	if res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("q")}); res.Remaining != -2 || res.Reset != 5*sec {
		t.Errorf("%+v", res)
	}
}

// A log from which everything is given back holds nothing.
func TestCanceledLogIsForgotten(t *testing.T) {
	log := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}
	s := New(Config{Shards: 2})
	defer s.Close()
	ask(s, epoch, reserveOne("id", engine.Op{Key: []byte("l"), Limit: log, Tokens: 4}))
	if res := ask(s, epoch+sec, cancelOf("id")); res.Status != engine.OK || res.Parts[0].Remaining != 10 || res.Parts[0].Reset != 0 {
		t.Errorf("%+v", res)
	}
	if res := ask(s, epoch+sec, engine.Op{Verb: engine.Look, Key: []byte("l")}); res.Status != engine.NotFound {
		t.Errorf("%+v", res)
	}
}

// A log lists no grant of which nothing is left.
func TestCanceledGrantIsNotListed(t *testing.T) {
	log := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}
	s := New(Config{Shards: 2})
	defer s.Close()
	for i, id := range []string{"a", "b", "c"} {
		ask(s, epoch+int64(i)*sec, reserveOne(id, engine.Op{Key: []byte("l"), Limit: log, Tokens: 1 + int64(i)}))
	}
	ask(s, epoch+3*sec, cancelOf("b"))
	res := ask(s, epoch+3*sec, engine.Op{Verb: engine.ListLog, Key: []byte("l"), Tokens: 9})
	if got := res.Grants(); len(got) != 2 || got[0] != (engine.Grant{Time: epoch, Tokens: 1}) || got[1] != (engine.Grant{Time: epoch + 2*sec, Tokens: 3}) {
		t.Errorf("%+v", got)
	}
}

// A clock that went back counts a grant at the time of the newest one; from there it goes back.
func TestLogGivesBackAfterAClockStep(t *testing.T) {
	log := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: 10 * sec}}
	s := New(Config{Shards: 2})
	defer s.Close()
	ask(s, epoch, engine.Op{Key: []byte("l"), Limit: log, Tokens: 1})
	ask(s, epoch-sec, reserveOne("id", engine.Op{Key: []byte("l"), Limit: log, Tokens: 4}))
	if res := ask(s, epoch, cancelOf("id")); res.Parts[0].Remaining != 9 {
		t.Errorf("%+v", res)
	}
}

// The id counts for a quota beside the keys of the same request.
func TestQuotaCountsTheID(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	s.SetQuotas(admission.NewQuotas([]admission.Quota{{Name: "q", Prefixes: []string{"a:"}, MaxKeys: 2}}))
	request := severalOf(1, engine.Op{Key: []byte("a:1"), Limit: bucket(5, 1, sec)}, engine.Op{Key: []byte("a:2"), Limit: bucket(5, 1, sec)})
	if res := ask(s, epoch, reserveOne("a:id", request)); res.Status != engine.OutOfRoom || res.Allowed || s.Len() != 0 {
		t.Errorf("%+v, %d keys", res, s.Len())
	}
	if res := ask(s, epoch, reserveOne("a:id", engine.Op{Key: []byte("a:1"), Limit: bucket(5, 1, sec), Tokens: 1})); !res.Allowed || s.Len() != 2 {
		t.Errorf("%+v, %d keys", res, s.Len())
	}
	if res := ask(s, epoch, reserveOne("a:more", engine.Op{Key: []byte("a:1"), Limit: bucket(5, 1, sec), Tokens: 1})); res.Status != engine.OutOfRoom || s.Len() != 2 {
		t.Errorf("%+v, %d keys", res, s.Len())
	}
	if res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("a:1")}); res.Remaining != 4 {
		t.Errorf("%+v", res)
	}
}

// An id that would not be kept is refused, whatever the rules for new keys allow.
func TestRestrictedIDs(t *testing.T) {
	for _, mode := range []engine.NewKeys{engine.DenyNew, engine.AllowNew, engine.OverflowNew} {
		s := New(Config{Shards: 2})
		ask(s, epoch, engine.Op{Verb: engine.Restrict, Key: []byte("id"), NewKeys: mode})
		if res := ask(s, epoch, reserveOne("id", engine.Op{Key: []byte("k"), Limit: bucket(5, 1, sec), Tokens: 1})); res.Status != engine.OutOfRoom || res.Allowed || s.Len() != 0 {
			t.Errorf("mode %d: %+v, %d keys", mode, res, s.Len())
		}
		s.Close()
	}
}

// A store without room for the id refuses the request, and takes nothing.
func TestNoRoomForTheID(t *testing.T) {
	s := New(Config{Shards: 1, MaxBytes: 1 << 20})
	defer s.Close()
	limit := bucket(1_000_000, 1, 3600*sec)
	key, taken := []byte("k"), int64(0)
	for i := range 100_000 {
		res := ask(s, epoch, reserveOne(string(keyOf(i)), engine.Op{Key: key, Limit: limit, Tokens: 1}))
		if res.Allowed {
			taken++
			continue
		}
		if res.Status != engine.OutOfRoom {
			t.Fatalf("%+v", res)
		}
		if res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: key}); res.Remaining != limit.Capacity-taken {
			t.Fatalf("%d reservations, and %+v", taken, res)
		}
		if res := ask(s, epoch, reserveOne(string(keyOf(0)), engine.Op{Key: key, Limit: limit, Tokens: 1})); !res.Allowed || res.Granted != 1 {
			t.Fatalf("a known one: %+v", res)
		}
		if res := ask(s, epoch, cancelOf(string(keyOf(0)))); res.Status != engine.OK {
			t.Fatalf("%+v", res)
		}
		return
	}
	t.Error("all fit 1 MiB")
}

// A lease in a limiter that keys share ends with the settlement too.
func TestSettlementEndsASharedLease(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	ask(s, epoch, engine.Op{Verb: engine.Restrict, Key: []byte("c"), NewKeys: engine.OverflowNew})
	lease := engine.Op{Key: []byte("c"), Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: 1, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}}, Who: []byte("w")}
	if res := ask(s, epoch, reserveOne("id", severalOf(1, lease))); !res.Allowed {
		t.Fatalf("%+v", res)
	}
	ask(s, epoch, settleAt("id", 1))
	if res := ask(s, epoch, engine.Op{Verb: engine.Release, Key: lease.Key, Who: lease.Who}); res.Status != engine.NotFound {
		t.Errorf("%+v", res)
	}
}

// A settlement that fails changes no limit.
func TestFailedSettlementChangesNothing(t *testing.T) {
	slow := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: 3600 * sec}}
	for _, x := range []struct {
		name   string
		before func(s *Store)
		want   engine.Status
	}{
		{"debt", func(*Store) {}, engine.DebtTooBig},
		{"another algorithm", func(s *Store) {
			ask(s, epoch, engine.Op{Verb: engine.Delete, Key: []byte("b")})
			ask(s, epoch, engine.Op{Key: []byte("b"), Limit: limits.Limit{Algorithm: limits.FixedWindow, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: sec}}, Tokens: 1})
		}, engine.WrongType},
		{"no room", func(s *Store) {
			ask(s, epoch, engine.Op{Verb: engine.Delete, Key: []byte("b")})
			ask(s, epoch, engine.Op{Verb: engine.Restrict, Key: []byte("b"), NewKeys: engine.DenyNew})
		}, engine.OutOfRoom},
	} {
		s := New(Config{Shards: 2})
		ask(s, epoch, reserveOne("id", severalOf(2, engine.Op{Key: []byte("a"), Limit: bucket(5, 1, sec)}, engine.Op{Key: []byte("b"), Limit: slow}, engine.Op{Key: []byte("c"), Limit: bucket(5, 1, sec)})))
		x.before(s)
		before := s.Digest(epoch)
		part := func(n int64) engine.Op { return engine.Op{Tokens: n, Options: engine.FixedCost} }
		res := ask(s, epoch, engine.Op{Verb: engine.Settle, Key: []byte("id"), Tokens: 1, Parts: []engine.Op{part(3), part(limits.MaxTokens), part(0)}})
		if res.Status != x.want || len(res.Parts) > 0 || s.Digest(epoch) != before {
			t.Errorf("%s: %+v, same %t", x.name, res, s.Digest(epoch) == before)
		}
		if res := ask(s, epoch, cancelOf("id")); res.Status != engine.OK {
			t.Errorf("%s: then %+v", x.name, res)
		}
		s.Close()
	}
}

// A settlement that may only change keys that match some patterns is refused if another is among the limits' keys, and
// changes nothing.
func TestSettlementOfKeysNotPermitted(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	ask(s, epoch, reserveOne("id", severalOf(2, engine.Op{Key: []byte("a"), Limit: bucket(5, 1, sec)}, engine.Op{Key: []byte("b"), Limit: bucket(5, 1, sec)})))
	op := settleAt("id", 1)
	for _, patterns := range [][][]byte{nil, {[]byte("a"), []byte("?b")}, {[]byte("[^b]")}} {
		op.Options, op.Args = engine.DeclaredOnly, patterns
		before := s.Digest(epoch)
		if res := ask(s, epoch, op); res.Status != engine.NotPermitted || len(res.Parts) > 0 || s.Digest(epoch) != before || len(patterns) > 0 && string(res.Reply) != "b" {
			t.Errorf("%s: %+v", patterns, res)
		}
		ask(s, epoch, settleAt("id", 1)) // and also once it is settled
	}
	op.Args = [][]byte{[]byte("a"), []byte("[b-d]*")}
	if res := ask(s, epoch, op); res.Status != engine.OK {
		t.Errorf("%+v", res)
	}
	ask(s, epoch, engine.Op{Verb: engine.Delete, Key: []byte("id")})
	ask(s, epoch, reserveOne("id", severalOf(2, engine.Op{Key: []byte("a"), Limit: bucket(5, 1, sec)}, engine.Op{Key: []byte("x"), Limit: bucket(5, 1, sec)})))
	if res := ask(s, epoch, op); res.Status != engine.NotPermitted || string(res.Reply) != "x" {
		t.Errorf("made anew: %+v", res)
	}
}

// Beyond its time a reservation is forgotten and swept, and its tokens stay taken.
func TestReservationExpires(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	ask(s, epoch, reserveOne("id", engine.Op{Key: []byte("k"), Limit: bucket(5, 1, 3600*sec), Tokens: 2}))
	if res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("id")}); res.Reset != 600*sec {
		t.Errorf("%+v", res)
	}
	for range 10 {
		s.Sweep(epoch+600*sec, 100)
	}
	if s.Len() != 1 {
		t.Errorf("%d keys", s.Len())
	}
	if res := ask(s, epoch+600*sec, cancelOf("id")); res.Status != engine.NotFound {
		t.Errorf("%+v", res)
	}
	if res := ask(s, epoch+600*sec, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Remaining != 3 {
		t.Errorf("%+v", res)
	}
}

// reservationOfThree has limits with 16-byte keys, like a call of a language model.
func reservationOfThree(i int) engine.Op {
	key := func(kind byte) []byte { return append(keyOf(i)[:15], kind) }
	return engine.Op{Verb: engine.Reserve, Key: keyOf(i), MaxWait: 600 * sec, Parts: []engine.Op{severalOf(1,
		engine.Op{Key: key('t'), Limit: bucket(60000, 60000, 60*sec)}, engine.Op{Key: key('r'), Limit: bucket(20, 20, 60*sec), Options: engine.FixedCost, Tokens: 1},
		engine.Op{Key: key('c'), Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: 600 * sec}}, Who: keyOf(i)})}}
}

// A reservation with three limits takes no more bytes than documented.
func TestBytesOfAReservation(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	ask(s, epoch, reservationOfThree(1))
	res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: keyOf(1)})
	t.Logf("%d bytes", res.Bytes)
	if res.Bytes > 160 {
		t.Errorf("%d bytes", res.Bytes)
	}
}

// The state of a reservation depends on the request and the limits alone, and on no earlier decision of this node.
func TestReservationsAreTheSameEverywhere(t *testing.T) {
	window := limits.Limit{Algorithm: limits.FixedWindow, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: sec}}
	reserve := engine.Op{Verb: engine.Reserve, Key: []byte("id"), MaxWait: 60 * sec, Parts: []engine.Op{{Verb: engine.AcquireAll, Tokens: 2, Parts: []engine.Op{
		{Key: []byte("a"), Limit: window, Options: engine.FixedCost}, {Key: []byte("b"), Limit: window, Tokens: 2}}}}}
	var states [2][]byte
	for i := range states {
		s := New(Config{Shards: 1})
		if i == 1 { // it leaves windows in the memory that the next request uses
			ask(s, epoch-5*sec, engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: []byte("c"), Limit: window, Tokens: 1}, {Key: []byte("d"), Limit: window, Tokens: 1}}})
		}
		if res := ask(s, epoch, reserve); !res.Allowed || res.Granted != 2 {
			t.Fatalf("%+v", res)
		}
		s.Dump(epoch, func(e keyspace.Entry) {
			if string(e.Key) == "id" {
				states[i] = bytes.Clone(e.State)
			}
		})
		s.Close()
	}
	if len(states[0]) == 0 || !bytes.Equal(states[0], states[1]) {
		t.Errorf("%x and %x", states[0], states[1])
	}
}
