package script

import (
	"sync"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/syntax"
)

// Sizes of the interpreter's stacks.
const (
	maxCalls     = 200
	stackSize    = 1024
	maxStackSize = 40_000
	maxUnpacked  = 8000
	keptArgs     = 64 // KEYS and ARGV up to this size are kept for the next run
	keptText     = 64 // and texts up to this size
)

// machine is an interpreter that runs one script at a time.
type machine struct {
	L          *lua.LState
	run        run
	keys, argv *lua.LTable
	sameArgs   [keptArgs]lua.LValue // of ARGV in runs before, by position
}

// run is the state of one execution. It hides in the interpreter as a metatable, where functions find it.
type run struct {
	budget     int
	lookAt     int    // the budget at which the script's time is looked at
	over       string // why the script must end
	caller     Caller
	chunks     []*syntax.Chunk // of the script and of those that it loads
	keys, argv *lua.LTable
	random     random
	dead       map[*lua.LTable]int // deleted keys, which iteration steps over
	names      map[lua.LValue]int  // of objects, for tostring
	coroutines map[*lua.LState]*coroutine
	current    *coroutine
	json       jsonOptions

	calling bool // the Caller works

	args  [][]byte // of redis.call
	bytes []byte   // their text
	ends  []int
	reply []byte
	build []byte // for strings that are built
}

func (r *run) String() string       { return "run" }
func (r *run) Type() lua.LValueType { return lua.LTUserData }

// runOf returns the run that executes.
func runOf(L *lua.LState) *run { return L.G.Registry.Metatable.(*run) }

var machines = sync.Pool{New: func() any { return newMachine() }}

func newMachine() *machine {
	L := lua.NewState(lua.Options{CallStackSize: maxCalls, RegistrySize: stackSize, RegistryMaxSize: maxStackSize,
		RegistryGrowStep: stackSize, SkipOpenLibs: true})
	L.Env = globals
	for _, example := range []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0), builtins["(redis.call)"], L} {
		L.SetMetatable(example, basicMeta)
	}
	L.SetMetatable(lua.LString(""), stringMeta)
	m := &machine{L: L}
	L.G.Registry.Metatable = &m.run
	return m
}

// start prepares a run.
func (m *machine) start(p *Program, budget int, keys, argv [][]byte, caller Caller) {
	r := &m.run
	r.budget, r.over, r.caller = budget-p.weight, "", caller
	r.lookAt = max(r.budget-stepsPerLook, 0)
	r.chunks = append(r.chunks[:0], p.chunk)
	r.random = firstRandom
	r.json = defaultJSON
	m.keys, m.argv = m.fill(m.keys, keys, nil), m.fill(m.argv, argv, &m.sameArgs)
	r.keys, r.argv = m.keys, m.argv
}

// fill sets a table to texts. Those of ARGV are often the same as before, as a limit is, and need no memory then.
func (m *machine) fill(t *lua.LTable, texts [][]byte, before *[keptArgs]lua.LValue) *lua.LTable {
	if t == nil || len(texts) > keptArgs {
		t = newTable(len(texts), 0)
	}
	for i, text := range texts {
		if before == nil || i >= keptArgs || len(text) > keptText {
			t.RawSetInt(i+1, lua.LString(text))
			continue
		}
		if same, _ := before[i].(lua.LString); before[i] == nil || string(same) != string(text) {
			before[i] = lua.LString(text)
		}
		t.RawSetInt(i+1, before[i])
	}
	return t
}

// emptied returns the table without its values for another run, or nil if it can't be reused.
func emptied(t *lua.LTable) *lua.LTable {
	n := t.Len()
	if n > keptArgs || t.Metatable != lua.LNil {
		return nil
	}
	for ; n > 0; n-- {
		t.RawSetInt(n, lua.LNil)
		t.Remove(n)
	}
	if key, _ := t.Next(lua.LNil); key != lua.LNil {
		return nil
	}
	return t
}

// finish forgets the run and returns the machine to the pool.
func (m *machine) finish() {
	r := &m.run
	for _, c := range r.coroutines {
		c.stop()
	}
	m.L.SetTop(0)
	m.keys, m.argv = emptied(m.keys), emptied(m.argv)
	clear(r.chunks)
	*r = run{chunks: r.chunks, args: r.args[:0], bytes: r.bytes[:0], ends: r.ends[:0], reply: r.reply[:0], build: r.build[:0]}
	if cap(r.bytes)+cap(r.reply)+cap(r.build) > 1<<20 {
		r.bytes, r.reply, r.build = nil, nil, nil
	}
	machines.Put(m)
}
