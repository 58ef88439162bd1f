package data_test

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// A script that changes something again and again is not run before it is proposed to a cluster, but for one call of 16,
// until a call changes nothing. A long script is always run.
func TestAttemptsInVain(t *testing.T) {
	const counts = "for i = 1, ARGV[1] do end if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], 1) end return 1"
	for _, c := range []struct {
		name, rounds string
		isReplicated bool
		isReadOnly   bool // EVAL_RO
		most         int  // calls until one is answered
	}{
		{name: "short", rounds: "1", isReplicated: true, most: 16},
		{name: "long", rounds: "30000", isReplicated: true, most: 1},
		{name: "only read", rounds: "1", isReplicated: true, isReadOnly: true, most: 1},
		{name: "of one server", rounds: "1", most: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := store.New(store.Config{Shards: 1, Replicated: c.isReplicated, Commands: &data.Executor{}})
			defer kept.Close()
			eval := func(name string) engine.Op {
				r := command.Request{Args: [][]byte{[]byte(name), []byte(counts), []byte("1"), []byte("k"), []byte(c.rounds)}}
				r.SetBounds(command.Bounds{MaxKeyBytes: engine.MaxKeyBytes})
				if err := data.ParseScript(&r); err != nil {
					t.Fatal(err)
				}
				return r.Ops[0]
			}
			ops, results := []engine.Op{eval("EVAL")}, make([]engine.Result, 1)
			for range 17 {
				if kept.TryReadOnly(1, &ops[0], &results[0]) {
					t.Fatal("a script that would set a key is answered")
				}
			}
			kept.Apply(1, ops, results)
			if c.isReadOnly {
				ops[0] = eval("EVAL_RO")
			}
			calls := 1
			for !kept.TryReadOnly(1, &ops[0], &results[0]) {
				if calls++; calls > 100 {
					t.Fatal("a script that changes nothing is never answered")
				}
			}
			if calls != c.most {
				t.Errorf("call %d was answered, want %d", calls, c.most)
			}
			if !kept.TryReadOnly(1, &ops[0], &results[0]) {
				t.Error("the next call is not answered")
			}
		})
	}
}
