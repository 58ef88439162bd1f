package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

func newTxStore(t *testing.T, c Config) *Store {
	c.Commands = txSteps{}
	s := New(c)
	t.Cleanup(s.Close)
	return s
}

// replyTo carries out steps as one command that declares keys, and returns its reply.
func replyTo(t *testing.T, s *Store, now int64, keys, steps string) string {
	t.Helper()
	res := ask(s, now, txOf(keys, steps))
	if res.Status != engine.OK {
		t.Fatalf("%s: status %d", steps, res.Status)
	}
	return strings.TrimSpace(string(res.Reply))
}

// A command sees what it has changed, and the next one too.
func TestTxSeesItsChanges(t *testing.T) {
	s := newTxStore(t, Config{Shards: 4})
	for _, c := range []struct{ steps, want string }{
		{"get a , set a 1, get a , add a 2, get a , del a , get a , del a ", `false="" true="1" true="12" true false="" false`},
		{"get a , set a 1, del a , add a 2, get a ", `false="" true true="2"`},
		{"get a , expire a 5, get a , persist a , get a , expire a 7", `true="2" true="2" in 5 ns true="2"`},
		{"get a , add a 3, get a , set a x, get a ", `true="2" in 7 ns true="23" in 7 ns true="x"`},
		{"set a1 1, set a2 2, set a3 3, set a4 4, set a5 5, set a6 6, set a7 7, set a8 8, set a9 9, add a9 x, get a9 , get a1 , del a4 , get a4 , get b ", `true="9x" true="1" true false="" false=""`},
		{"get a1 , get a9 , get a4 ", `true="1" true="9x" false=""`},
	} {
		if got := replyTo(t, s, epoch, "a a1 a2 a3 a4 a5 a6 a7 a8 a9 b", c.steps); got != c.want {
			t.Errorf("%s\n%s, want\n%s", c.steps, got, c.want)
		}
	}
	if n := s.Len(); n != 9 {
		t.Errorf("%d keys", n)
	}
}

// A command may touch keys that it does not declare. Its changes are made once, although it is started again.
func TestTxFindsItsKeys(t *testing.T) {
	s := newTxStore(t, Config{Shards: 64})
	steps, want := "", ""
	for i := range 40 {
		steps += fmt.Sprintf(", add k%d x, get k%d ", i, i)
		want += ` true="x"`
	}
	if got := replyTo(t, s, epoch, "k0", steps[2:]); got != want[1:] {
		t.Errorf("%s", got)
	}
	if got := replyTo(t, s, epoch, "", "get k39 "); got != `true="x"` {
		t.Errorf("%s", got)
	}
}

// A command does not change the key of a limiter, but can delete it.
func TestTxLeavesLimitersAlone(t *testing.T) {
	s := newTxStore(t, Config{Shards: 4})
	limiter := engine.Op{Key: []byte("k"), Limit: bucket(5, 1, sec), Tokens: 2}
	ask(s, epoch, limiter)
	before := s.Digest(epoch)
	if got := replyTo(t, s, epoch, "k", "get k , set k x, add k x, expire k 1"); got != "token-bucket token-bucket token-bucket token-bucket" || s.Digest(epoch) != before {
		t.Errorf("%s; the same state: %t", got, s.Digest(epoch) == before)
	}
	if got := replyTo(t, s, epoch, "k", "del k , set k x, get k "); got != `true true="x"` {
		t.Error(got)
	}
	if res := ask(s, epoch, limiter); res.Status != engine.WrongType || res.Held.Algorithm != limits.StringValue {
		t.Errorf("%+v", res)
	}
	if res := ask(s, epoch, engine.Op{Verb: engine.Refund, Key: []byte("k"), Tokens: 1}); res.Status != engine.WrongType {
		t.Errorf("a refund: %+v", res)
	}
	if res := ask(s, epoch, engine.Op{Verb: engine.Delete, Key: []byte("k")}); res.Status != engine.OK {
		t.Errorf("%+v", res)
	}
}

// A key does not exist from its expiry on, swept or not. A key without an expiry stays for ever.
func TestValuesExpire(t *testing.T) {
	s := newTxStore(t, Config{Shards: 1})
	replyTo(t, s, epoch, "a b", "set a 1, expire a 1000, set b 2")
	for _, c := range []struct {
		at      int64
		swept   bool
		want    string
		reset   int64
		entries int
	}{
		{epoch + 999, true, `true="1" in 1 ns true="2"`, 1, 2},
		{epoch + 1000, false, `false="" true="2"`, 0, 2},
		{epoch + 1000, true, `false="" true="2"`, 0, 1},
		{1<<63 - 1, true, `false="" true="2"`, 0, 1},
	} {
		if c.swept {
			s.Sweep(c.at, 100)
		}
		if got := replyTo(t, s, c.at, "a b", "get a , get b "); got != c.want {
			t.Errorf("at %d: %s, want %s", c.at-epoch, got, c.want)
		}
		if res := ask(s, c.at, engine.Op{Verb: engine.Look, Key: []byte("a")}); res.Reset != c.reset {
			t.Errorf("at %d: %+v", c.at-epoch, res)
		}
		if res := ask(s, c.at, engine.Op{Verb: engine.Look, Key: []byte("b")}); res.Status != engine.OK || res.Reset != engine.NeverExpires {
			t.Errorf("at %d: %+v", c.at-epoch, res)
		}
		if s.Len() != c.entries {
			t.Errorf("at %d: %d entries", c.at-epoch, s.Len())
		}
	}
}

// A command changes nothing if there is no room for all of its changes.
func TestTxIsAllOrNothing(t *testing.T) {
	for _, shards := range []int{1, 8} {
		s := newTxStore(t, Config{Shards: shards, MaxBytes: 1 << 20})
		big, n := strings.Repeat("x", 8000), 0
		for ask(s, epoch, txOf(fmt.Sprint("k", n), fmt.Sprintf("set k%d %s", n, big))).Status == engine.OK {
			n++
		}
		if n < 20 {
			t.Fatalf("%d keys of 8000 bytes fit 1 MiB", n)
		}
		before := s.Digest(epoch)
		for _, c := range []struct {
			steps string
			want  engine.Status
		}{
			{"del k0 , set k1 y, set new " + strings.Repeat(big, 200), engine.OutOfRoom},
			{"del k0 , set k1 y, add k2 " + strings.Repeat(big, 200), engine.NoRoomToGrow},
			{"set k1 1, set k2 2, del k3 , add k5 " + strings.Repeat(big, 200), engine.NoRoomToGrow},
		} {
			res := ask(s, epoch, txOf("", c.steps))
			if res.Status != c.want && (shards == 1 || res.Status != engine.NoRoomToGrow) || len(res.Reply) > 0 || res.Granted != 0 || s.Digest(epoch) != before {
				t.Errorf("%.40s: status %d, reply %q; the same state: %t", c.steps, res.Status, res.Reply, s.Digest(epoch) == before)
			}
		}
		if res := ask(s, epoch, txOf("k0 k1", "del k0 , set k1 y")); res.Status != engine.OK && (shards == 1 || res.Status != engine.NoRoomToGrow) { // by how full the shards are
			t.Errorf("making room: status %d", res.Status)
		}
		if s.Bytes() > 1<<20 {
			t.Errorf("%d bytes", s.Bytes())
		}
		checkTables(t, s)
	}
}

// Making room for one key of a command may drop the expired entry of another one: that entry is not written to.
func TestTxMakesRoomFromItsOwnKeys(t *testing.T) {
	for seed := range 50 {
		s := newTxStore(t, Config{Shards: 1, MaxBytes: 64 << 10})
		for i := range 100 {
			ask(s, epoch, txOf("", fmt.Sprintf("set k%d %s, expire k%d 1000", i, strings.Repeat("x", 8*seed), i)))
		}
		steps := ""
		for i := range 100 {
			steps += fmt.Sprintf(", set k%d %s, set new%d %s", i, strings.Repeat("y", 8*seed), i, strings.Repeat("z", 9*seed))
		}
		now := epoch + 10*sec
		res := ask(s, now, txOf("", steps[2:]))
		if n := len(contents(s, now)); res.Status == engine.OK && n != 200 || res.Status == engine.OutOfRoom && n != 0 || res.Status != engine.OK && res.Status != engine.OutOfRoom {
			t.Errorf("values of %d bytes: status %d, %d keys", 8*seed, res.Status, n)
		}
		checkTables(t, s)
	}
}

// Restrictions and quotas refuse new keys of data as they do new limiters. Existing keys can be changed.
func TestTxMeetsRestrictionsAndQuotas(t *testing.T) {
	for _, mode := range []engine.NewKeys{engine.DenyNew, engine.AllowNew, engine.OverflowNew} {
		s := newTxStore(t, Config{Shards: 4, Replicated: true})
		replyTo(t, s, epoch, "a:1", "set a:1 x")
		ask(s, epoch, restrictTo(mode, "a:"))
		if res := ask(s, epoch, txOf("a:1 a:2", "set a:1 y, set a:2 y")); res.Status != engine.OutOfRoom {
			t.Errorf("mode %d: %+v", mode, res)
		}
		if got := replyTo(t, s, epoch, "a:1 a:2 b:1", "get a:1 , get a:2 , add a:1 y, set b:1 y, get a:1 "); got != `true="x" false="" true="xy"` {
			t.Errorf("mode %d: %s", mode, got)
		}
	}
	s := newTxStore(t, Config{Shards: 4})
	s.SetQuotas(admission.NewQuotas([]admission.Quota{{Name: "q", Prefixes: []string{"a:"}, MaxKeys: 3}}))
	replyTo(t, s, epoch, "", "set a:1 x, set a:2 x")
	if res := ask(s, epoch, txOf("", "set a:3 x, set a:4 x")); res.Status != engine.OutOfRoom || s.Len() != 2 {
		t.Errorf("two keys where one fits: %+v, %d keys", res, s.Len())
	}
	replyTo(t, s, epoch, "", "set a:3 x, set a:1 y, set b:1 x")
	if res := ask(s, epoch, txOf("", "set a:4 x")); res.Status != engine.OutOfRoom {
		t.Errorf("beyond the quota: %+v", res)
	}
	replyTo(t, s, epoch, "", "del a:3 ")
	replyTo(t, s, epoch, "", "set a:4 x")
}

// An empty string is loaded as any other, although its state is zeros after the first byte.
func TestEmptyValueIsLoaded(t *testing.T) {
	s, again := newTxStore(t, Config{Shards: 1}), newTxStore(t, Config{Shards: 1})
	replyTo(t, s, epoch, "a", "set a ")
	s.Scan(0, 10, epoch, func(e keyspace.Entry) {
		e.State = bytes.TrimRight(e.State, "\x00")
		if err := again.Load(epoch, e); err != nil {
			t.Error(err)
		}
	})
	if s.Digest(epoch) != again.Digest(epoch) {
		t.Errorf("%v, want %v", contents(again, epoch), contents(s, epoch))
	}
}

// A store without Commands answers Unreadable.
func TestNoCommands(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	if res := ask(s, epoch, txOf("a", "set a 1")); res.Status != engine.Unreadable || s.Len() != 0 {
		t.Errorf("%+v", res)
	}
}

// A batch of commands and scripts does what they do one by one, whichever keys come twice, move, or are deleted on the
// way, and whichever are declared.
func TestBatchedTransactionsDoAsSingleOnes(t *testing.T) {
	for _, shards := range []int{1, 4, 1024} {
		r := rand.New(rand.NewPCG(62, uint64(shards)))
		batched, single, now := newTxStore(t, Config{Shards: shards}), newTxStore(t, Config{Shards: shards}), epoch
		for i := range testsize.Pick(1000, 3000) {
			now += r.Int64N(2 * sec)
			ops := make([]engine.Op, 2+r.IntN(20))
			for j := range ops {
				switch ops[j] = stepCommand(r); r.IntN(20) {
				case 0, 1, 2:
					ops[j].Verb = engine.Script
				case 3, 4:
					ops[j].Database = 3
				case 5:
					ops[j] = stepOnLimiter(r, []byte("key-7"))
				case 6:
					ops[j] = engine.Op{Verb: engine.Flush, Options: engine.OneDatabase}
				}
			}
			results, want := make([]engine.Result, len(ops)), make([]engine.Result, len(ops))
			batched.Apply(now, ops, results)
			for j := range ops {
				single.Apply(now, ops[j:j+1], want[j:j+1])
				if got := &results[j]; fmt.Sprint(shown(*got)) != fmt.Sprint(shown(want[j])) {
					t.Fatalf("%d shards, batch %d, operation %d %q:\n%+v, want\n%+v", shards, i, j, ops[j].Args, *got, want[j])
				}
			}
			if i%20 == 0 && batched.Digest(now) != single.Digest(now) {
				t.Fatalf("%d shards, batch %d: the states differ", shards, i)
			}
		}
	}
}
