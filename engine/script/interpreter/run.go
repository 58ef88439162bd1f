// Package interpreter runs the scripts that package syntax reads: a run with its budget, its errors and the language's
// own operators and functions, on gopher-lua. It knows no commands and no replies.
//
// A script calls Go functions of gopher-lua's state L. Each one finds the run by [Of], pays first ([Run.Charge]), takes
// its arguments (CheckTable, OptInt and the like), and pushes its results. L is an argument of most methods since each
// coroutine has its own.
package interpreter

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/syntax"
)

// Sizes of the interpreter's stacks.
const (
	maxCalls     = 200
	stackSize    = 1024
	maxStackSize = 40_000
)

// MaxUnpacked is how many values a function may return at once.
const MaxUnpacked = 8000

// maxKeptBuild is the largest buffer that is kept for the next run.
const maxKeptBuild = 1 << 20

// Host runs the script.
type Host interface {
	// Expired reports whether the script must end now, with [TimeError].
	Expired() bool
}

// Kept is state that is kept until a run ends. The next run finds it reset.
type Kept interface{ Reset() }

// Run is the state of one execution. It hides in the interpreter as a metatable, where functions find it.
type Run struct {
	Host Host
	Kept Kept // state of the libraries

	budget     int    // steps that are left
	lookAt     int    // the budget at which the script's time is looked at
	over       string // why the script must end
	chunks     chunks
	keys, argv *lua.LTable
	dead       map[*lua.LTable]int // deleted keys, which iteration steps over
	names      map[lua.LValue]int  // of objects, for tostring
	coroutines coroutines
	build      []byte // for strings that are built
}

// NewState returns an interpreter for one run after the other, whose state is r.
func NewState(r *Run) *lua.LState {
	L := lua.NewState(lua.Options{CallStackSize: maxCalls, RegistrySize: stackSize, RegistryMaxSize: maxStackSize,
		RegistryGrowStep: stackSize, SkipOpenLibs: true})
	L.Env = globals
	for _, example := range []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0), ipairsNext, L} {
		L.SetMetatable(example, BasicMeta)
	}
	L.SetMetatable(lua.LString(""), stringMeta)
	L.G.Registry.Metatable = r
	return L
}

// Start prepares the run of a script within a budget, with its KEYS and ARGV.
func (r *Run) Start(host Host, script *syntax.Chunk, budget int, keys, argv *lua.LTable) {
	r.budget, r.over, r.Host = budget, "", host
	r.lookAt = max(r.budget-stepsPerLook, 0)
	r.chunks = append(r.chunks[:0], script)
	r.keys, r.argv = keys, argv
}

// Finish forgets the run.
func (r *Run) Finish() {
	for _, c := range r.coroutines.alive {
		c.stop()
	}
	clear(r.chunks)
	if r.Kept != nil {
		r.Kept.Reset()
	}
	*r = Run{Kept: r.Kept, chunks: r.chunks, build: r.build[:0]}
	if cap(r.build) > maxKeptBuild {
		r.build = nil
	}
}

// String names the run for gopher-lua, which takes it for a value.
func (r *Run) String() string { return "run" }

// Type makes the run a value, so that it can be the metatable.
func (r *Run) Type() lua.LValueType { return lua.LTUserData }

// Of returns the run that executes.
func Of(L *lua.LState) *Run { return L.G.Registry.Metatable.(*Run) }
