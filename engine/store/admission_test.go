package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

func restrictTo(mode engine.NewKeys, beginning string) engine.Op {
	return engine.Op{Verb: engine.Restrict, NewKeys: mode, Key: []byte(beginning), Who: []byte(":")}
}

// What becomes of new keys, and that keys which are there are decided as ever.
func TestNewKeys(t *testing.T) {
	limit := bucket(2, 1, sec)
	acquire := func(key string) engine.Op { return engine.Op{Key: []byte(key), Limit: limit, Tokens: 1} }
	for mode, want := range map[engine.NewKeys][]string{ // of two new keys of one prefix and one of another, thrice each in turn
		engine.DenyNew:     {"no room", "no room", "no room", "no room", "no room", "no room", "no room", "no room", "no room"},
		engine.AllowNew:    {"1 left", "1 left", "1 left", "1 left", "1 left", "1 left", "1 left", "1 left", "1 left"},
		engine.OverflowNew: {"1 left", "0 left", "1 left", "denied", "denied", "0 left", "denied", "denied", "denied"},
	} {
		s := New(Config{Shards: 4, Replicated: true})
		ask(s, epoch, acquire("a:old"))
		ask(s, epoch, restrictTo(mode, ""))
		for i := range want {
			res := ask(s, epoch, acquire([]string{"a:1", "a:2", "b:1"}[i%3]))
			got := fmt.Sprintf("%d left", res.Remaining)
			if res.Status == engine.OutOfRoom {
				got = "no room"
			} else if !res.Allowed {
				got = "denied"
			}
			if got != want[i] {
				t.Errorf("mode %d, request %d: %s, want %s", mode, i, got, want[i])
			}
		}
		if res := ask(s, epoch, acquire("a:old")); !res.Allowed || res.Remaining != 0 {
			t.Errorf("mode %d: a key that is there: %+v", mode, res)
		}
		if res := ask(s, epoch, acquire("a:old")); res.Allowed || res.Status != engine.OK {
			t.Errorf("mode %d: a key that is there, used up: %+v", mode, res)
		}
		if n := s.Len(); n != 1 {
			t.Errorf("mode %d: %d keys are kept", mode, n)
		}
		if f := s.NewKeyCounts(); f.Denied+f.Allowed+f.Shared != int64(len(want)) {
			t.Errorf("mode %d: counted %+v", mode, f)
		}
		ask(s, epoch, restrictTo(engine.AdmitNew, ""))
		if res := ask(s, epoch, acquire("a:1")); !res.Allowed || res.Remaining != 1 {
			t.Errorf("mode %d, ended: %+v", mode, res)
		}
		s.Close()
	}
}

// Over any span, new keys of one prefix get together no more than their limit, with whatever keys they come: the shared
// limiter is no way past it. And it grants as much as it may: it is no way to shut all of them out.
func TestOverflowKeepsTheLimit(t *testing.T) {
	s := New(Config{Shards: 4, Replicated: true})
	defer s.Close()
	ask(s, epoch, restrictTo(engine.OverflowNew, ""))
	limit := bucket(10, 5, sec)
	r := rand.New(rand.NewPCG(1, 2))
	now, granted := epoch, int64(0)
	for i := range 100_000 {
		now += r.Int64N(sec / 1000)
		key := fmt.Appendf(nil, "ip:%d", i)
		granted += ask(s, now, engine.Op{Key: key, Limit: limit, Tokens: 1}).Granted
	}
	if most := 10 + 5*(now-epoch)/sec; granted > most || granted < most-1 {
		t.Errorf("granted %d, want at most %d and at least one less", granted, most)
	}
}

// Invented prefixes take no memory, and do not affect prefixes that have a separate limiter.
func TestOverflowPrefixesAreBounded(t *testing.T) {
	s := New(Config{Shards: 4, Replicated: true})
	defer s.Close()
	ask(s, epoch, restrictTo(engine.OverflowNew, ""))
	limit := bucket(10, 1, 1000*sec)
	ask(s, epoch, engine.Op{Key: []byte("mine:1"), Limit: limit, Tokens: 1})
	granted := int64(0)
	for i := range testsize.Pick(20_000, 100_000) {
		granted += ask(s, epoch, engine.Op{Key: fmt.Appendf(nil, "made-up-%d:1", i), Limit: limit, Tokens: 10}).Granted
	}
	if want := int64(10 * admission.MaxNamedLimiters); granted != want { // all but one separate limiter, and that of the rest
		t.Errorf("%d tokens were granted to made-up prefixes, want %d", granted, want)
	}
	if f := s.NewKeyCounts(); f.Limiters != admission.MaxNamedLimiters+1 {
		t.Errorf("%d limiters are kept", f.Limiters)
	}
	if res := ask(s, epoch, engine.Op{Key: []byte("mine:2"), Limit: limit, Tokens: 9}); !res.Allowed {
		t.Errorf("a prefix with a separate limiter: %+v", res)
	}
	for i := range 1000 { // and other limits than ever are used do not take memory either
		ask(s, epoch, engine.Op{Key: []byte("mine:3"), Limit: bucket(int64(20+i), 1, 1000*sec), Tokens: 1})
	}
	if f := s.NewKeyCounts(); f.Limiters > admission.MaxNamedLimiters+admission.MaxUnnamedLimiters {
		t.Errorf("%d limiters are kept", f.Limiters)
	}
	later := epoch + 1_000_000*sec
	if res := ask(s, later, engine.Op{Key: []byte("later:1"), Limit: limit, Tokens: 1}); !res.Allowed || s.NewKeyCounts().Limiters != 1 {
		t.Errorf("once the others hold nothing: %+v, %d limiters", res, s.NewKeyCounts().Limiters)
	}
}

// Logs and leases, which grow, are bounded too.
func TestOverflowBytesAreBounded(t *testing.T) {
	s := New(Config{Shards: 4, Replicated: true})
	defer s.Close()
	ask(s, epoch, restrictTo(engine.OverflowNew, ""))
	log := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 1_000_000, Rate: limits.Rate{Tokens: 0, Period: 3600 * sec}}
	refused := false
	for i := range 2_000_000 {
		if refused = ask(s, epoch+int64(i), engine.Op{Key: fmt.Appendf(nil, "%d:", i%10), Limit: log, Tokens: 1}).Status == engine.OutOfRoom; refused {
			break
		}
	}
	if !refused || s.NewKeyCounts().LimiterBytes > admission.MaxOverflowBytes {
		t.Errorf("refused %t at %d bytes", refused, s.NewKeyCounts().LimiterBytes)
	}
}

// A semaphore that keys share counts a holder of one key and a holder of the same name of another as two, and lets each
// give its own lease back.
func TestOverflowLeases(t *testing.T) {
	s := New(Config{Shards: 4, Replicated: true})
	defer s.Close()
	ask(s, epoch, restrictTo(engine.OverflowNew, ""))
	limit := limits.Limit{Algorithm: limits.Concurrency, Capacity: 2, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}}
	acquire := func(key string) bool {
		return ask(s, epoch, engine.Op{Key: []byte(key), Limit: limit, Tokens: 1, Who: []byte("worker")}).Allowed
	}
	release := func(key string) int64 {
		return ask(s, epoch, engine.Op{Verb: engine.Release, Key: []byte(key), Limit: limits.Limit{Algorithm: limits.Concurrency}, Who: []byte("worker")}).Granted
	}
	if !acquire("a:1") {
		t.Error("the first lease is denied")
	}
	if !acquire("a:1") || !acquire("a:2") || acquire("a:3") || !acquire("b:1") {
		t.Error("leases are not counted by key and holder")
	}
	if release("a:3") != 0 || release("a:2") != 1 || release("a:2") != 0 || !acquire("a:3") || acquire("a:2") {
		t.Error("leases are not given back by key and holder")
	}
}

// Of several limits in one request, each whose key is new has a limiter to itself, and they are kept together or not at
// all.
func TestOverflowInGroups(t *testing.T) {
	s := New(Config{Shards: 4, Replicated: true})
	defer s.Close()
	limit := bucket(2, 1, sec)
	part := func(key string) engine.Op { return engine.Op{Key: []byte(key), Limit: limit, Tokens: 1} }
	all := func(keys ...string) engine.Result {
		op := engine.Op{Verb: engine.AcquireAll, Tokens: 1}
		for _, k := range keys {
			op.Parts = append(op.Parts, part(k))
		}
		return ask(s, epoch, op)
	}
	ask(s, epoch, part("a:old"))
	ask(s, epoch, restrictTo(engine.OverflowNew, ""))
	if res := all("a:old", "a:1", "a:2"); !res.Allowed || res.Parts[0].Remaining != 0 || res.Parts[1].Remaining != 1 || res.Parts[2].Remaining != 1 {
		t.Errorf("%+v", res)
	}
	if res := all("a:3", "a:old"); res.Allowed || res.Binding != 1 || res.Parts[0].Remaining != 1 {
		t.Errorf("denied by a key that is there: %+v", res)
	}
	if res := all("a:3", "a:4"); !res.Allowed || res.Parts[0].Remaining != 0 {
		t.Errorf("%+v", res)
	}
	ask(s, epoch, restrictTo(engine.DenyNew, "a:9"))
	if res := all("b:1", "a:9"); res.Status != engine.OutOfRoom {
		t.Errorf("one is refused: %+v", res)
	}
	if res := ask(s, epoch, part("b:1")); res.Remaining != 1 {
		t.Errorf("something was taken: %+v", res)
	}
}

// A store at its bound follows its rules, and keeps new keys again when others have expired.
func TestOwnBound(t *testing.T) {
	for _, mode := range []engine.NewKeys{engine.DenyNew, engine.AllowNew, engine.OverflowNew} {
		s := New(Config{Shards: 2, MaxBytes: 256 << 10})
		s.SetRules(admission.Rules{NewKeys: mode, Delimiters: ":"})
		limit, group := bucket(1, 1, 100*sec), bucket(1, 1, 100*sec)
		kept := 0
		for i := range 50_000 {
			ask(s, epoch, engine.Op{Key: fmt.Appendf(nil, "ip:%d", i), Limit: limit, Tokens: 1})
			kept = s.Len()
		}
		f := s.NewKeyCounts()
		if s.Bytes() > 256<<10 || kept < 3000 || kept > 10_000 || f.Denied+f.Allowed+f.Shared != int64(50_000-kept) {
			t.Errorf("mode %d: %d keys in %d bytes, %+v", mode, kept, s.Bytes(), f)
		}
		for i := range 100 { // the first keys are limited exactly
			if ask(s, epoch, engine.Op{Key: fmt.Appendf(nil, "ip:%d", i), Limit: limit, Tokens: 1}).Granted != 0 {
				t.Fatalf("mode %d: key %d got more than its limit", mode, i)
			}
		}
		op := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: []byte("other:1"), Limit: group, Tokens: 1}, {Key: []byte("another:1"), Limit: group, Tokens: 1}}}
		if res := ask(s, epoch, op); (res.Status == engine.OutOfRoom) != (mode == engine.DenyNew) || res.Allowed != (mode != engine.DenyNew) {
			t.Errorf("mode %d: several limits: %+v", mode, res)
		}
		later := epoch + 200*sec
		for range 100 {
			s.Sweep(later, 1000)
		}
		if res := ask(s, later, engine.Op{Key: []byte("ip:new"), Limit: limit, Tokens: 1}); !res.Allowed || s.Len() != 1 {
			t.Errorf("mode %d, when there is room: %+v, %d keys", mode, res, s.Len())
		}
		s.Close()
	}
}

// Quotas count keys as they come and go, however they go.
func TestQuotas(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	s.SetRules(admission.Rules{NewKeys: engine.DenyNew, Delimiters: ":"})
	limit := bucket(1, 1, 10*sec)
	acquire := func(now int64, key string) engine.Status {
		return ask(s, now, engine.Op{Key: []byte(key), Limit: limit, Tokens: 1}).Status
	}
	for i := range 5 {
		acquire(epoch, fmt.Sprintf("a:%d", i))
	}
	s.SetQuotas(admission.NewQuotas([]admission.Quota{{Name: "a", Prefixes: []string{"a:"}, MaxKeys: 8}, {Name: "both", Prefixes: []string{"a:x", "b:"}, MaxKeys: 2}}))
	counts := func() (text string) {
		s.QuotaCounts(func(q admission.Quota, keys int64) { text += fmt.Sprintf("%s %d/%d ", q.Name, keys, q.MaxKeys) })
		return text
	}
	if got := counts(); got != "a 5/8 both 0/2 " {
		t.Errorf("keys that were there: %s", got)
	}
	for i, want := range []engine.Status{engine.OK, engine.OK, engine.OutOfRoom, engine.OK, engine.OutOfRoom, engine.OutOfRoom} {
		if got := acquire(epoch, []string{"a:x1", "b:1", "b:2", "a:5", "a:x2", "b:3"}[i]); got != want {
			t.Errorf("request %d: status %d, want %d", i, got, want)
		}
	}
	if got := counts(); got != "a 7/8 both 2/2 " {
		t.Error(got)
	}
	ask(s, epoch, engine.Op{Verb: engine.Delete, Key: []byte("a:x1")})
	if got := counts(); got != "a 6/8 both 1/2 " {
		t.Errorf("after a DEL: %s", got)
	}
	s.Sweep(epoch+20*sec, 1000)
	if got := counts(); got != "a 0/8 both 0/2 " {
		t.Errorf("once none holds anything: %s", got)
	}
	r := rand.New(rand.NewPCG(4, 4))
	for i := range 20_000 {
		now := epoch + 30*sec + int64(i)*sec/1000
		acquire(now, fmt.Sprintf("%c:%d", 'a'+r.IntN(3), r.IntN(1000)))
		if i%3000 == 2999 {
			ask(s, now, engine.Op{Verb: engine.Flush})
		}
		if i%100 == 0 {
			s.Sweep(now, 50)
			n := map[string]int64{}
			s.Scan(0, 1<<30, -1<<62, func(e keyspace.Entry) { n[string(e.Key[:2])]++ })
			want := fmt.Sprintf("a %d/8 both %d/2 ", n["a:"], n["b:"])
			if got := counts(); got != want || n["a:"] > 8 || n["b:"] > 2 {
				t.Fatalf("step %d: %s, want %s", i, got, want)
			}
		}
	}
}

// A replicated store says which restrictions it wants, until it has them, and no longer than it needs them.
func TestPressure(t *testing.T) {
	s := New(Config{Shards: 4, Replicated: true, MaxBytes: 1 << 10})
	defer s.Close()
	rules := admission.Rules{NewKeys: engine.OverflowNew, Delimiters: ":"}
	s.SetQuotas(admission.NewQuotas([]admission.Quota{{Name: "a", Prefixes: []string{"a:"}, MaxKeys: 3}}))
	steps := func(full bool) int {
		ops := s.Pressure(rules, full)
		s.Apply(epoch, ops, make([]engine.Result, len(ops)))
		return len(ops)
	}
	for i := range 5 { // neither the quota nor the bound is held without an operation
		if res := ask(s, epoch, engine.Op{Key: fmt.Appendf(nil, "a:%d", i), Limit: bucket(1, 1, sec), Tokens: 1}); !res.Allowed {
			t.Errorf("%+v", res)
		}
	}
	for i, want := range []int{1, 0, 2, 0, 1, 0} {
		full := i >= 2 && i < 4
		if i == 2 {
			s.SetQuotas(nil)
		}
		if got := steps(full); got != want {
			t.Errorf("step %d: %d operations, want %d", i, got, want)
		}
	}
}

// bigLog keeps a shared sliding log of one prefix that takes a quarter of what all may, all of it granted at a time.
func bigLog(at int64, prefix string) engine.Op {
	const room = admission.MaxOverflowBytes / 4 / engine.LogEntry
	state := make([]byte, layout.LogHead+room*engine.LogEntry)
	layout.SetVariableSize(state, len(state))
	g := layout.SlidingLog(state)
	g.SetU32(4, room)
	g.SetU32(12, 1)
	g.Set(0, at, 5)
	return engine.Op{Verb: engine.KeepOverflow, Key: []byte(prefix), Who: state, Parts: []engine.Op{{Limit: sharedLog, Tokens: 1}}}
}

var sharedLog = limits.Limit{Algorithm: limits.SlidingLog, Span: limits.FromFirst, Capacity: 100_000, Rate: limits.Rate{Tokens: 0, Period: sec}}

// What shared limiters take is bounded by those that hold information: those that do not may be there still, or not.
func TestExpiredSharedLimitersTakeNoRoom(t *testing.T) {
	for _, kept := range []int{0, 3} {
		s := New(Config{Shards: 1, Replicated: true})
		ask(s, epoch, restrictTo(engine.OverflowNew, ""))
		for i := range kept {
			ask(s, epoch, bigLog(epoch, string(rune('a'+i))+":"))
		}
		now := epoch + 2*sec
		full := 0
		for i := range 5 { // and these hold information
			op := bigLog(now, string(rune('f'+i))+":")
			if i < 3 {
				ask(s, now, op)
				continue
			}
			res := ask(s, now, engine.Op{Key: []byte(string(rune('f'+i)) + ":x"), Limit: sharedLog, Tokens: 1})
			if res.Status == engine.OutOfRoom {
				full++
			}
		}
		if full != 0 || s.NewKeyCounts().LimiterBytes > admission.MaxOverflowBytes {
			t.Errorf("with %d as good as new: %d refused, %d bytes", kept, full, s.NewKeyCounts().LimiterBytes)
		}
		ask(s, now, bigLog(now, "z:"))
		if res := ask(s, now, engine.Op{Key: []byte("y:x"), Limit: sharedLog, Tokens: 1}); res.Status != engine.OutOfRoom {
			t.Errorf("with %d as good as new: beyond the bound: %+v", kept, res)
		}
		s.Close()
	}
}

// A request for several new keys keeps every shared limiter, although making room for one cleans up another that has
// expired.
func TestSharedLimitersOfOneRequestAreAllKept(t *testing.T) {
	s := New(Config{Shards: 1, Replicated: true})
	defer s.Close()
	ask(s, epoch, restrictTo(engine.OverflowNew, ""))
	for i := range admission.MaxNamedLimiters {
		ask(s, epoch, engine.Op{Key: fmt.Appendf(nil, "%d:x", i), Limit: bucket(5, 1, sec), Tokens: 1})
	}
	now := epoch + 60*sec // all have expired
	ask(s, now, engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{
		{Key: []byte("new:x"), Limit: bucket(5, 1, sec), Tokens: 1}, {Key: []byte("7:x"), Limit: bucket(5, 1, sec), Tokens: 1},
	}})
	for _, key := range []string{"new:y", "7:y"} {
		if res := ask(s, now, engine.Op{Key: []byte(key), Limit: bucket(5, 1, sec), Tokens: 1, Options: engine.Peek}); res.Remaining != 3 {
			t.Errorf("%s: %+v", key, res)
		}
	}
}

// One request for many new keys makes no more than their quota allows.
func TestQuotaOfOneRequest(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	s.SetQuotas(admission.NewQuotas([]admission.Quota{{Name: "u", Prefixes: []string{"u:"}, MaxKeys: 10}, {Name: "v", Prefixes: []string{"v:"}, MaxKeys: 3}}))
	var op engine.Op
	for i := range 32 {
		op.Parts = append(op.Parts, engine.Op{Key: fmt.Appendf(nil, "u:%d", i), Limit: bucket(5, 1, sec), Tokens: 1}, engine.Op{Key: fmt.Appendf(nil, "v:%d", i), Limit: bucket(5, 1, sec), Tokens: 1})
	}
	op.Verb, op.Tokens = engine.AcquireAll, 1
	for _, mode := range []engine.NewKeys{engine.AllowNew, engine.DenyNew, engine.OverflowNew} {
		s.SetRules(admission.Rules{NewKeys: mode, Delimiters: ":"})
		res, kept := ask(s, epoch, op), 0
		s.QuotaCounts(func(q admission.Quota, keys int64) {
			if keys > q.MaxKeys {
				t.Errorf("mode %d: %d keys of %s, which may be %d", mode, keys, q.Name, q.MaxKeys)
			}
			kept += int(keys)
		})
		if want := mode != engine.DenyNew; res.Allowed != want || want != (kept == 13) {
			t.Errorf("mode %d: allowed %t, %d keys are kept", mode, res.Allowed, kept)
		}
		ask(s, epoch, engine.Op{Verb: engine.Flush})
	}
}
