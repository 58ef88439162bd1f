package interpreter

import (
	"maps"

	lua "github.com/yuin/gopher-lua"
)

// Builtins are the functions and libraries of all scripts, and the helpers that the tree calls, by name in parentheses:
// (redis.call), (tonumber), (redis), (concat). Nothing changes them after [Install].
var Builtins = map[string]lua.LValue{}

// BasicMeta is the metatable of nil, booleans, numbers, functions and threads, which makes errors.
var BasicMeta = &lua.LTable{Metatable: lua.LNil}

// The libraries are shared by all runs. A script sees each one through an empty table with a metatable, which lets it
// read and nothing else.
var (
	readOnly      = map[*lua.LTable]*lua.LTable{}    // the view of a script, and the functions behind it
	globals       = &lua.LTable{Metatable: lua.LNil} // _G
	stringLibrary = &lua.LTable{Metatable: lua.LNil}
	stringMeta    = &lua.LTable{Metatable: lua.LNil}
)

// ipairsNext is the iterator of ipairs, the same for all.
var ipairsNext = goFunction(nextItem)

func goFunction(f lua.LGFunction) *lua.LFunction {
	return &lua.LFunction{IsG: true, Env: globals, GFunction: f}
}

// Library is a table of the globals, such as string.
type Library struct {
	Functions map[string]lua.LGFunction
	Constants map[string]lua.LValue
}

// Install makes the globals of all scripts, and must be called once, before the first: the language's own functions,
// the libraries, and helpers for operations that the language does not have.
func Install(libraries map[string]Library, helpers map[string]lua.LGFunction) {
	everything := &lua.LTable{Metatable: lua.LNil}
	for name, f := range operatorFunctions {
		Builtins[name] = goFunction(f)
	}
	for name, f := range helpers {
		Builtins[name] = goFunction(f)
	}
	libraries = maps.Clone(libraries)
	libraries["coroutine"] = Library{Functions: coroutineFunctions}
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
	fill(everything, "", Library{Functions: baseFunctions})
	add(everything, "_VERSION", "_VERSION", lua.LString("Lua 5.1"))
	add(everything, "_G", "_G", globals)
	hide(globals, everything, goFunction(func(L *lua.LState) int { return globalField(L, everything) }))
	initMeta()
}

// fill adds a library to a table.
func fill(t *lua.LTable, path string, from Library) {
	for _, name := range sortedKeys(from.Functions) {
		add(t, path+name, name, goFunction(from.Functions[name]))
	}
	for _, name := range sortedKeys(from.Constants) {
		add(t, path+name, name, from.Constants[name])
	}
}

// add adds a value to a table, and to the builtins by its path.
func add(t *lua.LTable, path, name string, value lua.LValue) {
	t.RawSetString(name, value)
	Builtins["("+path+")"] = value
}

// hide makes a table show another one.
func hide(shown, behind *lua.LTable, index lua.LValue) {
	meta := &lua.LTable{Metatable: lua.LNil}
	meta.RawSetString("__index", index)
	meta.RawSetString("__newindex", goFunction(func(L *lua.LState) int {
		Of(L).Fail(L, readOnlyText)
		return 0
	}))
	shown.Metatable = meta
	readOnly[shown] = behind
}

// globalField reads a field of _G.
func globalField(L *lua.LState, everything *lua.LTable) int {
	r := Of(L)
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
			if x, ok := Of(L).AsNumber(L, L.Get(1)); ok {
				return PushNumber(L, -x)
			}
			return badOperand(L, "perform arithmetic on", 0)
		},
		"__lt": func(L *lua.LState) int { return PushBool(L, Less(L, L.Get(1), L.Get(2))) },
		"__le": func(L *lua.LState) int { return PushBool(L, lessEqual(L, L.Get(1), L.Get(2))) },
	}
	for _, name := range sortedKeys(events) {
		f := goFunction(events[name])
		BasicMeta.RawSetString(name, f)
		stringMeta.RawSetString(name, f)
	}
	stringMeta.RawSetString("__index", stringLibrary)
	behind := &lua.LTable{Metatable: lua.LNil}
	behind.RawSetString("__index", Builtins["(string)"])
	hide(shownStringMeta, behind, behind)
}

// shownStringMeta is what getmetatable("") returns.
var shownStringMeta = &lua.LTable{Metatable: lua.LNil}

func badOperand(L *lua.LState, doing string, index int) int {
	Of(L).badValue(L, L.Get(1), doing, index)
	return 0
}
