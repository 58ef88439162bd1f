// Package testscripts writes random Lua scripts, for tests that compare interpreters and servers.
package testscripts

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Generator writes small scripts. Its source of random numbers decides which.
type Generator struct{ *rand.Rand }

func (g Generator) pick(from []string) string { return from[g.IntN(len(from))] }

var leaves = []string{"nil", "true", "false", "0", "1", "-1", "2", "3.7", "-2.5", "0.1", "1e15", "1e16", "123456789012", "1e-7", "1/0", "2^53", "100",
	"''", "'5'", "'abc'", "' 0x10 '", "'1e3'", "'-7.25'", "'a b,c'", "'%d+'", "'10'", "'x=1, y=2'", "{}", "{1,2,3}", "{a=1}", "{1,nil,3}", "KEYS[1]", "KEYS",
	"ARGV[1]", "ARGV[3]", "ARGV[9]", "t", "t.x", "t.n", "s", "n", "n", "s", "f", "u", "#ARGV", "cjson.null", "undefined"}

var binaryOperators = []string{"+", "-", "*", "/", "%", "^", "..", "..", "==", "~=", "<", "<=", ">", ">=", "and", "or"}

var calls = []string{"tostring", "tonumber", "type", "string.len", "string.sub", "string.rep", "string.upper", "string.byte", "string.char", "string.reverse",
	"string.find", "string.match", "string.gsub", "string.format", "table.concat", "table.getn", "table.maxn", "table.remove", "math.floor", "math.ceil", "math.abs",
	"math.max", "math.min", "math.fmod", "math.sqrt", "math.modf", "select", "unpack", "rawequal", "rawget", "next", "pcall", "assert", "cjson.encode", "cjson.decode",
	"struct.pack", "struct.unpack", "cmsgpack.pack", "cmsgpack.unpack", "bit.band", "bit.lshift", "bit.tohex", "redis.sha1hex", "redis.error_reply", "redis.status_reply",
	"redis.call", "redis.pcall", "f", "s", "t.x", "loadstring", "getmetatable", "redis.log", "math.ldexp", "math.random", "ipairs", "string.lower", "pcall", "redis.setresp"}

var formats = []string{"'%d'", "'%5.1f'", "'%g'", "'%s'", "'%q'", "'%x'", "'%-5d|'", "'%05d'", "'%e'", "'%10.3s|'", "'%c'", "'%i %s'", "'%.14g'", "'%+d'", "'%o'", "'%%'", "'%.0f'", "'%G'", "'%u'"}

var patterns = []string{"'%a+'", "'(%w)(%w)'", "'^%s*'", "'%d'", "'[a-c]'", "'.-,'", "'()'", "'%s*$'", "'[^=]+'", "'(a)(b?)'", "'%b()'", "'%f[%w]'", "'['", "'%'", "'x*'"}

func (g Generator) expression(depth int) string {
	if depth == 0 || g.IntN(5) == 0 {
		return g.pick(leaves)
	}
	switch g.IntN(10) {
	case 0, 1, 2:
		return "(" + g.expression(depth-1) + " " + g.pick(binaryOperators) + " " + g.expression(depth-1) + ")"
	case 3:
		return g.pick([]string{"-", "not ", "#"}) + g.expression(depth-1)
	case 4:
		return "{" + g.expression(depth-1) + ", " + g.expression(depth-1) + ", k = " + g.expression(depth-1) + "}"
	case 5:
		return g.pick([]string{"t", "s", "n", "u", "KEYS"}) + g.pick([]string{".x", ".y.z", "[1]", "[n]", ":upper()", ":len()", ":nothing()"})
	case 6:
		return g.pick([]string{"string.find", "string.match", "string.gsub"}) + "(" + g.pick([]string{"s", "'x=1, y=2'", "ARGV[2]", g.expression(depth - 1)}) + ", " +
			g.pick(patterns) + g.pick([]string{"", ", '%0%1'", ", 1", ", {x='y'}", ", function(a) return a end", ", 2"}) + ")"
	case 7:
		return "string.format(" + g.pick(formats) + ", " + g.expression(depth-1) + ")"
	}
	args := make([]string, g.IntN(4))
	for i := range args {
		args[i] = g.expression(depth - 1)
	}
	return g.pick(calls) + "(" + strings.Join(args, ", ") + ")"
}

// Script writes a script of one expression, which is sometimes no correct Lua.
func (g Generator) Script() string {
	e := g.expression(1 + g.IntN(3))
	start := "local t, s, n, u = {x = {1, 2}, n = 5, [1] = 'c'}, 'hello world', 2.5 local function f(...) return select('#', ...), ... end "
	switch g.IntN(6) {
	case 0:
		return start + "return {pcall(function() return " + e + " end)}"
	case 1:
		return start + "local ok, e = pcall(function() return " + e + " end) return {tostring(ok), tostring(e)}"
	case 2:
		return start + "\nlocal r = " + e + "\nt.r, s = 1, " + g.expression(1) + "\nreturn {r, s, tostring(s)}"
	case 3:
		return start + "for i = 1, 3 do if " + e + " then n = n + i else s = s .. i end end return {n, s, tostring(n)}"
	case 4: // a syntax error, often
		words := strings.Fields(start + "return " + e)
		i := g.IntN(len(words))
		return strings.Join(append(words[:i:i], words[i+1:]...), " ")
	}
	return start + "return " + e
}

// Program writes a script of statements: loops, closures, varargs, tables with gaps, metatables, errors and coroutines.
func (g Generator) Program() string {
	var b strings.Builder
	b.WriteString(programStart)
	for range 2 + g.IntN(8) {
		b.WriteString(g.statement(3))
	}
	b.WriteString("return {" + g.name() + ", tostring(" + g.name() + "), log(t), log(m), #out, table.concat(out, ',', math.max(1, #out - 20))}")
	return b.String()
}

// programStart has the names that a program uses. log writes a table down, whose order counts.
const programStart = `local a, b, c, d = 1, 'x', nil, 2.5
local out = {}
local function say(...) for i = 1, select('#', ...) do out[#out + 1] = tostring((select(i, ...))):gsub('0x%x+', '') end return ... end
local function log(x) if type(x) ~= 'table' then return type(x) end local s = '' for k, v in pairs(x) do s = s .. tostring(k):sub(1, 9) .. '=' .. tostring(v):sub(1, 9) .. ';' end return s .. #x end
local t, m = {1, 2, nil, 4, x = 1, y = {z = 2}}, setmetatable({5, 6}, {})
local function f(x, ...) if x == nil then return ... end return x, ... end
local function g(n) if type(n) ~= 'number' or n <= 0 then return 'end' end return g(n - 1) end
local function h(n) if type(n) == 'number' and n > 0 then return 1 + h(n - 1) end return 0 end
`

func (g Generator) name() string {
	return g.pick([]string{"a", "b", "c", "d", "a", "b", "t", "m", "t.x", "t[2]", "m[1]"})
}

func (g Generator) target() string {
	return g.pick([]string{"a", "b", "c", "d", "t.x", "t[a]", "t[#t + 1]", "t[b]", "m[1]", "m[b]", "m.k", "t.y.z", "t[" + strconv.Itoa(g.IntN(9)) + "]"})
}

func (g Generator) value(depth int) string {
	if depth <= 0 || g.IntN(3) == 0 {
		return g.pick([]string{"nil", "true", "false", "0", "1", "-1", "3", "0.5", "'x'", "'5'", "'0x10'", "{}", "{3, nil, 1}", "a", "b", "c", "d", "t", "m", "t.x", "m.k", "f", "#t", "..."})
	}
	v := func() string { return g.value(depth - 1) }
	switch g.IntN(14) {
	case 0, 1, 2:
		return "(" + v() + " " + g.pick(binaryOperators) + " " + v() + ")"
	case 3:
		return g.pick([]string{"-", "not ", "#"}) + v()
	case 4:
		return "{" + v() + ", k = " + v() + ", [" + v() + "] = " + v() + ", " + v() + "}"
	case 5:
		return "f(" + v() + ", " + v() + ")"
	case 6:
		return g.pick([]string{"g", "h"}) + "(" + g.pick([]string{"0", "5", "50", "150", "190", "195", "197", "198", "199", "200", "201", "300", "a"}) + ")"
	case 7:
		return "function(...) " + g.statement(depth-1) + " return ... end"
	case 8:
		return "(function(...) local p, q = ... " + g.statement(depth-1) + " return " + v() + ", p end)(" + v() + ", " + v() + ")"
	case 9:
		return "pcall(" + g.pick([]string{"f", "error", "g", "h", "say", "function() " + g.statement(depth-1) + " end", v()}) + ", " + v() + ")"
	case 10:
		return "select(" + g.pick([]string{"1", "2", "-1", "'#'", "0", v()}) + ", " + v() + ", f(" + v() + "))"
	case 11:
		return "xpcall(function() " + g.statement(depth-1) + " return " + v() + " end, " + g.pick([]string{"f", "tostring", "function(e) return 'E' .. tostring(e) end", "error"}) + ")"
	case 12:
		return g.pick([]string{"tostring", "tonumber", "type", "next", "rawget", "unpack", "table.getn", "math.floor", "math.max", "string.rep", "cjson.encode", "loadstring", "setmetatable", "getmetatable", "ipairs", "table.concat"}) + "(" + v() + ", " + v() + ")"
	}
	return "(select('#', f(" + v() + ", " + v() + ")))"
}

func (g Generator) statement(depth int) string {
	if depth <= 0 {
		return "say(" + g.value(1) + ") "
	}
	s := func() string { return g.statement(depth - 1) }
	v := func() string { return g.value(depth) }
	switch g.IntN(17) {
	case 0, 1:
		return g.target() + " = " + v() + "\n"
	case 2:
		return g.target() + ", " + g.target() + " = " + v() + ", " + v() + "\n"
	case 3:
		return "local " + g.pick([]string{"a", "b", "p"}) + " = " + v() + " " + s()
	case 4:
		return "for i = " + g.pick([]string{"1", "3", "'1'", "0.1", v()}) + ", " + g.pick([]string{"3", "1", "5", "#t", v()}) + g.pick([]string{"", ", 1", ", -1", ", 0.5", ", a"}) + " do " + s() + g.pick([]string{"", "if i == 2 then break end ", "a = i ", "i = i + 1 "}) + "end\n"
	case 5:
		return "for k, v in " + g.pick([]string{"pairs(t)", "ipairs(t)", "pairs(m)", "next, t", "pairs(" + v() + ")", v()}) + " do say(k, v) " + g.pick([]string{"", "t[k] = nil ", "t[k] = v ", "break ", s()}) + "end\n"
	case 6:
		return "local i = 0 while " + g.pick([]string{"i < 3", "i < 2 and " + v(), "true"}) + " do i = i + 1 if i > 4 then break end " + s() + "end\n"
	case 7:
		return "local i = 0 repeat local j = i i = i + 1 " + s() + "until j > 1 or " + v() + "\n"
	case 8:
		return "if " + v() + " then " + s() + "elseif " + v() + " then " + s() + "else " + s() + "end\n"
	case 9:
		return "local w = {} for i = 1, 3 do local x = i w[i] = function(n) x = x + (n or 1) return x, i end end say(w[1](), w[2](3), w[1]()) " + s()
	case 10:
		event := g.pick([]string{"__index", "__newindex", "__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm", "__concat", "__eq", "__lt", "__le", "__call", "__tostring", "__len", "__metatable"})
		return "pcall(function() getmetatable(m)." + event + " = " + g.pick([]string{"t", "f", "function(x, y) return " + v() + " end", "function(x, y) " + s() + " return y end", "nil", "5"}) + " end)\n"
	case 11:
		return "local co = coroutine.create(function(...) say(...) " + s() + " say(coroutine.yield(" + v() + ")) " + s() + " end) say(coroutine.resume(co, " + v() + ")) say(coroutine.status(co)) say(coroutine.resume(co, 1)) say(coroutine.resume(co))\n"
	case 12:
		return "say(pcall(coroutine.wrap(function(x) " + s() + " local y = coroutine.yield(x) error(y) end), 1))\n"
	case 13:
		return "say(pcall(function() " + s() + " error(" + v() + g.pick([]string{"", ", 1", ", 2", ", 0"}) + ") end))\n"
	case 14:
		return "do local q = m(" + v() + ") " + s() + " end\n"
	case 15:
		return "say(" + v() + ", " + v() + ")\n"
	}
	return "say(redis." + g.pick([]string{"call", "pcall"}) + "(" + g.pick([]string{"'GET', 'k'", "'SET', 'k', " + v(), "'INCRBY', 'k', 1", "'LLEN', 'k'", "'TIME'", v()}) + "))\n"
}
