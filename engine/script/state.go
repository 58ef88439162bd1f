package script

import (
	"sync"
	"unsafe"

	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/library"
	"github.com/stintdb/stint/engine/script/value"
)

// keptArgs is the size up to which a machine keeps the tables of KEYS and ARGV for the next run.
const keptArgs = 64

// machine runs one script at a time, with the commands that it calls.
type machine struct {
	run        *interpreter.Run
	keys, argv *value.Table

	caller  Caller
	calling bool     // the caller works
	args    [][]byte // of redis.call
	bytes   []byte   // their text
	ends    []int
	reply   []byte
}

var machines = sync.Pool{New: func() any { return &machine{run: interpreter.NewRun()} }}

func init() {
	libraries := library.All()
	libraries["redis"] = interpreter.Library{Functions: redisFunctions, Constants: redisConstants}
	interpreter.Install(libraries, map[string]interpreter.GoFunction{
		"(redis.call)":  func(L *interpreter.Thread) int { return callCommand(L, true, true) },
		"(redis.pcall)": func(L *interpreter.Thread) int { return callCommand(L, false, true) },
	})
}

// machineOf returns the machine whose script calls.
func machineOf(L *interpreter.Thread) *machine { return L.Run().Host.(*machine) }

// Expired is the caller's.
func (m *machine) Expired() bool { return m.caller.Expired() }

// start prepares a run.
func (m *machine) start(p *Program, budget int, keys, argv [][]byte, caller Caller) {
	m.caller = caller
	m.keys, m.argv = fill(m.keys, keys), fill(m.argv, argv)
	m.run.Start(m, budget-p.weight, m.keys, m.argv)
}

// fill sets a table to texts.
func fill(t *value.Table, texts [][]byte) *value.Table {
	if t == nil {
		t = value.NewTable(len(texts), 0)
	}
	for i, text := range texts {
		t.SetInt(i+1, value.String(unsafe.String(unsafe.SliceData(text), len(text)))) // of the request, which outlives the run
	}
	return t
}

// emptied returns the table without its values for another run, or nil if it is large.
func emptied(t *value.Table, n int) *value.Table {
	if n > keptArgs {
		return nil
	}
	t.Clear()
	return t
}

// finish forgets the run and returns the machine to the pool.
func (m *machine) finish() {
	m.run.Finish()
	m.keys, m.argv = emptied(m.keys, m.keys.Room()), emptied(m.argv, m.argv.Room())
	m.caller, m.args, m.bytes, m.ends, m.reply = nil, m.args[:0], m.bytes[:0], m.ends[:0], m.reply[:0]
	if cap(m.bytes)+cap(m.reply) > 1<<20 {
		m.bytes, m.reply = nil, nil
	}
	machines.Put(m)
}
