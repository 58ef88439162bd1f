package data_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Commands that are carried out as a group, many of them on one key in a row, do what they do one by one.
func TestGroupsDoTheSame(t *testing.T) {
	long := strings.Repeat("x", 3000) // three of them are put into blocks
	commands := []string{
		"SET %s 7", "INCR %s", "INCR %s", "APPEND %s 1", "GET %s", "DEL %s", "EXPIRE %s 0", "PEXPIRE %s 3",
		"LPUSH %s a b", "RPUSH %s " + long, "LPUSH %s " + long, "RPOP %s", "LPOP %s 2", "LRANGE %s 0 -1", "EXISTS %s",
		"HINCRBY %s f 1", "HSET %s f " + long, "HSET %s g " + long + " h " + long, "HGETALL %s", "MSET %s 1 other 2", "RENAME %s other",
		"EVAL return{redis.call('INCR',KEYS[1]),redis.call('INCR','other')} 1 %s", "EVAL return{redis.call('TYPE','other')} 0",
	}
	random := rand.New(rand.NewPCG(1, testsize.Seed()))
	together, single := newGroupStore(t), newGroupStore(t)
	for now := int64(1); now < 3000; now++ {
		var ops []engine.Op
		key := "a"
		for range 2 + random.IntN(30) {
			if random.IntN(4) == 0 {
				key = []string{"a", "b", "other", "\x00"}[random.IntN(4)]
			}
			text := commands[random.IntN(len(commands))]
			if strings.Contains(text, "%s") {
				text = fmt.Sprintf(text, key)
			}
			r := command.Request{Args: bytes.Split([]byte(text), []byte(" ")), Bounds: command.Bounds{MaxKeyBytes: engine.MaxKeyBytes}, Database: uint8(random.IntN(16) / 15)}
			row := command.LookUp(r.Args[0])
			if err := row.Parse(&r); err != nil {
				t.Fatal(text, err)
			}
			ops = append(ops, r.Ops...)
		}
		results, alone := make([]engine.Result, len(ops)), make([]engine.Result, len(ops))
		together.Apply(now*1e6, ops, results)
		for i := range ops {
			single.Apply(now*1e6, ops[i:i+1], alone[i:i+1])
			if got, want := results[i], alone[i]; got.Status != want.Status || got.Work != want.Work || !bytes.Equal(got.Reply, want.Reply) {
				t.Fatalf("%.60q: status %d, work %d, %.60q; alone status %d, work %d, %.60q", ops[i].Args, got.Status, got.Work, got.Reply, want.Status, want.Work, want.Reply)
			}
		}
		if together.Digest(now*1e6) != single.Digest(now*1e6) {
			t.Fatal("the state is another")
		}
	}
}

func newGroupStore(t *testing.T) *store.Store {
	s := store.New(store.Config{Shards: 2, Commands: &data.Executor{Databases: 16}})
	t.Cleanup(s.Close)
	return s
}
