package script

import (
	"maps"

	lua "github.com/yuin/gopher-lua"
)

// The libraries are shared by all machines: nothing changes them after init. A script sees each one through an empty table
// with a metatable, which lets it read and nothing else.
var (
	builtins      = map[string]lua.LValue{}          // by name in parentheses: (redis.call), (tonumber), (redis)
	readOnly      = map[*lua.LTable]*lua.LTable{}    // the view of a script, and the functions behind it
	globals       = &lua.LTable{Metatable: lua.LNil} // _G
	stringLibrary = &lua.LTable{Metatable: lua.LNil}
	basicMeta     = &lua.LTable{Metatable: lua.LNil} // of nil, booleans, numbers, functions and threads: makes errors
	stringMeta    = &lua.LTable{Metatable: lua.LNil}
)

// ipairsNext is the iterator of ipairs, the same for all.
var ipairsNext = goFunction(nextItem)

func goFunction(f lua.LGFunction) *lua.LFunction {
	return &lua.LFunction{IsG: true, Env: globals, GFunction: f}
}

// library is what a script finds in a table of the globals.
type library struct {
	functions map[string]lua.LGFunction
	constants map[string]lua.LValue
}

// install makes the globals of all scripts, once: the language's own functions, the libraries, and helpers for what the tree calls
// in place of something else.
func install(libraries map[string]library, helpers map[string]lua.LGFunction) {
	everything := &lua.LTable{Metatable: lua.LNil}
	for name, f := range operatorFunctions {
		builtins[name] = goFunction(f)
	}
	for name, f := range helpers {
		builtins[name] = goFunction(f)
	}
	libraries = maps.Clone(libraries)
	libraries["coroutine"] = library{functions: coroutineFunctions}
	for _, name := range sortedKeys(libraries) {
		t := &lua.LTable{Metatable: lua.LNil}
		if name == "string" {
			t = stringLibrary
		}
		fill(t, name+".", libraries[name])
		shown := &lua.LTable{Metatable: lua.LNil}
		hide(shown, t, t)
		add(everything, name, name, shown)
	}
	fill(everything, "", library{functions: baseFunctions})
	add(everything, "_VERSION", "_VERSION", lua.LString("Lua 5.1"))
	add(everything, "_G", "_G", globals)
	hide(globals, everything, goFunction(func(L *lua.LState) int { return globalField(L, everything) }))
	initMeta()
}

// fill adds a library to a table.
func fill(t *lua.LTable, path string, from library) {
	for _, name := range sortedKeys(from.functions) {
		add(t, path+name, name, goFunction(from.functions[name]))
	}
	for _, name := range sortedKeys(from.constants) {
		add(t, path+name, name, from.constants[name])
	}
}

func add(t *lua.LTable, path, name string, value lua.LValue) {
	t.RawSetString(name, value)
	builtins["("+path+")"] = value
}

// hide makes a table show another one.
func hide(shown, behind *lua.LTable, index lua.LValue) {
	meta := &lua.LTable{Metatable: lua.LNil}
	meta.RawSetString("__index", index)
	meta.RawSetString("__newindex", goFunction(func(L *lua.LState) int {
		runOf(L).fail(L, readOnlyText)
		return 0
	}))
	shown.Metatable = meta
	readOnly[shown] = behind
}

// globalField reads a field of _G.
func globalField(L *lua.LState, everything *lua.LTable) int {
	r := runOf(L)
	key := L.Get(2)
	value := everything.RawGet(key)
	if value == lua.LNil {
		switch key {
		case lua.LString("KEYS"):
			value = r.keys
		case lua.LString("ARGV"):
			value = r.argv
		default:
			return missingGlobal(L, key)
		}
	}
	L.Push(value)
	return 1
}

// initMeta fills the metatables of the values that are no tables.
func initMeta() {
	events := map[string]lua.LGFunction{
		"__index":    func(L *lua.LState) int { return badOperand(L, "index", 0) },
		"__newindex": func(L *lua.LState) int { return badOperand(L, "index", 0) },
		"__call":     func(L *lua.LState) int { return badOperand(L, "call", -1) },
		"__len":      func(L *lua.LState) int { return badOperand(L, "get length of", 0) },
		"__add":      func(L *lua.LState) int { return arithmetic(L, "__add", func(a, b float64) float64 { return a + b }) },
		"__sub":      func(L *lua.LState) int { return arithmetic(L, "__sub", func(a, b float64) float64 { return a - b }) },
		"__mul":      func(L *lua.LState) int { return arithmetic(L, "__mul", func(a, b float64) float64 { return a * b }) },
		"__div":      func(L *lua.LState) int { return arithmetic(L, "__div", func(a, b float64) float64 { return a / b }) },
		"__unm": func(L *lua.LState) int {
			if x, ok := runOf(L).asNumber(L, L.Get(1)); ok {
				return pushNumber(L, -x)
			}
			return badOperand(L, "perform arithmetic on", 0)
		},
		"__lt": func(L *lua.LState) int { return pushBool(L, less(L, L.Get(1), L.Get(2))) },
		"__le": func(L *lua.LState) int { return pushBool(L, lessEqual(L, L.Get(1), L.Get(2))) },
	}
	for _, name := range sortedKeys(events) {
		f := goFunction(events[name])
		basicMeta.RawSetString(name, f)
		stringMeta.RawSetString(name, f)
	}
	stringMeta.RawSetString("__index", stringLibrary)
	behind := &lua.LTable{Metatable: lua.LNil}
	behind.RawSetString("__index", builtins["(string)"])
	hide(shownStringMeta, behind, behind)
}

// shownStringMeta is what getmetatable("") returns.
var shownStringMeta = &lua.LTable{Metatable: lua.LNil}

func badOperand(L *lua.LState, doing string, index int) int {
	runOf(L).badValue(L, L.Get(1), doing, index)
	return 0
}
