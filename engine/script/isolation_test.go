package script

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// marks are scripts that try to leave something behind, and leaks look for it.
var marks = []string{
	`KEYS.mark = 1 KEYS[7] = 'mark' ARGV[9] = 'mark'`,
	`setmetatable(KEYS, {__index = function() return 'mark' end})`,
	`setmetatable(ARGV, {__newindex = function() end, __len = function() return 99 end})`,
	`rawset(_G, 'mark', 1)`,
	`_G.mark = 1`,
	`mark = 1`,
	`string.mark = 1`,
	`rawset(string, 'mark', 1)`,
	`table.insert(table, 'mark')`,
	`table.sort(redis, function() end)`,
	`setmetatable(string, {__index = function() return 'mark' end})`,
	`getmetatable('').__index = function() return 'mark' end`,
	`rawset(getmetatable(''), '__index', {mark = 1})`,
	`rawset(getmetatable(_G), 'mark', 1)`,
	`getmetatable(_G).mark = 1`,
	`setmetatable(getmetatable(''), {})`,
	`math.randomseed(77)`,
	`cjson.encode_max_depth(1) cjson.encode_number_precision(2)`,
	`coroutine.wrap(function() coroutine.yield() end)()`,
	`loadstring('mark = 1')()`,
	`for i = 1, 100 do KEYS[i] = i ARGV[i] = i end`,
	`error({err = 'x'})`,
	`local function f() f() end f()`,
	`while true do end`,
	`redis.call = 1`,
	`for k, v in pairs(_G) do if type(v) == 'table' then pcall(rawset, v, 'mark', 1) pcall(table.insert, v, 1) pcall(setmetatable, v, {}) end end`,
	`local t = {} t[cjson.null] = 1 pcall(setmetatable, cjson.null, {})`,
}

// look is the view that a run has of the world.
const look = `
local seen = {#KEYS, #ARGV, tostring(KEYS.mark), tostring(KEYS[7]), tostring(ARGV[9]), tostring(getmetatable(KEYS)), tostring(getmetatable(ARGV)),
  tostring(string.mark), tostring(('x').mark), tostring(redis.mark), #table, #redis, tostring(rawget(_G, 'mark')), math.random(),
  cjson.encode({{{0.123456}}}), tostring(type(redis.call)), tostring(coroutine.running())}
for k, v in pairs(KEYS) do seen[#seen+1] = tostring(k) .. v end
for k, v in pairs(ARGV) do seen[#seen+1] = tostring(k) .. v end
for _, library in ipairs({'string', 'table', 'math', 'redis', 'cjson', 'bit', 'struct', 'cmsgpack', 'coroutine', '_G'}) do
  for k in pairs(_G[library]) do seen[#seen+1] = k end
end
return table.concat(seen, ',')`

// TestIsolation checks that a run leaves nothing for the next one.
func TestIsolation(t *testing.T) {
	want := string(eval(look, newMemory()))
	if !strings.HasPrefix(want, "$") {
		t.Fatal(want)
	}
	for _, mark := range marks {
		for range 3 { // so that the same machine is likely to follow
			eval(mark, newMemory())
			if got := string(eval(look, newMemory())); got != want {
				t.Errorf("after %s\n%s\nbefore\n%s", mark, got, want)
			}
		}
	}
}

// TestConcurrent runs programs on several goroutines at once.
func TestConcurrent(t *testing.T) {
	var programs []*Program
	var want []string
	for _, r := range readRecords(t) {
		if p, err := Compile([]byte(r.script)); err == nil {
			programs = append(programs, p)
			want = append(want, r.reply)
		}
	}
	var group sync.WaitGroup
	for start := range 4 {
		group.Go(func() {
			for i := range programs {
				i = (i + start*len(programs)/4) % len(programs)
				if got := fmt.Sprintf("%q", programs[i].Run(nil, testKeys, testArgs, newMemory())); got != want[i] {
					t.Errorf("replied %s, want %s", got, want[i])
				}
			}
		})
	}
	group.Wait()
}

// FuzzScript compiles and runs anything: it must end with the same reply each time.
func FuzzScript(f *testing.F) {
	for _, h := range hostile {
		f.Add(h.script)
	}
	for _, d := range deep {
		f.Add(d.script)
	}
	for _, script := range append(marks, look, gcra) {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, body string) {
		first := string(eval(body, newMemory()))
		if second := string(eval(body, newMemory())); first != second {
			t.Errorf("%q, then %q", first, second)
		}
		if first == "" || !strings.HasSuffix(first, "\r\n") {
			t.Errorf("replied %q", first)
		}
		if strings.Contains(first, "internal error") {
			t.Error(first)
		}
	})
}
