package script

import (
	"sync"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/library"
)

// Sizes of the arguments that a machine keeps for the next run.
const (
	keptArgs = 64 // KEYS and ARGV up to this size
	keptText = 64 // and texts up to this size
)

// machine runs one script at a time, with the commands that it calls.
type machine struct {
	L          *lua.LState
	run        interpreter.Run
	keys, argv *lua.LTable
	sameArgs   [keptArgs]lua.LValue // of ARGV in runs before, by position

	caller  Caller
	calling bool     // the caller works
	args    [][]byte // of redis.call
	bytes   []byte   // their text
	ends    []int
	reply   []byte
}

var machines = sync.Pool{New: func() any { return newMachine() }}

func newMachine() *machine {
	m := &machine{}
	m.L = interpreter.NewState(&m.run)
	return m
}

func init() {
	libraries := library.All()
	libraries["redis"] = interpreter.Library{Functions: redisFunctions, Constants: redisConstants}
	interpreter.Install(libraries, map[string]lua.LGFunction{
		"(run)":  func(L *lua.LState) int { return callCommand(L, true, true) },
		"(prun)": func(L *lua.LState) int { return callCommand(L, false, true) },
	})
}

// machineOf returns the machine whose script calls.
func machineOf(L *lua.LState) *machine { return interpreter.Of(L).Host.(*machine) }

// Expired is the caller's.
func (m *machine) Expired() bool { return m.caller.Expired() }

// start prepares a run.
func (m *machine) start(p *Program, budget int, keys, argv [][]byte, caller Caller) {
	m.caller = caller
	m.keys, m.argv = m.fill(m.keys, keys, nil), m.fill(m.argv, argv, &m.sameArgs)
	m.run.Start(m, p.chunk, budget-p.weight, m.keys, m.argv)
}

// fill sets a table to texts. Those of ARGV are often the same as before, as a limit is, and need no memory then.
func (m *machine) fill(t *lua.LTable, texts [][]byte, before *[keptArgs]lua.LValue) *lua.LTable {
	if t == nil || len(texts) > keptArgs {
		t = interpreter.NewTable(len(texts), 0)
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
	m.run.Finish()
	m.L.SetTop(0)
	m.keys, m.argv = emptied(m.keys), emptied(m.argv)
	m.caller, m.args, m.bytes, m.ends, m.reply = nil, m.args[:0], m.bytes[:0], m.ends[:0], m.reply[:0]
	if cap(m.bytes)+cap(m.reply) > 1<<20 {
		m.bytes, m.reply = nil, nil
	}
	machines.Put(m)
}
