package script

import (
	"bytes"
	"strings"
	"testing"
)

// hostile are scripts that would run for long, or take much memory, and a part of the reply of each.
var hostile = []struct{ name, script, reply string }{
	{"loop", `while true do end`, "budget"},
	{"loop with pcall", `while true do pcall(error, 'x') end`, "budget"},
	{"pcall of a loop", `for i = 1, 1e9 do pcall(function() while true do end end) end`, "budget"},
	{"tail calls", `local function f() return f() end f()`, "budget"},
	{"recursion", `local function f() return 1 + f() end f()`, "stack overflow"},
	{"recursion in pcall", `local function f() pcall(f) f() end f()`, "budget"},
	{"recursion by metamethod", `local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x`, "stack overflow"},
	{"rep", `return string.rep('x', 2^30)`, "budget"},
	{"rep of nothing", `return #string.rep('', 2^30)`, ":0"},
	{"rep in a loop", `local t = {} for i = 1, 1e6 do t[i] = string.rep('x', 1e5) end`, "budget"},
	{"doubling", `local s = 'x' while true do s = s .. s end`, "budget"},
	{"sparse array", `local t = {} for i = 1, 1e6 do t[i * 1000] = 1 end`, "budget"},
	{"many sparse arrays", `local t = {} for i = 1, 1e6 do local u = {} u[100000] = 1 t[i] = u end`, "budget"},
	{"tables", `local t = {} for i = 1, 1e9 do t[i] = {x = i} end`, "budget"},
	{"keys", `local t = {} for i = 1, 1e9 do t['k' .. i] = i end`, "budget"},
	{"new tables with a key", `while true do local t = {} t.x = 1 end`, "budget"},
	{"closures", `local t = {} for i = 1, 1e9 do t[i] = function() return i end end`, "budget"},
	{"unpack", `return unpack({}, 1, 1e8)`, "too many results"},
	{"unpack in a loop", `local t = {} for i = 1, 5000 do t[i] = i end while true do local a = {unpack(t)} end`, "budget"},
	{"varargs", `local t = {} for i = 1, 5000 do t[i] = i end local function f(...) while true do local a = select('#', ...) end end f(unpack(t))`, "budget"},
	{"varargs up the stack", `local t = {} for i = 1, 5000 do t[i] = i end local function r(n) if n == 0 then return unpack(t) end return 1, r(n - 1) end while true do r(100) end`, "budget"},
	{"width", `return string.format('%1000000d', 1)`, "too long"},
	{"format in a loop", `local s = string.rep('x', 1e5) while true do string.format('%s%s%s', s, s, s) end`, "budget"},
	{"pattern", `return string.find(string.rep('a', 1000), string.rep('a*', 50) .. 'b')`, "budget"},
	{"lazy pattern", `return string.find(string.rep('a', 10000), '.-.-.-.-b')`, "budget"},
	{"deep pattern", `return string.find(string.rep('a', 10000), string.rep('a?', 10000))`, "too complex"},
	{"set", `return string.find(string.rep('a', 1e5), '[' .. string.rep('b', 1e5) .. ']')`, "budget"},
	{"gsub", `return string.gsub(string.rep('a', 1e5), 'a', string.rep('b', 1e5))`, "budget"},
	{"gsub of the whole", `return string.gsub(string.rep('a', 5e4), '', '%0')`, "$50000"},
	{"gmatch", `for a in string.gmatch(string.rep('a', 1e5), '.-b') do end`, "budget"},
	{"long strings compared", `local s = string.rep('a', 1e6) local t = s .. 'b' local u = s .. 'c' while t < u do end`, "budget"},
	{"long strings equal", `local s = string.rep('a', 1e6) local t = s .. 'b' local u = s .. 'b' while t == u do end`, "budget"},
	{"long key", `local s = string.rep('a', 1e6) local t = {} while not t[s] do end`, "budget"},
	{"long key set", `local s = string.rep('a', 1e6) local t = {} while true do t[s] = 1 end`, "budget"},
	{"sort", `local t = {} for i = 1, 30000 do t[i] = i * 7919 % 30011 end while true do table.sort(t) end`, "budget"},
	{"bad sort", `local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function() return true end)`, "invalid order function"},
	{"insert at the front", `local t = {} while true do table.insert(t, 1, 'x') end`, "budget"},
	{"remove at the front", `local t = {} for i = 1, 50000 do t[i] = i end while #t > 0 do table.remove(t, 1) end return 1`, "budget"},
	{"concat", `local t = {} for i = 1, 1000 do t[i] = string.rep('x', 1000) end while true do table.concat(t) end`, "budget"},
	{"next over deleted keys", `local t = {} for i = 1, 20000 do t['k' .. i] = 1 end while true do local k = next(t) if not k then break end t[k] = nil end`, "budget"},
	{"length over nil", `local t = {} for i = 1, 50000 do t[i] = i end for i = 25000, 49999 do t[i] = nil end t[50000] = nil local n = 0 for i = 1, 1e9 do n = n + #t end`, "budget"},
	{"next over a gap", `local t = {} t[1] = 1 t[100000] = 1 while true do next(t, 1) end`, "budget"},
	{"pairs", `local t = {} for i = 1, 10000 do t[i] = i end while true do pairs(t) end`, "budget"},
	{"chain of tables", `local t = {} for i = 1, 50 do t = setmetatable({}, {__index = t}) end while not t.x do end`, "loop in gettable"},
	{"calls", `while true do redis.call('PING') end`, "budget"},
	{"large argument", `local s = string.rep('x', 1e6) while true do redis.call('ECHO', s) end`, "budget"},
	{"reply of itself", `local t = {} t[1] = t return t`, "more than 200 levels"},
	{"reply of many levels", `local t = {} for i = 1, 30 do t = {t, t} end return t`, "budget"},
	{"map of itself", `local t = {} t.map = {a = t} return t`, "more than 200 levels"},
	{"cjson of itself", `local t = {} t.x = t return cjson.encode(t)`, "excessive nesting"},
	{"cjson of many levels", `local t = {} for i = 1, 30 do t = {t, t} end return cjson.encode(t)`, "budget"},
	{"cjson deep", `cjson.decode_max_depth(1e6) return cjson.decode(string.rep('[', 1e5))`, "budget"},
	{"cjson wide", `while true do cjson.decode('[' .. string.rep('1,', 1000) .. '1]') end`, "budget"},
	{"cmsgpack of itself", `local t = {} t.x = t return cmsgpack.pack(t)`, "$"},
	{"cmsgpack of many levels", `local t = {} for i = 1, 30 do t = {t, t, t, t} end return cmsgpack.pack(t)`, "budget"},
	{"cmsgpack claims", `return cmsgpack.unpack('\221\255\255\255\255')`, "Missing bytes"},
	{"struct", `return struct.pack(string.rep('i', 1e6), 1)`, "number expected"},
	{"struct c0", `return struct.unpack('dc0', struct.pack('d', -1) .. 'abc')`, "too short"},
	{"coroutines", `local t = {} for i = 1, 1e9 do t[i] = coroutine.wrap(function() coroutine.yield() end) t[i]() end`, "budget"},
	{"coroutine in itself", `local function f() coroutine.wrap(f)() end f()`, "budget"},
	{"coroutine that never ends", `coroutine.wrap(function() pcall(function() while true do end end) end)()`, "budget"},
	{"loadstring", `while true do loadstring('return 1') end`, "budget"},
	{"loadstring of itself", `local s = 'local s = ... return loadstring(s)(s)' return loadstring(s)(s)`, "budget"},
	{"syntax", `return loadstring(string.rep('(', 1e5))`, "$-1"},
	{"tostring", `while true do tostring({}) end`, "budget"},
	{"error objects", `while true do pcall(error, {err = 'x'}) end`, "budget"},
	{"xpcall", `local function f() xpcall(f, f) end f()`, ""},
	{"gsub with pcall", `string.gsub(string.rep('a', 1e5), 'a', function() pcall(error) end)`, "budget"},
	{"metamethod that is slow", `local t = setmetatable({}, {__lt = function() return true end}) local u = setmetatable({}, getmetatable(t)) while t < u do end`, "budget"},
	{"reverse", `local s = string.rep('x', 1e6) while true do s = s:reverse() end`, "budget"},
	{"upper", `local s = string.rep('x', 1e6) while true do s = s:upper() end`, "budget"},
	{"sha1", `local s = string.rep('x', 1e6) while true do redis.sha1hex(s) end`, "budget"},
	{"plain find", `local s = string.rep('x', 1e6) while true do s:find('y', 1, true) end`, "budget"},
	{"tonumber", `local s = string.rep('1', 1e6) while true do tonumber(s) end`, "budget"},
	{"string as number", `local s = string.rep('1', 1e6) while true do local x = s + 1 end`, "attempt to perform arithmetic"},
	{"string in for", `local s = string.rep('1', 1e6) while true do for i = s, 1 do end end`, "must be a number"},
	{"quote", `local s = string.rep('"', 1e6) while true do string.format('%q', s) end`, "budget"},
	{"error text", `local s = string.rep('x', 1e6) while true do pcall(error, s) end`, "budget"},
	{"method of a long name", `local s = string.rep('x', 1e6) while true do pcall(function() local t = {} t[s]() end) end`, "budget"},
	{"byte", `local s = string.rep('x', 8000) while true do s:byte(1, -1) end`, "budget"},
	{"foreach", `local t = {} for i = 1, 10000 do t[i] = i end while true do table.foreach(t, type) end`, "budget"},
	{"maxn", `local t = {} for i = 1, 10000 do t[i] = i end while true do table.maxn(t) end`, "budget"},
	{"random", `while true do math.random() end`, "budget"},
	{"string method", `local s = 'x' while true do s:len() end`, "budget"},
}

// TestHostile runs scripts that must end, within the budget.
func TestHostile(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			reply := eval(h.script, newMemory())
			if !strings.Contains(string(reply[:min(len(reply), 1000)]), h.reply) {
				t.Errorf("%s\nreplied %.300q, not %q", h.script, reply, h.reply)
			}
			if again := eval(h.script, newMemory()); !bytes.Equal(reply, again) {
				t.Errorf("the second reply is another one: %.300q", again)
			}
		})
	}
}

// BenchmarkHostile shows how long the budget lasts.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		b.Run(strings.ReplaceAll(h.name, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				eval(h.script, newMemory())
			}
		})
	}
}
