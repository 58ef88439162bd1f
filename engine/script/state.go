package script

import (
	"sync"

	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/library"
)

// machine runs one script at a time, with the commands that it calls.
type machine struct {
	run *interpreter.Run

	caller  Caller
	args    [][]byte // of redis.call
	numbers []byte   // the texts of those that are numbers
	replies []byte   // that the run reads
	resp3   bool     // redis.setresp(3) was called
}

var machines = sync.Pool{New: func() any { return &machine{run: interpreter.NewRun()} }}

func init() {
	libraries := library.All()
	libraries["redis"] = interpreter.Library{Functions: redisFunctions, Directs: redisDirects, Constants: redisConstants}
	interpreter.Install(libraries)
}

// machineOf returns the machine whose script calls.
func machineOf(L *interpreter.Thread) *machine { return L.Run().Host.(*machine) }

// Expired is the caller's.
func (m *machine) Expired() bool { return m.caller.Expired() }

// Dialect is the caller's.
func (m *machine) Dialect() int64 { return m.caller.Dialect() }

// start prepares a run.
func (m *machine) start(p *Program, budget int, keys, argv [][]byte, caller Caller) {
	m.caller, m.resp3 = caller, false
	m.run.Start(m, budget-p.weight, keys, argv)
}

// finish forgets the run and returns the machine to the pool.
func (m *machine) finish() {
	m.run.Finish()
	clear(m.args)
	m.caller, m.args, m.numbers, m.replies = nil, m.args[:0], m.numbers[:0], m.replies[:0]
	if cap(m.numbers)+cap(m.args) > 1<<20 {
		m.numbers, m.args = nil, nil
	}
	machines.Put(m)
}
