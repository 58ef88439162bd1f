package interpreter

import (
	"maps"
	"slices"

	"github.com/stintdb/stint/engine/script/value"
)

// Builtins are the functions and libraries of all scripts, by name in parentheses: (redis.call), (tonumber), (redis).
// Nothing changes them after [Install].
var Builtins = map[string]value.Value{}

// The libraries are shared by all runs. A script sees each one through an empty table, which lets it read and nothing
// else.
var (
	globals       = &value.Table{} // _G
	stringLibrary = value.OfTable(&value.Table{})
)

// Library is a table of the globals, such as string.
type Library struct {
	Functions map[string]GoFunction
	Directs   map[string]func(Site) Direct // of some of the functions
	Unaries   map[string]Unary             // of some others
	Constants map[string]value.Value
}

// Install makes the globals of all scripts, and must be called once, before the first: the language's own functions and
// the libraries. The functions of the library without a name are globals.
func Install(libraries map[string]Library) {
	everything := &value.Table{}
	directs, unaries = map[string]func(Site) Direct{}, map[string]Unary{}
	libraries = maps.Clone(libraries)
	libraries["coroutine"] = Library{Functions: coroutineFunctions}
	for _, name := range sortedKeys(libraries) {
		if name == "" {
			fill(everything, "", libraries[name])
			continue
		}
		t := &value.Table{}
		if name == "string" {
			t = stringLibrary.Table()
		}
		fill(t, name+".", libraries[name])
		add(everything, name, name, value.OfTable(readOnly(t, value.OfTable(t), &value.Table{})))
	}
	fill(everything, "", Library{Functions: baseFunctions})
	add(everything, "_VERSION", "_VERSION", value.String("Lua 5.1"))
	add(everything, "_G", "_G", value.OfTable(globals))
	readOnly(everything, NewFunction(func(L *Thread) int { return globalField(L, everything) }), globals)
	behind := &value.Table{}
	behind.SetString("__index", Builtins["(string)"])
	readOnly(behind, value.OfTable(behind), shownStringMeta)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fill adds a library to a table.
func fill(t *value.Table, path string, from Library) {
	for _, name := range sortedKeys(from.Functions) {
		add(t, path+name, name, NewFunction(from.Functions[name]))
	}
	for name, direct := range from.Directs {
		directs["("+path+name+")"] = direct
	}
	for name, unary := range from.Unaries {
		unaries["("+path+name+")"] = unary
	}
	for _, name := range sortedKeys(from.Constants) {
		add(t, path+name, name, from.Constants[name])
	}
}

// add adds a value to a table, and to the builtins by its path.
func add(t *value.Table, path, name string, v value.Value) {
	t.SetString(name, v)
	Builtins["("+path+")"] = v
}

// readOnly makes a table show the values of another one, found by an index, and refuse changes.
func readOnly(values *value.Table, index value.Value, shown *value.Table) *value.Table {
	shown.Meta = &value.Table{}
	shown.Meta.SetString("__index", index)
	shown.Meta.SetString("__newindex", NewFunction(func(L *Thread) int {
		L.Fail(readOnlyText)
		return 0
	}))
	shown.Shows = values
	return shown
}

// globalField reads a field of _G.
func globalField(L *Thread, everything *value.Table) int {
	key := L.Get(2)
	v := everything.Get(key)
	if v.IsNil() {
		name, _ := value.AsText(key)
		switch {
		case name == "KEYS":
			v = L.arguments(false)
		case name == "ARGV":
			v = L.arguments(true)
		default:
			L.missingGlobal(name)
		}
	}
	return L.Push(v)
}

// missingGlobal is the error for a global that does not exist.
func (L *Thread) missingGlobal(name string) {
	L.Fail("Script attempted to access nonexistent global variable '%s'", name)
}

// shownStringMeta is what getmetatable("") returns.
var shownStringMeta = &value.Table{}
