package data_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// pipeline executes commands at one time, as the server does with a pipeline or, if they are atomic, a transaction.
func (s *dataStore) pipeline(atomic bool, commands ...[]string) (replies []string) {
	s.t.Helper()
	var r command.Request
	r.SetBounds(command.Bounds{MaxKeyBytes: 4096, MaxLogLimit: 100})
	for _, words := range commands {
		r.Args = nil
		for _, word := range words {
			r.Args = append(r.Args, []byte(word))
		}
		row, err := command.Find(r.Args)
		if err == nil {
			err = row.Parse(&r)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	results := make([]engine.Result, len(r.Ops))
	if atomic {
		s.ApplyAtomic(1, r.Ops, results)
	} else {
		s.Apply(1, r.Ops, results)
	}
	for i := range results {
		replies = append(replies, string(results[i].Reply))
	}
	return replies
}

// Scripts of a pipeline or a transaction see different times, though all are carried out at one time. Within a script
// the time stands still.
func TestEachScriptSeesATimeOfItsOwn(t *testing.T) {
	const time = "return redis.call('TIME')"
	for name, words := range map[string][]string{
		"a script":                       {"EVAL", time, "0"},
		"a script of a key":              {"EVAL", time, "1", "k"},
		"a script with a key of its own": {"EVAL", "redis.call('SET', 'undeclared', 1) " + time, "1", "k"},
		"a read-only script":             {"EVAL_RO", time, "0"},
	} {
		for _, atomic := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, atomic %t", name, atomic), func(t *testing.T) {
				s := newDataStore(t)
				var commands [][]string
				for range 64 {
					commands = append(commands, words)
				}
				seen := map[string]bool{}
				for _, reply := range s.pipeline(atomic, commands...) {
					if !strings.HasPrefix(reply, "*2\r\n") || seen[reply] {
						t.Errorf("%q, seen before: %t", reply, seen[reply])
					}
					seen[reply] = true
				}
			})
		}
	}
	s := newDataStore(t)
	const twice = "local a, b = redis.call('TIME'), redis.call('TIME') return a[1] == b[1] and a[2] == b[2]"
	s.want(":1\r\n", "EVAL", twice, "0")
}

// Each command of a pipeline makes a choice of its own.
func TestEachCommandChoosesAnew(t *testing.T) {
	s := newDataStore(t)
	s.want(":4\r\n", "SADD s a b c d")
	var commands [][]string
	for range 64 {
		commands = append(commands, []string{"SRANDMEMBER", "s"})
	}
	counts := map[string]int{}
	for _, reply := range s.pipeline(false, commands...) {
		counts[reply]++
	}
	if len(counts) != 4 {
		t.Errorf("64 choices among 4 members of a set: %v", counts)
	}
}

// What a script does to limiters, and when keys expire, depends on the common time alone.
func TestOwnTimesMoveNoLimit(t *testing.T) {
	s := newDataStore(t)
	const body = `redis.call('TIME')
return {redis.call('TB.ACQUIRE', KEYS[1], 100, '1000/s')[3], redis.call('SET', KEYS[2], 1, 'PX', 100)}`
	var commands [][]string
	for range 64 {
		commands = append(commands, []string{"EVAL", body, "2", "limit", "k"})
	}
	commands = append(commands, []string{"PEXPIRETIME", "k"})
	replies := s.pipeline(false, commands...)
	for i, reply := range replies[:64] {
		if want := fmt.Sprintf("*2\r\n:%d\r\n+OK\r\n", 99-i); reply != want {
			t.Fatalf("script %d: %q, want %q", i, reply, want)
		}
	}
	if replies[64] != ":100\r\n" {
		t.Errorf("the key expires at %q", replies[64])
	}
}
