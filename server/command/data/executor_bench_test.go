package data_test

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// gcra is a script of the kind that limiter libraries send: a GCRA on the server's clock.
const gcra = `local emission = ARGV[3] / ARGV[2]
local increment = emission * tonumber(ARGV[4])
local now = redis.call('TIME')
now = (now[1] - 1483228800) + (now[2] / 1000000)
local tat = redis.call('GET', KEYS[1])
tat = math.max(tat and tonumber(tat) or now, now)
local new_tat = tat + increment
local diff = now - (new_tat - emission * ARGV[1])
if diff / emission < 0 then
  return {0, 0, tostring(diff * -1), tostring(tat - now)}
end
if new_tat - now > 0 then
  redis.call('SET', KEYS[1], new_tat, 'EX', math.ceil(new_tat - now))
end
return {1, diff / emission, tostring(-1), tostring(new_tat - now)}`

func BenchmarkExecutor(b *testing.B) {
	for _, run := range []struct {
		name string
		args []string
	}{
		{"GET", []string{"GET", "k"}},
		{"SET", []string{"SET", "k", "1"}},
		{"INCR", []string{"INCR", "k"}},
		{"GCRA", []string{"EVALSHA", scriptcache.Digest([]byte(gcra)), "1", "r", "1000000", "1000000", "1", "1"}},
	} {
		b.Run(run.name, func(b *testing.B) {
			keys := store.New(store.Config{Shards: 16, Commands: &data.Executor{}})
			defer keys.Close()
			ask := func(r *command.Request, results []engine.Result, now int64, args [][]byte) {
				row, err := command.Find(args)
				if err != nil {
					b.Fatal(err)
				}
				r.Args, r.Ops = args, r.Ops[:0]
				r.Reset()
				if err := row.Parse(r); err != nil {
					b.Fatal(err)
				}
				keys.Apply(now, r.Ops, results)
			}
			var r command.Request
			r.SetBounds(command.Bounds{MaxKeyBytes: 4096})
			results := make([]engine.Result, 1)
			now := int64(1_800_000_000_000_000_000)
			ask(&r, results, now, [][]byte{[]byte("SET"), []byte("k"), []byte("1")})
			ask(&r, results, now, [][]byte{[]byte("SCRIPT"), []byte("LOAD"), []byte(gcra)})
			var args [][]byte
			for _, a := range run.args {
				args = append(args, []byte(a))
			}
			b.ReportAllocs()
			for b.Loop() {
				now += 1000
				ask(&r, results, now, args)
			}
			if results[0].Status != engine.OK || results[0].Reply[0] == '-' {
				b.Fatalf("%v %q", results[0].Status, results[0].Reply)
			}
		})
	}
}
