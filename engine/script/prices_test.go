package script

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/library"
	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/internal/testgenerated"
)

// dearest are the functions and operators of the interpreter, by their names among the builtins, each with statements
// that use it with the arguments for which it takes longest. The statements run in a loop until the budget ends. They
// may use:
//
//	n  a text of 512 bytes that is a number, halfway between two that a float can hold
//	e  the shortest number that takes long to read, and small, its value
//	s  a text of 100,000 bytes, and u, another one that differs in the last byte
//	p  a text of 8,000 bytes, and q, one of 300
//	t  an array of 1,000 fractions, and w, a table of 1,000 texts as keys
//	f  a function that returns its arguments
var dearest = map[string][]string{
	"(_G)":                            {`_G.x = nil`},
	"(_VERSION)":                      {`local x = _VERSION`},
	"(assert)":                        {`assert(n, s)`, `pcall(assert, false, s)`},
	"(collectgarbage)":                {`collectgarbage(s)`},
	"(error)":                         {`pcall(error, s)`, `pcall(error, {err = s})`, `pcall(error, s, n)`},
	"(gcinfo)":                        {`gcinfo()`},
	"(getmetatable)":                  {`getmetatable(t)`, `getmetatable(s)`},
	"(ipairs)":                        {`ipairs(t)`, `for i, x in ipairs(t) do end`},
	"(load)":                          {`load(function() return s end)`, `local i = 0 load(function() i = i + 1 return i < 100 and q or nil end)`},
	"(loadstring)":                    {`loadstring(s)`, `loadstring(constants)`, `loadstring(functions)`, `loadstring(numerals)`, `loadstring(loops)`, `loadstring('return ' .. string.rep('(', 150))`},
	"(next)":                          {`next(t, 500)`, `next(w, 'k500')`},
	"(pairs)":                         {`pairs(w)`, `for k in pairs(w) do end`},
	"(pcall)":                         {`pcall(f, unpack(t))`, `pcall(pcall, pcall, pcall, f)`, `pcall(s)`, `pcall({})`},
	"(rawequal)":                      {`rawequal(s, u)`},
	"(rawget)":                        {`rawget(w, s)`, `rawget(t, n)`},
	"(rawset)":                        {`rawset(w, s, 1)`, `rawset({}, 1000, 1)`, `rawset({}, 0.5, n)`},
	"(select)":                        {`select(n, unpack(t))`, `select('#', unpack(t))`, `select(-1, unpack(t))`, `f(select(2, unpack(t)))`},
	"(setmetatable)":                  {`setmetatable({}, w)`},
	"(tonumber)":                      {`tonumber(n)`, `tonumber(e)`, `tonumber(q, 3)`, `tonumber(n, n)`, `tonumber(s)`, `tonumber(spaces)`},
	"(tostring)":                      {`tostring(small)`, `tostring({})`, `tostring(1/3)`, `tostring(f)`},
	"(type)":                          {`type(s)`},
	"(unpack)":                        {`f(unpack(t))`, `unpack(t, n)`, `unpack(t, 1, n)`},
	"(xpcall)":                        {`xpcall(f, f)`, `xpcall(function() error(s) end, f)`, `xpcall(error, error)`},
	"(string.byte)":                   {`p:byte(1, -1)`, `p:byte(n, n)`},
	"(string.char)":                   {`string.char(n)`, `string.char(p:byte(1, 7000))`},
	"(string.dump)":                   {`pcall(string.dump, f)`},
	"(string.find)":                   {`s:find(u)`, `s:find(u, 1, true)`, `s:find('x-y')`, `s:find('.-.-y')`, `s:find('x', n)`, `p:find(string.rep('x?', 100))`, `s:find('[^%a%d%p][%s%c%x]')`, `s:find('%f[%a]y')`, `s:find('(x)(x)(x)(x)(x)(x)(x)y')`, `s:find(q)`, `halves:find(halfneedle, 1, true)`},
	"(string.format)":                 {`string.format('%.99e', small)`, `string.format('%.99f', 1.7e308)`, `string.format('%.99g', small)`, `string.format('%#.99g', small)`, `string.format('%99.99d', n)`, `string.format('%s', s)`, `string.format('%q', s)`, `string.format('%.14g', e)`, `string.format('%c', n)`, `string.format('%99.99x', n)`, `string.format('%.99s', s)`, `string.format(string.rep('%d', 900), unpack(t))`, `string.format(string.rep('%.17g', 900), unpack(t))`, `string.format(s)`, `string.format('%s%s%s', s, s, s)`, `string.format('%s', small)`},
	"(string.gfind)":                  {`string.gfind(s, 'y')()`},
	"(string.gmatch)":                 {`s:gmatch('y')()`, `for x in p:gmatch('.') do end`, `p:gmatch('(.)(.)(.)(.)')()`},
	"(string.gsub)":                   {`s:gsub('x', '')`, `p:gsub('x', p)`, `p:gsub('x', f)`, `p:gsub('.', w)`, `p:gsub('', '%0%0')`, `p:gsub('x', '%%')`, `p:gsub('x', small)`, `p:gsub('x-y', '')`, `p:gsub('(.*)', '%1%1%1%1')`, `p:gsub('x', 'x', n)`},
	"(string.len)":                    {`s:len()`, `string.len(small)`},
	"(string.lower)":                  {`s:lower()`, `q:lower()`},
	"(string.match)":                  {`s:match('.-y')`, `s:match('(.-)y')`, `s:match('^(.*)$')`, `p:match('((((((.*))))))')`, `s:match('%b()')`, `s:match('(x*)%1y')`},
	"(string.rep)":                    {`q:rep(300)`, `string.rep('x', n)`, `string.rep('ab', 5000)`, `string.rep('', 1e9)`},
	"(string.reverse)":                {`s:reverse()`, `q:reverse()`},
	"(string.sub)":                    {`s:sub(2)`, `s:sub(n, n)`},
	"(string.upper)":                  {`s:upper()`, `q:upper()`},
	"(table.concat)":                  {`table.concat(t)`, `table.concat(t, q)`, `table.concat(t, n)`, `table.concat(smalls, ',')`, `table.concat({s, s, s})`, `table.concat(t, '', n, 1)`},
	"(table.foreach)":                 {`table.foreach(t, f)`, `table.foreach(w, type)`},
	"(table.foreachi)":                {`table.foreachi(t, type)`},
	"(table.getn)":                    {`table.getn(t)`},
	"(table.insert)":                  {`table.insert({}, n, 1)`, `table.insert(grows, 1)`, `table.insert(grows, 1, 1)`},
	"(table.maxn)":                    {`table.maxn(t)`, `table.maxn(w)`},
	"(table.remove)":                  {`table.remove(t, 1) t[1000] = 1`, `table.remove(t, n)`, `table.remove(t, 500) t[1000] = 1`},
	"(table.setn)":                    {`pcall(table.setn, t, 1)`},
	"(table.sort)":                    {`table.sort(t)`, `table.sort(t, function(a, b) return a > b end)`, `table.sort({s, u, s, u, s, u})`, `pcall(table.sort, t, function() return true end)`},
	"(coroutine.create)":              {`coroutine.create(function() end)`},
	"(coroutine.resume)":              {`coroutine.resume(coroutine.create(function(...) coroutine.yield(...) end), unpack(t))`, `coroutine.resume(dead)`},
	"(coroutine.running)":             {`coroutine.running()`},
	"(coroutine.status)":              {`coroutine.status(dead)`},
	"(coroutine.wrap)":                {`coroutine.wrap(function() end)()`, `coroutine.wrap(function() error(s) end)`},
	"(coroutine.yield)":               {`yielder(unpack(t))`, `pcall(coroutine.yield)`},
	"(cjson)":                         {`local x = cjson.x`},
	"(cjson.encode)":                  {`cjson.encode(t)`, `cjson.encode(s)`, `cjson.encode(w)`, `cjson.encode(smalls)`, `cjson.encode(control)`, `cjson.encode(small)`, `cjson.encode({{{{{{{{{{}}}}}}}}}})`},
	"(cjson.decode)":                  {`cjson.decode(n)`, `cjson.decode(numbers)`, `cjson.decode('"' .. s .. '"')`, `cjson.decode(deep)`, `cjson.decode(escapes)`, `cjson.decode(objects)`, `pcall(cjson.decode, s)`, `cjson.decode(e)`, `cjson.decode('[' .. string.rep('5e-324,', 100) .. '1]')`, `pcall(cjson.decode, spaces)`},
	"(cjson.new)":                     {`cjson.new()`},
	"(cjson.null)":                    {`local x = cjson.null`},
	"(cjson._NAME)":                   {`local x = cjson._NAME`},
	"(cjson._VERSION)":                {`local x = cjson._VERSION`},
	"(cjson.encode_max_depth)":        {`pcall(cjson.encode_max_depth, n)`, `pcall(cjson.encode_max_depth, s)`},
	"(cjson.decode_max_depth)":        {`pcall(cjson.decode_max_depth, n)`},
	"(cjson.encode_number_precision)": {`pcall(cjson.encode_number_precision, n)`},
	"(cjson.encode_sparse_array)":     {`cjson.encode_sparse_array(true, 0, 0)`, `pcall(cjson.encode_sparse_array, s)`},
	"(cjson.encode_invalid_numbers)":  {`pcall(cjson.encode_invalid_numbers, s)`},
	"(cjson.decode_invalid_numbers)":  {`cjson.decode_invalid_numbers(true)`},
	"(cjson.encode_keep_buffer)":      {`cjson.encode_keep_buffer(true)`},
	"(cmsgpack)":                      {`local x = cmsgpack.x`},
	"(cmsgpack.pack)":                 {`cmsgpack.pack(t)`, `cmsgpack.pack(s)`, `cmsgpack.pack(w)`, `cmsgpack.pack(unpack(t))`, `cmsgpack.pack(small)`},
	"(cmsgpack.unpack)":               {`cmsgpack.unpack(packed)`, `cmsgpack.unpack(packedmap)`, `cmsgpack.unpack(packedtext)`, `pcall(cmsgpack.unpack, s)`, `cmsgpack.unpack(p)`},
	"(cmsgpack.unpack_one)":           {`cmsgpack.unpack_one(packed)`, `cmsgpack.unpack_one(p, n)`, `cmsgpack.unpack_one(p, 7000)`},
	"(cmsgpack.unpack_limit)":         {`cmsgpack.unpack_limit(p, 7000)`, `cmsgpack.unpack_limit(p, n)`},
	"(cmsgpack._NAME)":                {`local x = cmsgpack._NAME`},
	"(cmsgpack._VERSION)":             {`local x = cmsgpack._VERSION`},
	"(cmsgpack._COPYRIGHT)":           {`local x = cmsgpack._COPYRIGHT`},
	"(cmsgpack._DESCRIPTION)":         {`local x = cmsgpack._DESCRIPTION`},
	"(struct)":                        {`local x = struct.x`},
	"(struct.pack)":                   {`struct.pack('s', s)`, `struct.pack('c0', s)`, `struct.pack(string.rep('d', 900), unpack(t))`, `struct.pack('i', n)`, `struct.pack('c100000', s)`, `pcall(struct.pack, string.rep('x', 1e4))`, `struct.pack(string.rep('i8', 900), unpack(t))`, `struct.pack(string.rep('!8', 4000))`, `struct.pack('i32', 1)`},
	"(struct.unpack)":                 {`struct.unpack('s', zero)`, `struct.unpack(string.rep('B', 7000), p)`, `struct.unpack('c100000', s)`, `struct.unpack('s', p .. '\0', n)`, `struct.unpack('Bc0', s)`},
	"(struct.size)":                   {`struct.size(string.rep('d', 4000))`, `struct.size(string.rep('!8', 4000))`, `pcall(struct.size, s)`},
	"(bit)":                           {`local x = bit.x`},
	"(redis)":                         {`local x = redis.x`},
	"(redis.call)":                    {`redis.call('ECHO', s)`, `redis.call('PING')`, `redis.pcall('NOSUCH', s)`, `redis.call('ECHO', small)`, `redis.pcall('ECHO', unpack(t))`, `redis.pcall('DEL', unpack(smalls))`, `redis.pcall(s)`},
	"(redis.pcall)":                   {`redis.pcall('ECHO', s)`, `redis.pcall()`, `redis.pcall(f)`},
	"(redis.error_reply)":             {`redis.error_reply(s)`, `redis.error_reply('-' .. s)`, `redis.error_reply('x ' .. s)`},
	"(redis.status_reply)":            {`redis.status_reply(s)`},
	"(redis.sha1hex)":                 {`redis.sha1hex(s)`, `redis.sha1hex('')`, `redis.sha1hex(small)`},
	"(redis.log)":                     {`redis.log(1, s)`, `pcall(redis.log, n, s)`},
	"(redis.setresp)":                 {`redis.setresp(2)`, `pcall(redis.setresp, n)`},
	"(redis.set_repl)":                {`redis.set_repl(1)`, `pcall(redis.set_repl, n)`},
	"(math)":                          {`local x = math.x`},
	"(string)":                        {`local x = string.x`},
	"(table)":                         {`local x = table.x`},
	"(coroutine)":                     {`local x = coroutine.x`},

	// Operators, which become calls.
	"(charge)":        {``, `for i = 1, 10 do end`, `repeat until true`},
	"(varargs)":       {`f(unpack(t))`, `vararg(unpack(t))`},
	"(global)":        {`pcall(function() return nosuch end)`, `pcall(function() return _G[s] end)`},
	"(set global)":    {`pcall(function() nosuch = s end)`},
	"(get)":           {`local x = w[s]`, `local x = t[n]`, `local x = s[u]`, `local x = chain[q]`, `local x = w[` + longConstant + `]`, `local x = w.` + longName, `s:` + longName[:100] + `x()`},
	"(set)":           {`w[s] = 1`, `w[s] = nil`, `w[` + longConstant + `] = 1`, `w.` + longName + ` = 1`, `local x = {} x[1000] = 1`},
	"(items)":         {`local x = {unpack(t)}`, `local x = {f()}`},
	"(fields)":        {`local x = {[s] = 1, [u] = 2}`, `local x = {` + longName + ` = 1}`},
	"(run)":           {`redis.call('ECHO', s)`},
	"(prun)":          {`redis.pcall('ECHO', s)`},
	"(concat)":        {`local x = s .. u`, `local x = small .. small .. small .. small`, `local x = e .. 1/3`, `pcall(function() return s .. {} end)`, `local x = ` + strings.Repeat(`small .. `, 90) + `small`},
	"(bound initial)": {`for i = n, 0 do end`, `for i = e, 0 do end`},
	"(bound limit)":   {`for i = 1, n do end`},
	"(bound step)":    {`for i = 1, 0, n do end`, `for i = n, n, n do break end`},
	"(mod)":           {`local x = n % n`, `local x = e % e`, `local x = 1e308 % small`},
	"(pow)":           {`local x = n ^ n`, `local x = small ^ 0.3`, `local x = 1.0000001 ^ 1e300`},
	"(<)":             {`local x = s < u`, `pcall(function() return s < 1 end)`, `local x = ordered < ordered`},
	"(>)":             {`local x = s > u`},
	"(<=)":            {`local x = s <= u`},
	"(>=)":            {`local x = s >= u`},
	"(==)":            {`local x = s == u`, `local x = constant == ` + longConstant, `local x = t == w`},
	"(~=)":            {`local x = s ~= u`, `local x = ` + longConstant + ` ~= constant`},

	// Operations of the interpreter itself.
	"+ - * /": {`local x = n + n`, `local x = e - e`, `local x = n * 2`, `local x = 1 / n`, `local x = small * small`, `local x = 1 + 2 - 3 * 4 / 5`},
	"- not #": {`local x = -n`, `local x = -e`, `local x = #s`, `local x = #t`, `local x = not s`},
	"and or":  {`local x = s and u or n`},
	"calls":   {`f()`, `local function g() end`, `(function() end)()`, `f(f(f(f(f()))))`, `local x = {}`, `local x = {{{{}}}}`, `s:len()`},
	"strings": {`local x = ` + longConstant},
}

func init() {
	for name := range library.All()["math"].Functions {
		dearest["(math."+name+")"] = []string{`pcall(math.` + name + `, n, n)`, `pcall(math.` + name + `, e, e)`, `pcall(math.` + name + `, 1e300, small)`}
	}
	for name := range library.All()["math"].Constants {
		dearest["(math."+name+")"] = []string{`local x = math.` + name}
	}
	for _, name := range []string{"max", "min"} {
		dearest["(math."+name+")"] = append(dearest["(math."+name+")"], `math.`+name+`(`+strings.Repeat("n, ", 90)+`n)`, `math.`+name+`(unpack(t))`)
	}
	for name := range library.All()["bit"].Functions {
		dearest["(bit."+name+")"] = []string{`bit.` + name + `(n, n)`, `bit.` + name + `(e, e)`, `bit.` + name + `(1, 2)`}
	}
	dearest["(redis.replicate_commands)"] = []string{`redis.replicate_commands(s)`}
	for name := range redisConstants {
		dearest["(redis."+name+")"] = []string{`local x = redis.` + name}
	}
	dearest["(bit.band)"] = append(dearest["(bit.band)"], `bit.band(unpack(t))`, `bit.band(`+strings.Repeat("n, ", 90)+`n)`)
}

var (
	longName     = strings.Repeat("a", 30_000)
	longConstant = `'` + longName + `'`
)

// givenValues are for the statements of dearest. A script gets the values that it names.
var givenValues = []struct{ name, definition string }{
	{"n", `'2.2250738585072011' .. string.rep('3', 480) .. 'e-308'`},
	{"e", `'5e-324'`},
	{"small", `tonumber('5e-324')`},
	{"s", `string.rep('x', 99999) .. 'y'`},
	{"u", `string.rep('x', 99999) .. 'z'`},
	{"p", `string.rep('x', 8000)`},
	{"q", `string.rep('Q', 300)`},
	{"t", `{} for i = 1, 1000 do t[i] = i + 0.1 end`},
	{"w", `{} for i = 1, 1000 do w['k' .. i] = i end`},
	{"smalls", `{} for i = 1, 100 do smalls[i] = small end`},
	{"grows", `{}`},
	{"f", `function(...) return ... end`},
	{"vararg", `function(...) local a = {...} local b = select('#', ...) end`},
	{"dead", `coroutine.create(function() end) coroutine.resume(dead)`},
	{"yielder", `coroutine.wrap(function() while true do coroutine.yield() end end)`},
	{"chain", `setmetatable({}, {__index = setmetatable({}, {__index = setmetatable({}, {__index = w})})})`},
	{"ordered", `setmetatable({}, {__lt = function() return true end})`},
	{"zero", `s .. '\0'`},
	{"spaces", `string.rep(' ', 400) .. '1'`},
	{"control", `string.rep('\1', 10000)`},
	{"escapes", `'"' .. string.rep('\\u00e9', 5000) .. '"'`},
	{"numbers", `'[' .. string.rep(n .. ',', 10) .. '1]'`},
	{"deep", `string.rep('[', 500) .. string.rep(']', 500)`},
	{"objects", `'[' .. string.rep('{"a":1},', 300) .. '1]'`},
	{"packed", `cmsgpack.pack(t)`},
	{"packedmap", `cmsgpack.pack(w)`},
	{"packedtext", `cmsgpack.pack(p)`},
	{"constants", `{} for i = 1, 400 do constants[i] = 'f(' .. i .. '.5)' end constants = table.concat(constants)`},
	{"functions", `string.rep('x=function()end ', 400)`},
	{"numerals", `string.rep('f(5e-324)', 400)`},
	{"loops", `string.rep('for i=1,2 do i=1 end ', 400)`},
	{"halves", `string.rep(string.rep('a', 50) .. 'b', 1000)`},
	{"halfneedle", `string.rep('a', 51)`},
	{"constant", `string.rep('a', 29999) .. 'b'`},
}

// namesOf finds the values of givenValues in a script.
var namesOf = map[string]*regexp.Regexp{}

func init() {
	for _, value := range givenValues {
		namesOf[value.name] = regexp.MustCompile(`\b` + value.name + `\b`)
	}
}

// with is a script that has the values it names.
func with(script string) string {
	for _, value := range slices.Backward(givenValues) {
		if namesOf[value.name].MatchString(script) {
			script = "local " + value.name + " " + value.name + " = " + value.definition + "\n" + script
		}
	}
	return script
}

var update = flag.Bool("update", false, "write the files of testdata: prices in steps, and Redis's replies")

// TestEveryFunctionHasAPrice does everything that a script can do with its dearest arguments, and compiles long
// sources. The prices, in steps, are those of testdata/prices.txt. By night TestBudgetBoundsTime compares them with the
// time that they stand for.
func TestEveryFunctionHasAPrice(t *testing.T) {
	for name := range interpreter.Builtins {
		if len(dearest[name]) == 0 {
			t.Errorf("%s has no row in dearest: what does it take with its dearest arguments?", name)
		}
	}
	var prices []byte
	for _, name := range slices.Sorted(maps.Keys(dearest)) {
		for _, statement := range dearest[name] {
			prices = fmt.Appendf(prices, "%8d  %-12s  %.80s\n", stepsOf(t, statement), name, cmp.Or(statement, "an empty loop"))
		}
	}
	for _, source := range longSources {
		_, _, left, _ := interpreter.Compile(&syntax.Chunk{}, source.text(1000), Budget)
		prices = fmt.Appendf(prices, "%8d  compiling     %s\n", min(Budget-left, Budget+1), source.name)
	}
	testgenerated.Check(t, "testdata/prices.txt", prices, *update, "go test ./engine/script -update, and read what became cheaper")
}

// stepsOf is the price of a statement: what a second one adds to a script; at most more than the budget.
func stepsOf(t *testing.T, statement string) int {
	var steps [2]int
	for i := range steps {
		program, err := Compile([]byte(with(`local function g() ` + statement + ` end ` + strings.Repeat(`pcall(g) `, 1+i))))
		if err != nil {
			t.Fatalf("%.100s: %v", statement, err)
		}
		program.runWithin(4*Budget, nil, true, nil, nil, newMemory())
		steps[i] = program.Steps()
	}
	if steps[1] == 4*Budget {
		return Budget + 1
	}
	return steps[1] - steps[0]
}

// longSource is a source: a text that is repeated, with texts in front of it and behind it.
type longSource struct{ name, before, again, after string }

var longSources = []longSource{
	{"comment", "--", "x", ""},
	{"text", "x='", "x", "'"},
	{"long text", "x=[==[", "x", "]==]"},
	{"escapes", "x='", `\065`, "'"},
	{"numbers", "", "f(#.5)", ""},
	{"slow numbers", "", "f(5e-324)", ""},
	{"texts", "", "f'#'", ""},
	{"calls", "", "f() ", ""},
	{"calls of calls", "f", "()", ""},
	{"methods", "f", ":m()", ""},
	{"fields", "x=a", ".b", ""},
	{"indexes", "x=a", "[1]", ""},
	{"arguments", "f(", "a,", "a)"},
	{"functions", "", "x=function()end ", ""},
	{"local functions", "", "do local function f() return f end end ", ""},
	{"functions in functions", strings.Repeat("x=function()", 60), "x=1 ", strings.Repeat(" end", 60)},
	{"blocks", strings.Repeat("do ", 190), "x=1 ", strings.Repeat(" end", 190)},
	{"many locals", strings.Repeat("do "+strings.Repeat("local a=1 ", 2), 60), "b=b ", strings.Repeat(" end", 60)},
	{"locals", "", "do local a,b,c,d=1,2,3,4 end ", ""},
	{"loops", "", "for i=1,2 do i=1 end ", ""},
	{"loops over pairs", "", "for k in pairs(a) do end ", ""},
	{"while", "", "while a do break end ", ""},
	{"breaks", "while a do ", "if a then break end ", "end"},
	{"repeat", "", "repeat local x=1 until x==1 ", ""},
	{"if", "", "if a then b=1 else c=2 end ", ""},
	{"elseif", "if a then ", "elseif a then ", "end"},
	{"and", "x=", "a and ", "a"},
	{"or", "x=", "a or ", "a"},
	{"and or", "if ", "a and b or ", "a then end"},
	{"plus", "x=", "a+", "a"},
	{"plus of numbers", "x=", "1+", "1"},
	{"modulo", "x=", "a%", "a"},
	{"power", "x=", "a^", "a"},
	{"equal", "x=", "a==", "a"},
	{"less", "x=", "a<", "a"},
	{"concat", "x=", "a..", "a"},
	{"not", "x=", "not ", "a"},
	{"minus", "x=", "- ", "a"},
	{"parentheses", "x=", "(", ""},
	{"items", "x={", "1,", "}"},
	{"fields of a table", "x={", "a=1,", "}"},
	{"other fields of a table", "x={", "a#=1,", "}"},
	{"keys of a table", "x={", "[a]=1,", "}"},
	{"tables in tables", "x=", "{", ""},
	{"targets", "", "a,", "a=1"},
	{"values", "x=", "1,", "1"},
	{"names", "local ", "a,", "a=1"},
	{"parameters", "x=function(", "a,", "a) end"},
	{"results", "return ", "a,", "a"},
	{"globals", "", "x=a# ", ""},
}

// text is the source with about some bytes.
func (s *longSource) text(bytes int) string {
	text := s.before
	for i := 0; len(text) < bytes-len(s.after); i++ {
		text += strings.Repeat(strings.ReplaceAll(s.again, "#", strconv.Itoa(i)), 1+20*(1-strings.Count(s.again, "#")))
	}
	return text + s.after
}
