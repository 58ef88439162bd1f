package data

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/monitor"
	"github.com/stintdb/stint/server/resp"
)

// Executor carries out data commands and scripts on a store's keys. It is the [transaction.Commands] of every store. The zero
// value is ready for use.
type Executor struct {
	// Databases is the number of databases, 0 in a cluster, which has one.
	Databases int
	// ScriptTime limits how long a script runs where only this node runs it: on a single server, and before the script
	// is proposed to a cluster. It catches work that the count of steps misses. 0 means no limit, as in tests, which
	// must not depend on time.
	ScriptTime time.Duration
	// Owns reports whether a script may use a key that its operation does not declare. If it is nil, a script may use
	// every key.
	Owns func(key []byte) bool
	// Monitors are shown what scripts call; nil if nobody watches.
	Monitors *monitor.Monitors
	// Lookups counts keys that read-only commands look for; nil if nobody asks.
	Lookups *Lookups

	programs programs
	called   atomic.Pointer[command.Row] // of the last script
}

// Run implements [transaction.Commands].
func (e *Executor) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	if op.Verb == engine.Script && (op.Tokens < 1 || op.Tokens > scriptcache.Dialect) {
		res.Status = engine.Unreadable
		return
	}
	c, _ := tx.Room.(*Call)
	if c == nil {
		c = new(Call)
		tx.Room = c
	}
	c.Tx, c.Args, c.op, c.executor, c.Writer = tx, op.Args, op, e, resp.Writer{Buf: res.Reply}
	switch row, err := find(c); {
	case err != nil: // another version wrote the log
		c.Fail(err)
	case row.Data == 0:
		c.Fail(command.UnknownCommand(op.Args))
	default:
		run(c, row)
		if op.Verb == engine.Command { // what a command costs within a script belongs to the script's dialect
			tx.Spend(c.Writer.Words * command.WordWork)
		}
	}
	res.Reply = c.Writer.Buf
	c.Args, c.op, c.Writer.Buf = nil, nil, nil // do not keep a connection's buffers alive
}

// find is [Executor.find], fast for the command that came before.
func find(c *Call) (row *command.Row, err error) {
	if c.last != nil && c.last.Is(c.Args) {
		return c.last, nil
	}
	if row, err = c.executor.find(c.op); err == nil {
		c.last = row
	}
	return row, err
}

// find is [command.Find], fast for the command by which most scripts are called.
func (e *Executor) find(op *engine.Op) (*command.Row, error) {
	if op.Verb != engine.Script {
		return command.Find(op.Args)
	}
	if last := e.called.Load(); last != nil && last.Is(op.Args) {
		return last, nil
	}
	row, err := command.Find(op.Args)
	if err == nil {
		e.called.Store(row)
	}
	return row, err
}

// scriptCaller carries out the commands that a script calls.
type scriptCaller struct {
	call  *Call // the script
	inner Call  // the command that the script calls

	isUnlimited bool // the script may call every command on every key

	noWrites bool          // the script's first line has the flag no-writes
	resp3    bool          // the script reads replies in RESP3
	asked    string        // the command by which the script asked for what depends on the server's version
	most     time.Duration // how long the script may run; 0 is no limit
	began    time.Time     // when the interpreter first asked whether the script has expired, some 50 µs after its start
	expired  bool          // the script ran too long and was ended

	isWatched bool        // MONITOR shows the calls
	calls     []shownCall // to be shown at the end, because a script that needs more locks begins again
	callBytes int         // of calls
	left      int64       // the number of calls for which there was no room
}

// shownCall is a call that MONITOR shows.
type shownCall struct {
	row      *command.Row
	args     [][]byte
	database uint8
}

// ScriptTime is a server's [Executor.ScriptTime], long enough for a machine that is busy with other work.
const ScriptTime = time.Second

// Expired implements [script.Caller].
func (s *scriptCaller) Expired() bool {
	if s.most == 0 {
		return false
	}
	if s.began.IsZero() {
		s.began = time.Now()
	}
	s.expired = time.Since(s.began) > s.most
	return s.expired
}

// Dialect implements [script.Caller].
func (s *scriptCaller) Dialect() int64 { return s.call.op.Tokens }

// UseRESP3 implements [script.Caller]. Scripts of the first dialect could not read RESP3.
func (s *scriptCaller) UseRESP3(on bool) bool {
	ok := !on || s.Dialect() > 1
	s.resp3 = on && ok
	return ok
}

// Find implements [script.Caller]: it returns the row of a command without subcommands.
func (s *scriptCaller) Find(name string) any {
	if row := command.LookUp([]byte(name)); row != nil && len(row.Sub) == 0 {
		return row
	}
	return nil
}

// Call implements [script.Caller].
func (s *scriptCaller) Call(reply []byte, args [][]byte, known any) (out []byte, steps int) {
	before := s.call.Tx.Work()
	c := &s.inner
	row, _ := known.(*command.Row)
	if row == nil {
		row = command.LookUp(args[0])
		if sub := command.RowOf(args); sub != nil && sub.Data != 0 {
			row = sub
		}
	}
	c.Args, c.Writer = args, resp.Writer{Buf: reply, RESP3: s.resp3 && row != nil && row.Run != nil}
	err := s.check(row, args)
	if err == nil && s.isWatched {
		s.note(row, args)
	}
	switch {
	case err != nil:
		c.Fail(err)
	case row.Data != 0:
		run(c, row)
	default:
		s.limit(row, c)
	}
	out, c.Args, c.Writer.Buf = c.Writer.Buf, nil, nil // do not keep buffers alive
	if s.resp3 && err == nil && row.Run == nil {
		w := resp.Writer{RESP3: true}
		w.FromRESP2(out[len(reply):], shapeOf(row, args))
		out = append(reply, w.Buf...)
	}
	return out, (s.call.Tx.Work() - before) / workOfStep
}

// note keeps a call for MONITOR, unless the calls of this script already take as much as the backlog of a connection.
func (s *scriptCaller) note(row *command.Row, args [][]byte) {
	const ofCall, ofArg = int(unsafe.Sizeof(shownCall{})), int(unsafe.Sizeof([]byte(nil)))
	size := ofCall
	for _, arg := range args {
		size += ofArg + len(arg)
	}
	if s.left > 0 || s.callBytes+size > monitor.MaxBacklogBytes {
		s.left++
		return
	}
	s.callBytes += size
	call := shownCall{row: row, database: s.call.Tx.Database()}
	for _, arg := range args {
		call.args = append(call.args, bytes.Clone(arg))
	}
	s.calls = append(s.calls, call)
}

// show shows the calls of a script that has ended.
func (s *scriptCaller) show() {
	if s.call.Tx.Alone() {
		for i := range s.calls {
			c := &s.calls[i]
			s.call.executor.Monitors.Show(c.row, c.args, s.call.Tx.Now(), c.database, "lua")
		}
		s.call.executor.Monitors.Drop(s.left)
	}
	s.calls, s.callBytes, s.left = nil, 0, 0
}

// workOfStep is the work, in units of [engine.Result.Work], that takes as long as a step of a script, about 40 ns.
const workOfStep = 4

// check returns an error if a script may not call a command.
func (s *scriptCaller) check(row *command.Row, args [][]byte) error {
	switch {
	case row == nil, row.Dialect > s.call.op.Tokens && row.Since != command.FirstVersion:
		return errUnknownInScript
	case !row.InScripts(), row.Dialect > s.call.op.Tokens, len(row.Sub) > 0 && len(args) > 1:
		return errNotInScript
	case !row.Accepts(len(args)):
		return errArityInScript
	case row.Flags&command.Write != 0 && (s.call.Tx.ReadOnly() || s.noWrites):
		return errWriteInReadOnly
	case row.Flags&command.Write != 0 && s.asked != "":
		return errWriteByVersion.With(s.asked)
	case s.isUnlimited:
	case !s.mayCall(row):
		return errNoCommandInScript
	case !s.mayTouch(row, args):
		return ErrNoKeyInScript
	case !s.owns(row, args):
		return ErrNotOwnedInScript
	}
	if row.Flags&command.ByVersion != 0 {
		s.asked = row.Title()
	}
	return nil
}

// owns reports whether all keys of a command belong to the group of keys that runs the script.
func (s *scriptCaller) owns(row *command.Row, args [][]byte) bool {
	owns := s.call.executor.Owns
	if owns == nil {
		return true
	}
	for _, key := range row.Keys.Of(args).In(args) {
		if !owns(key) {
			return false
		}
	}
	return row.NamesItsKeys()
}

// mayCall reports whether the script's user may use a command. If the user may not use all commands, the operation
// lists the permitted ones.
func (s *scriptCaller) mayCall(row *command.Row) bool {
	if len(s.call.op.Who) == 0 {
		return true
	}
	for name := range bytes.SplitSeq(s.call.op.Who, []byte(" ")) {
		if string(name) == row.FullName {
			return true
		}
	}
	return false
}

// mayTouch reports whether the script's user may read and change the keys of a command as it does.
func (s *scriptCaller) mayTouch(row *command.Row, args [][]byte) bool {
	if s.call.op.Options&engine.DeclaredOnly == 0 {
		return true
	}
	for i, key := range row.Keys.Of(args).In(args) {
		if !s.mayUse(key, row.Access(args, i)) {
			return false
		}
	}
	return row.NamesItsKeys()
}

// mayUse reports whether a user who may not use all keys may use this one. The script must declare it; before the
// script ran, it was checked that the user may change every declared key, or, for a read-only script, read it.
func (s *scriptCaller) mayUse(key []byte, access command.Access) bool {
	op := s.call.op
	i := slices.IndexFunc(op.DeclaredKeys(), func(k []byte) bool { return bytes.Equal(k, key) })
	return i >= 0 && (access&command.Reads == 0 || !op.IsWriteOnly(i))
}

// mayDo is mayTouch for an operation: it checks its key, and the key of its member.
func (s *scriptCaller) mayDo(op *engine.Op) bool {
	if s.call.op.Options&engine.DeclaredOnly == 0 {
		return true
	}
	access, member := command.AccessOf(op, 0), op.MemberKey()
	return (!op.Verb.HasOneKey() || s.mayUse(op.Key, access)) && (member == nil || s.mayUse(member, access))
}

// limit carries out a command on a limiter.
func (s *scriptCaller) limit(row *command.Row, c *Call) {
	r := command.Request{Args: c.Args, Bounds: command.Bounds{MaxKeyBytes: engine.MaxKeyBytes, MaxLogLimit: limits.MaxLogLimit}}
	if err := row.Parse(&r); err != nil {
		c.Fail(err)
		return
	}
	results := make([]engine.Result, len(r.Ops))
	for i := range r.Ops {
		if !s.mayDo(&r.Ops[i]) {
			c.Fail(ErrNoKeyInScript)
			return
		}
		r.Ops[i].MaxWait = min(r.Ops[i].MaxWait, 0) // a script does not wait for tokens
		if !c.Tx.Apply(&r.Ops[i], &results[i]) {
			c.Fail(ErrSeveralInScript.With(wideName(row, &r.Ops[i])))
			return
		}
		c.Tx.Spend(results[i].Work)
	}
	row.Reply(&c.Writer, r.Ops, results)
}

// wideName is the word that makes a command concern more than one limiter.
func wideName(row *command.Row, op *engine.Op) string {
	if op.Verb == engine.Reserve && op.Request().Verb == engine.Acquire {
		return "AS"
	}
	return strings.ToUpper(row.Name)
}

// manyAnswers is a number of elements that take much longer to look up than the value takes to copy.
const manyAnswers = 1000

// ReadsAll implements [transaction.Commands].
func (e *Executor) ReadsAll(op *engine.Op, held int) bool {
	row := command.RowOf(op.Args)
	return row != nil && (row.ReadsAll || row.Answers != nil && row.Answers(op.Args, held) >= manyAnswers)
}

// IsWorthAttempt implements [transaction.Commands]. A script that mostly changes something is not, unless MONITOR would
// show the attempt.
func (e *Executor) IsWorthAttempt(op *engine.Op) bool {
	if op.Verb != engine.Script || op.Options&engine.Peek != 0 || e.isWatched() {
		return true
	}
	row, _ := e.find(op)
	program := e.programOf(row, op)
	return program == nil || program.IsWorthAttempt()
}

// isWatched reports whether anybody sees commands by MONITOR.
func (e *Executor) isWatched() bool { return e.Monitors != nil && e.Monitors.Count() > 0 }

// Weigh implements [transaction.Commands]. It assumes that a script needs as many steps as last time.
func (e *Executor) Weigh(op *engine.Op, held transaction.Held) (work int) {
	if len(op.Args) == 0 {
		return store.OpWork
	}
	row, _ := e.find(op)
	switch {
	case row == nil:
		return store.OpWork
	case op.Verb == engine.Command:
		return row.WeighData(op.Args, held.Bytes, held.Longest)
	}
	if program := e.programOf(row, op); program != nil && program.Steps() > 0 {
		return store.OpWork + program.Steps()*workOfStep
	}
	return command.MaxBatchWork
}
