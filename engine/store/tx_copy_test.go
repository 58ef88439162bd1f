package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/transaction"
)

// longSteps are steps that take long, and what others do meanwhile.
type longSteps struct {
	txSteps
	meanwhile func()
}

func (longSteps) ReadsAll(*engine.Op, int) bool { return true }

func (l *longSteps) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	if l.meanwhile != nil {
		l.meanwhile()
	}
	l.txSteps.Run(tx, op, res)
}

// A command that takes long, and only reads large keys, holds nobody up, not even those who change its keys: it sees
// them as they were when it began.
func TestLongReadHoldsNobodyUp(t *testing.T) {
	commands := &longSteps{}
	s := New(Config{Shards: 1, Commands: commands})
	defer s.Close()
	value := strings.Repeat("x", 100_000)
	replyTo(t, s, epoch, "a b gone", "set a "+value+", set b 1, expire b 1000, set gone 2, expire gone 5")
	limiter := engine.Op{Key: []byte("limiter"), Limit: bucket(5, 1, sec), Tokens: 2}
	ask(s, epoch, limiter)
	read := txOf("a b gone none limiter", "get a , get b , get gone , get none , get limiter , get a ")
	read.Options |= engine.Peek
	want := fmt.Sprintf(`true=%q true="1" in 990 ns false="" false="" token-bucket true=%[1]q`, value)
	for i := range 2 {
		commands.meanwhile = func() { // would wait for ever if the shard were locked
			commands.meanwhile = nil
			ask(s, epoch+10, limiter)
			if i == 1 {
				replyTo(t, s, epoch+20, "a b", "set a y, del b ")
			}
		}
		if got := ask(s, epoch+10, read); strings.TrimSpace(string(got.Reply)) != want {
			t.Errorf("the reply is %.60q ..., %d bytes, want %d", got.Reply, len(got.Reply), len(want))
		}
	}
	if got := replyTo(t, s, epoch+20, "a b", "get a , get b "); got != `true="y" false=""` {
		t.Errorf("afterwards: %s", got)
	}
}

// A command that reads a key which it does not declare begins again, and sees all keys of one instant.
func TestLongReadOfUndeclaredKey(t *testing.T) {
	commands := &longSteps{}
	s := New(Config{Shards: 8, Commands: commands})
	defer s.Close()
	replyTo(t, s, epoch, "a other", "set a "+strings.Repeat("x", 100_000)+", set other 1")
	read := txOf("a", "get other , get a ")
	read.Options |= engine.Peek
	commands.meanwhile = func() {
		commands.meanwhile = nil
		replyTo(t, s, epoch, "a other", "set a 2, set other 2")
	}
	if got := ask(s, epoch, read); strings.TrimSpace(string(got.Reply)) != `true="2" true="2"` {
		t.Errorf("the reply is %.80q", got.Reply)
	}
}

// A key may be large if its shard has a large one, until that is gone, by whichever way.
func TestMayBeLarge(t *testing.T) {
	large := func(t *testing.T) *Store {
		s := newTxStore(t, Config{Shards: 2})
		replyTo(t, s, epoch, "a", "set a "+strings.Repeat("x", 100_000))
		return s
	}
	of := func(s *Store, key string) bool {
		op := txOf(key, "get "+key+" ")
		return s.MayBeLarge(&op, false)
	}
	for name, end := range map[string]func(s *Store){
		"deleted":                    func(s *Store) { replyTo(t, s, epoch, "a", "del a ") },
		"made small":                 func(s *Store) { replyTo(t, s, epoch, "a", "set a 1") },
		"expired":                    func(s *Store) { replyTo(t, s, epoch, "a", "expire a 1"); s.Sweep(epoch+10, 100) },
		"flushed":                    func(s *Store) { ask(s, epoch, engine.Op{Verb: engine.Flush}) },
		"flushed, during a snapshot": func(s *Store) { f := s.Snapshot(); ask(s, epoch, engine.Op{Verb: engine.Flush}); f.Release() },
		"made larger, and then small": func(s *Store) {
			replyTo(t, s, epoch, "a", "add a "+strings.Repeat("y", 200_000))
			replyTo(t, s, epoch, "a", "set a 1")
		},
		"made small, during a snapshot": func(s *Store) { f := s.Snapshot(); replyTo(t, s, epoch, "a", "set a 1"); f.Release() },
	} {
		s := large(t)
		if !of(s, "a") {
			t.Errorf("%s: not noticed before", name)
		}
		small := "b"
		for a, _ := s.keys.Locate([]byte("a")); ; small += "b" {
			if sh, _ := s.keys.Locate([]byte(small)); sh != a {
				break
			}
		}
		if of(s, small) {
			t.Errorf("%s: every key may be large", name)
		}
		if end(s); of(s, "a") {
			s.Sweep(epoch, 100)
			if of(s, "a") {
				t.Errorf("%s: the key may still be large", name)
			}
		}
	}
}
