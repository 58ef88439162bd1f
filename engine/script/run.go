package script

import (
	"github.com/stintdb/stint/engine/script/syntax"
	lua "github.com/yuin/gopher-lua"
)

// Sizes of the interpreter's stacks.
const (
	maxCalls     = 200
	stackSize    = 1024
	maxStackSize = 40_000
	maxUnpacked  = 8000
)

// maxKeptBuild is the largest buffer that is kept for the next run.
const maxKeptBuild = 1 << 20

// Host is what a script runs for.
type Host interface {
	// Expired reports whether the script must end now, with [TimeError].
	Expired() bool
}

// run is the state of one execution. It hides in the interpreter as a metatable, where functions find it.
type run struct {
	budget     int    // steps that are left
	lookAt     int    // the budget at which the script's time is looked at
	over       string // why the script must end
	host       Host
	chunks     chunks
	keys, argv *lua.LTable
	dead       map[*lua.LTable]int // deleted keys, which iteration steps over
	names      map[lua.LValue]int  // of objects, for tostring
	coroutines coroutines
	kept       any    // what the libraries keep, until the run ends
	build      []byte // for strings that are built
}

// newState returns an interpreter for one run after the other, whose state is r.
func newState(r *run) *lua.LState {
	L := lua.NewState(lua.Options{CallStackSize: maxCalls, RegistrySize: stackSize, RegistryMaxSize: maxStackSize,
		RegistryGrowStep: stackSize, SkipOpenLibs: true})
	L.Env = globals
	for _, example := range []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0), ipairsNext, L} {
		L.SetMetatable(example, basicMeta)
	}
	L.SetMetatable(lua.LString(""), stringMeta)
	L.G.Registry.Metatable = r
	return L
}

// start prepares the run of a script within a budget, with its KEYS and ARGV.
func (r *run) start(host Host, script *syntax.Chunk, budget int, keys, argv *lua.LTable) {
	r.budget, r.over, r.host = budget, "", host
	r.lookAt = max(r.budget-stepsPerLook, 0)
	r.chunks = append(r.chunks[:0], script)
	r.keys, r.argv = keys, argv
}

// finish forgets the run.
func (r *run) finish() {
	for _, c := range r.coroutines.alive {
		c.stop()
	}
	clear(r.chunks)
	*r = run{chunks: r.chunks, build: r.build[:0]}
	if cap(r.build) > maxKeptBuild {
		r.build = nil
	}
}

func (r *run) String() string { return "run" }

func (r *run) Type() lua.LValueType { return lua.LTUserData }

// runOf returns the run that executes.
func runOf(L *lua.LState) *run { return L.G.Registry.Metatable.(*run) }
