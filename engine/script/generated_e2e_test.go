//go:build e2e

package script

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// generator writes small scripts.
type generator struct{ *rand.Rand }

func (g generator) pick(from []string) string { return from[g.IntN(len(from))] }

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

func (g generator) expression(depth int) string {
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

func (g generator) script() string {
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

// differs lists texts of replies that are known to differ: addresses, the sign of NaN, RESP3 in scripts, the budget.
var differs = []string{"nan", "0x", "table: ", "function: ", "setresp(3)", "budget"}

// TestGenerated runs the same generated scripts here and on a real Redis.
func TestGenerated(t *testing.T) {
	redis := startRedis(t)
	g := generator{rand.New(rand.NewPCG(1, 2))}
	failures := 0
	const count = 10000
	for range count {
		body := g.script()
		if strings.Contains(body, "assert({") || strings.Contains(body, "random") {
			continue
		}
		redis.Call(nil, [][]byte{[]byte("FLUSHALL")})
		want := redis.eval(body, testKeys, testArgs)
		got := eval(body, newMemory())
		skip := false
		for _, text := range differs {
			skip = skip || bytes.Contains(want, []byte(text)) || bytes.Contains(got, []byte(text))
		}
		if !skip && !bytes.Equal(got, want) {
			failures++
			t.Logf("%s\nreplied %.300q\nRedis   %.300q", body, got, want)
		}
	}
	if failures > count/1000 { // names in rare error texts
		t.Errorf("%d of %d scripts differ", failures, count)
	}
}
