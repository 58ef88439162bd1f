package script

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/syntax"
)

// Budget is the number of steps that a script may take. A step is about one operation of the interpreter; 16 bytes of a
// string or of a table cost one step as well, so the budget bounds time and memory.
const Budget = interpreter.Budget

// TimeError is the reply to a script whose caller has no more time. No pcall catches it.
const TimeError = interpreter.TimeError

// BudgetError is the reply to a script that is over the budget. No pcall catches it.
const BudgetError = interpreter.BudgetError

// Caller carries out the commands that a script calls.
type Caller interface {
	// Find returns what the caller knows of the command with a name, which it is given back for each call that has this name
	// as a constant. It depends on nothing but the name. nil means that the caller must look at the arguments.
	Find(name string) (row any)
	// Dialect is the version of the language in which the script is run, 1 or more. In dialect 1, the last digits of
	// powers, logarithms and functions of angles depend on the processor.
	Dialect() int64
	// UseRESP3 says whether the replies of the calls from here on are in RESP3. At the start of a script they are in
	// RESP2. It reports whether the caller can reply in that version.
	UseRESP3(on bool) (ok bool)
	// Call appends the reply to a command to reply. args[0] is the command's name as the script wrote it; args are
	// valid during the call only, and must not be changed. row is what Find returned for the name, or nil. steps are the
	// price of the command, from the script's [Budget], beyond the price of any call.
	Call(reply []byte, args [][]byte, row any) (out []byte, steps int)
	// Expired reports whether the script must end now, with [TimeError]. It is asked once in some thousand steps. Where several nodes
	// run the script it must be false: they do not get equally far in a time.
	Expired() bool
}

// Program is a compiled script. It is safe for concurrent use.
type Program struct {
	function *interpreter.Function
	weight   int // steps of the body without its loops
	bytes    int // about its memory
	body     string
	sha      string
	shebang  shebang
	steps    atomic.Int64 // the most that a run took
	inVain   atomic.Int64 // attempts in a row that would have changed something, and those left out among them
}

// After this many attempts in vain, one of as many is made.
const attemptsInVain = 16

// mostUntimed is the number of steps of a script up to which attempts are left out. The attempt ends a script that takes
// too long before other nodes run it.
const mostUntimed = 20_000

// IsWorthAttempt reports whether to run the script before other nodes do, because it may change nothing: not if it has
// changed something again and again.
func (p *Program) IsWorthAttempt() bool {
	n := p.inVain.Load()
	if n < attemptsInVain || n%attemptsInVain == 0 || p.Steps() > mostUntimed {
		return true
	}
	p.inVain.Add(1)
	return false
}

// NoteAttempt notes whether an attempt would have changed something.
func (p *Program) NoteAttempt(changes bool) {
	if changes {
		p.inVain.Add(1)
	} else {
		p.inVain.Store(0)
	}
}

// SHA1 is the name of the script: 40 hexadecimal digits in lower case.
func (p *Program) SHA1() string { return p.sha }

// Body is the script as it was compiled.
func (p *Program) Body() string { return p.body }

// Bytes is about the memory that the program takes.
func (p *Program) Bytes() int { return p.bytes }

// Steps is the most steps that a run has taken so far, 0 before the first one.
func (p *Program) Steps() int { return int(p.steps.Load()) }

// note keeps the steps of a run.
func (p *Program) note(steps int) {
	if n := int64(steps); n > p.steps.Load() {
		p.steps.Store(n)
	}
}

// MaxBody is the largest script, in bytes.
const MaxBody = 1 << 20

// Compile compiles a script. The text of an error is Redis's reply, without "-".
func Compile(body []byte) (*Program, error) {
	const prefix = "ERR Error compiling script (new function): "
	if len(body) > MaxBody {
		return nil, errors.New(prefix + "the script is larger than " + strconv.Itoa(MaxBody) + " bytes")
	}
	text := string(body)
	source, first, err := cutShebang(text)
	if err != nil {
		return nil, err
	}
	c := &syntax.Chunk{Display: "user_script", Source: "@user_script"}
	function, weight, left, err := interpreter.Compile(c, source, Budget)
	if err != nil {
		return nil, errors.New(prefix + oneLine(err.Error()))
	}
	return &Program{function: function, weight: weight, bytes: bytesOf(c, source, Budget-left), body: text, sha: SHA1(body), shebang: first}, nil
}

// bytesOf is about the memory of a compiled source: its text, its closures, which grow with the steps that it took to
// compile, and its places.
func bytesOf(c *syntax.Chunk, source string, steps int) int {
	const ofProgram = 600
	return ofProgram + len(source)*7/4 + steps*3/2 + c.Memory()
}

// SHA1 returns the name of a script: 40 hexadecimal digits in lower case.
func SHA1(body []byte) string {
	sum := sha1.Sum(body)
	return hex.EncodeToString(sum[:])
}

// Run executes the script and appends its reply, in RESP2, to reply.
func (p *Program) Run(reply []byte, keys, argv [][]byte, caller Caller) []byte {
	return p.runWithin(Budget, reply, true, keys, argv, caller)
}

// RunUnread is Run without a reply, as replicas do that answer nobody. What the script changes, and its steps, are the same.
func (p *Program) RunUnread(keys, argv [][]byte, caller Caller) {
	p.runWithin(Budget, nil, false, keys, argv, caller)
}

// runWithin is Run within a budget, for a reply that is read or not.
func (p *Program) runWithin(budget int, reply []byte, isRead bool, keys, argv [][]byte, caller Caller) []byte {
	m := machines.Get().(*machine)
	m.start(p, budget, keys, argv, caller)
	start := len(reply)
	if m.run.Left() < 0 {
		m.finish()
		return appendError(reply, BudgetError)
	}
	result, failed := m.run.Execute(p.function)
	p.note(budget - max(0, m.run.Left()))
	switch {
	case !isRead:
	case failed != nil:
		reply = appendError(reply, failed.Reply(p.sha))
	default:
		w := replyWriter{run: m.run, resp3: m.resp3}
		reply = w.write(reply, result, 0)
		if w.failed != "" {
			reply = appendError(reply[:start], w.failed)
		}
	}
	m.finish()
	return reply
}
