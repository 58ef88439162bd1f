package script

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"
)

// metamethods is the start of scripts whose metamethods use the operator that called them.
const metamethods = `local m = {} local a, b = setmetatable({}, m), setmetatable({}, m) `

// deep are scripts that call, or are nested, as deeply as they can, and a part of the reply of each. A stack of Go that
// grows without bound would end the process, which no recover prevents.
var deep = []struct{ name, script, reply string }{
	{"tostring", metamethods + `m.__tostring = function(x) return tostring(x) end return tostring(a)`, "stack overflow"},
	{"tostring in place of a call", metamethods + `function m.__tostring() return tostring(a) end return tostring(a)`, "stack overflow"},
	{"chain of __index", `local t = {} for i = 1, 1000 do t = setmetatable({}, {__index = t}) end return t.x`, "loop in gettable"},
	{"__index of itself", metamethods + `m.__index = a return a.x`, "loop in gettable"},
	{"__newindex of itself", metamethods + `m.__newindex = a a.x = 1`, "loop in settable"},
	{"__newindex", metamethods + `m.__newindex = function(t, k, v) t[k] = v end a.x = 1`, "stack overflow"},
	{"__call", metamethods + `m.__call = function(self) return 1 + self() end return a()`, "stack overflow"},
	{"__call in place of a call", metamethods + `m.__call = function(self) return self() end return a()`, "budget"},
	{"chain of __call", `local t = {} for i = 1, 1000 do t = setmetatable({}, {__call = t}) end return t()`, "attempt to call"},
	{"__eq", metamethods + `m.__eq = function(x, y) return x == y end return a == b`, "stack overflow"},
	{"__lt", metamethods + `m.__lt = function(x, y) return x < y end return a < b`, "stack overflow"},
	{"__lt for <=", metamethods + `m.__lt = function(x, y) return x <= y end return a <= b`, "stack overflow"},
	{"__concat", metamethods + `m.__concat = function(x, y) return x .. y end return a .. b`, "stack overflow"},
	{"__add", metamethods + `m.__add = function(x, y) return x + y end return a + b`, "stack overflow"},
	{"__mod", metamethods + `m.__mod = function(x, y) return x % y end return a % b`, "stack overflow"},
	{"__unm", metamethods + `m.__unm = function(x) return -x end return -a`, "stack overflow"},
	{"sort", `local function f() table.sort({3, 2, 1}, function(a, b) f() return a < b end) end f()`, "stack overflow"},
	{"gsub", `local function f() return (string.gsub('a', 'a', f)) end f()`, "stack overflow"},
	{"gsub with __index", metamethods + `m.__index = function(t, k) return (string.gsub('a', 'a', t)) end string.gsub('a', 'a', a)`, "stack overflow"},
	{"foreach", `local function f() table.foreach({1}, f) end f()`, "stack overflow"},
	{"iterator", `local function f() for x in f do end end f()`, "stack overflow"},
	{"pcall", `local function f() return pcall(pcall, pcall, pcall, f) end return f()`, ":1"},
	{"xpcall", `local function f() error('x') end local function h() return xpcall(f, h) end return xpcall(f, h)`, "$-1"},
	{"wrap", `local function f() local x = coroutine.wrap(f)() return 1 + x end f()`, "budget"},
	{"wrap after calls", `local function f(n) if n > 0 then return 1 + f(n - 1) end local x = coroutine.wrap(f)(180) return x end f(180)`, "budget"},
	{"resume", `local function f() coroutine.resume(coroutine.create(f)) end f()`, "budget"},
	{"loadstring", `local s = 'local s = ... return 1 + loadstring(s)(s)' return loadstring(s)(s)`, "stack overflow"},
	{"load", `local function f() local x = load(f) return nil end return load(f)`, "stack overflow"},
	{"further arguments", `local function f(...) return 1 + f(1, ...) end f()`, "stack overflow"},
	{"many further arguments", `local t = {} for i = 1, 7000 do t[i] = i end local function f(...) local x = f(unpack(t)) return x end f()`, "user_script:1: stack overflow"},
	{"many locals", `local function f(n) local ` + strings.Repeat("a, ", 190) + `b return 1 + f(n) end f()`, "user_script:1: stack overflow"},
	{"reply of itself", `local t = {} t[1] = t return t`, "more than 200 levels"},
	{"cjson of objects", `return cjson.decode(string.rep('{"a":', 1e5))`, "too many nested"},
	{"cmsgpack of arrays", `return cmsgpack.unpack(string.rep('\145', 1e5))`, "Bad data format"},
	{"brackets in a pattern", `return string.match(string.rep('a', 1e5), string.rep('(a', 31) .. string.rep(')', 31))`, "$31"},
	{"parentheses", "return " + nested("(", "1", ")", 190), ":1"},
	{"more parentheses", "return " + nested("(", "1", ")", 1e5), "too many syntax levels"},
	{"tables", "return " + nested("{", "", "}", 1e5), "too many syntax levels"},
	{"keys", "return " + nested("{[", "1", "] = 1}", 1e4), "too many syntax levels"},
	{"functions", "return " + nested("function() return ", "1", " end", 1e4), "too many syntax levels"},
	{"blocks", nested("do ", "", " end", 1e5), "too many syntax levels"},
	{"loops", nested("while true do ", "", " end", 1e4), "too many syntax levels"},
	{"else", nested("if nil then else ", "", " end", 1e4), "too many syntax levels"},
	{"elseif", "if nil then " + nested("elseif nil then ", "", "", 1e4) + " end", "too long to compile"},
	{"not", "return " + nested("not ", "1", "", 1e5), "too many syntax levels"},
	{"powers", "return " + nested("2 ^ ", "1", "", 1e5), "too many syntax levels"},
	{"sums", "local x = 1 return " + nested("x + ", "1", "", 1e5), "too long to compile"},
	{"concatenations", "return " + nested("'a' .. ", "1", "", 1e5), "too long to compile"},
	{"conditions", "return " + nested("true and ", "1", "", 5e4), "too long to compile"},
	{"calls", "return tostring" + nested("()", "", "", 1e5), "too long to compile"},
	{"methods", "return tostring" + nested(":a()", "", "", 1e5), "too long to compile"},
	{"fields", "return tostring" + nested(".a", "", "", 1e5), "too long to compile"},
	{"arguments", "return " + nested("a(", "", ")", 1e4), "too many syntax levels"},
	{"targets", "local a " + nested("a, ", "a = 1", "", 1e5), "too long to compile"},
}

// nested is inner with something before and after it, some times.
func nested(before, inner, after string, times int) string {
	return strings.Repeat(before, times) + inner + strings.Repeat(after, times)
}

// TestDepth runs scripts that call or nest deeply, with a stack that is a small part of what Go allows.
func TestDepth(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	for _, d := range deep {
		t.Run(d.name, func(t *testing.T) {
			if reply := eval(d.script, newMemory()); !bytes.Contains(reply, []byte(d.reply)) {
				t.Errorf("%.300s\nreplied %.300q, not %q", d.script, reply, d.reply)
			}
		})
	}
}
