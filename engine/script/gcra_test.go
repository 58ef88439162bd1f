package script

import (
	"strings"
	"testing"
)

// gcra is the script of go-redis/redis_rate.
const gcra = `
redis.replicate_commands()

local rate_limit_key = KEYS[1]
local burst = ARGV[1]
local rate = ARGV[2]
local period = ARGV[3]
local cost = tonumber(ARGV[4])

local emission_interval = period / rate
local increment = emission_interval * cost
local burst_offset = emission_interval * burst

-- redis returns time as an array containing two integers: seconds of the epoch
-- time (10 digits) and microseconds (6 digits).
local jan_1_2017 = 1483228800
local now = redis.call("TIME")
now = (now[1] - jan_1_2017) + (now[2] / 1000000)

local tat = redis.call("GET", rate_limit_key)

if not tat then
  tat = now
else
  tat = tonumber(tat)
end

tat = math.max(tat, now)

local new_tat = tat + increment
local allow_at = new_tat - burst_offset

local diff = now - allow_at
local remaining = diff / emission_interval

if remaining < 0 then
  local reset_after = tat - now
  local retry_after = diff * -1
  return {
    0, -- allowed
    0, -- remaining
    tostring(retry_after),
    tostring(reset_after),
  }
end

local reset_after = new_tat - now
if reset_after > 0 then
  redis.call("SET", rate_limit_key, new_tat, "EX", math.ceil(reset_after))
end
local retry_after = -1
return {cost, remaining, tostring(retry_after), tostring(reset_after)}
`

// BenchmarkGCRA is a script as limiters send it, without the cost of the commands.
func BenchmarkGCRA(b *testing.B) {
	p, err := Compile([]byte(gcra))
	if err != nil {
		b.Fatal(err)
	}
	keys, argv := [][]byte{[]byte("rate:user")}, [][]byte{[]byte("10"), []byte("10"), []byte("1"), []byte("1")}
	var reply []byte
	b.ReportAllocs()
	for b.Loop() {
		reply = p.Run(reply[:0], keys, argv, stub{})
	}
	b.Logf("%q", reply)
}

// stub answers the commands of gcra.
type stub struct{}

func (stub) Find(string) any { return nil }

func (stub) Call(reply []byte, args [][]byte, _ any) ([]byte, int) {
	switch string(args[0]) {
	case "TIME":
		return append(reply, "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n"...), 0
	case "GET":
		return append(reply, "$15\r\n216771200.12356\r\n"...), 0
	}
	return append(reply, "+OK\r\n"...), 0
}

// TestUnusedReplies checks calls whose result a script ignores: they fail and cost as others do.
func TestUnusedReplies(t *testing.T) {
	for _, c := range []struct{ used, unused, reply string }{
		{"local x = redis.call('SET', 'k', 'v') return 1", "redis.call('SET', 'k', 'v') return 1", ":1\r\n"},
		{"local x = redis.call('TIME') return 1", "redis.call('TIME') return 1", ":1\r\n"},
		{"local x = redis.pcall('LPUSH', 'k', 'v') return 1", "redis.pcall('LPUSH', 'k', 'v') return 1", ":1\r\n"},
		{"local x = redis.pcall('SET', {}) return 1", "redis.pcall('SET', {}) return 1", ":1\r\n"},
		{"local x = redis.call('LPUSH', 'k', 'v') return 1", "redis.call('LPUSH', 'k', 'v') return 1", "-WRONGTYPE Operation against a key holding the wrong kind of value script: "},
		{"local f = redis.call local x = f('TIME') return 1", "local f = redis.call f('TIME') return 1", ":1\r\n"},
	} {
		var steps []int
		for _, body := range []string{c.used, c.unused} {
			p, err := Compile([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.Run(nil, nil, nil, newMemory())); !strings.HasPrefix(got, c.reply) {
				t.Errorf("%s\nreplied %q, want %q", body, got, c.reply)
			}
			steps = append(steps, p.Steps())
		}
		if steps[0] != steps[1]+1 { // one for the local
			t.Errorf("%s\ntakes %d steps, without its result %d", c.used, steps[0], steps[1])
		}
	}
}

// TestGCRA runs the script of redis_rate.
func TestGCRA(t *testing.T) {
	p, err := Compile([]byte(gcra))
	if err != nil {
		t.Fatal(err)
	}
	argv := [][]byte{[]byte("10"), []byte("10"), []byte("1"), []byte("1")}
	want := "*4\r\n:1\r\n:8\r\n$2\r\n-1\r\n$16\r\n0.10010400414467\r\n"
	for range 3 {
		if got := string(p.Run(nil, [][]byte{[]byte("k")}, argv, stub{})); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func BenchmarkReturn(b *testing.B) {
	p, err := Compile([]byte("return 1"))
	if err != nil {
		b.Fatal(err)
	}
	var reply []byte
	b.ReportAllocs()
	for b.Loop() {
		reply = p.Run(reply[:0], nil, nil, stub{})
	}
}

func (stub) Expired() bool { return false }

func (stub) Dialect() int64 { return 2 }

func (stub) UseRESP3(on bool) bool { return !on }
