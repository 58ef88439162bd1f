package data

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Executor carries out commands on data, and scripts, on a store's keys: the [transaction.Commands] of every store. The zero
// value is ready for use.
type Executor struct {
	// Databases is the number of databases, 0 in a cluster, which has one.
	Databases int
	// ScriptTime bounds the time of a script where only this node runs it: on a server alone, and before it is proposed to a cluster.
	// It is for work that has no price yet in steps. 0 is no bound, as in tests, which must not depend on time.
	ScriptTime time.Duration
	// Owns reports whether a script may use a key; nil if it may use every key. The keys that an operation declares are not asked for.
	Owns func(key []byte) bool

	programs programs
	calls    sync.Pool // of *Call
}

// Run implements [transaction.Commands].
func (e *Executor) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	if op.Verb == engine.Script && op.Tokens != scriptcache.Dialect {
		res.Status = engine.Unreadable
		return
	}
	c, _ := e.calls.Get().(*Call)
	if c == nil {
		c = new(Call)
	}
	*c = Call{Tx: tx, Args: op.Args, op: op, executor: e, Writer: resp.Writer{Buf: res.Reply}, script: c.script}
	switch row, err := command.Find(op.Args); {
	case err != nil: // of a log that another version wrote
		c.Fail(err)
	case row.Data == 0:
		c.Fail(command.UnknownCommand(op.Args))
	default:
		run(c, row)
		if op.Verb == engine.Command { // the prices within scripts belong to their dialect
			tx.Spend(c.Writer.Words * command.WordWork)
		}
	}
	res.Reply = c.Writer.Buf
	*c = Call{script: c.script} // it must not hold on to the buffers of a connection
	e.calls.Put(c)
}

// scriptCaller carries out the commands that a script calls.
type scriptCaller struct {
	call  *Call // of the script
	inner Call  // of the command that the script calls

	noWrites bool          // the script's first line says so
	most     time.Duration // that the script may take, 0 for no bound
	began    time.Time
	expired  bool // the script was ended
}

// ScriptTime is [Executor.ScriptTime] of a server: long enough for a machine on which much else runs.
const ScriptTime = time.Second

// Expired implements [script.Caller].
func (s *scriptCaller) Expired() bool {
	s.expired = s.most != 0 && time.Since(s.began) > s.most
	return s.expired
}

// Call implements [script.Caller].
func (s *scriptCaller) Call(reply []byte, args [][]byte) (out []byte, steps int) {
	before := s.call.Tx.Work()
	c, row := &s.inner, command.LookUp(args[0])
	if sub := command.RowOf(args); sub != nil && sub.Data != 0 {
		row = sub
	}
	*c = Call{Tx: s.call.Tx, Args: args, executor: s.call.executor, Writer: resp.Writer{Buf: reply}}
	switch err := s.check(row, args); {
	case err != nil:
		c.Fail(err)
	case row.Data != 0:
		run(c, row)
	default:
		s.limit(row, c)
	}
	out, *c = c.Writer.Buf, Call{}
	return out, (s.call.Tx.Work() - before) / workOfStep
}

// workOfStep is the work, in units of [engine.Result.Work], that takes as long as a step of a script: some 40 ns.
const workOfStep = 4

// check returns why a script may not call a command.
func (s *scriptCaller) check(row *command.Row, args [][]byte) error {
	switch {
	case row == nil:
		return errUnknownInScript
	case !row.InScripts():
		return errNotInScript
	case !row.Accepts(len(args)):
		return errArityInScript
	case row.Flags&command.Write != 0 && (s.call.Tx.ReadOnly() || s.noWrites):
		return errWriteInReadOnly
	case !s.mayCall(row):
		return errNoCommandInScript
	case !s.mayTouch(row, args):
		return ErrNoKeyInScript
	case !s.owns(row, args):
		return ErrNotOwnedInScript
	}
	return nil
}

// owns reports whether all keys of a command are of the group that carries out the script.
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

// mayCall reports whether the script's user may use a command. The operation lists the commands of a user that may not
// use all.
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

// mayTouch reports whether the script's user may use the keys of a command as it does.
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

// mayUse reports whether a user that may not use all keys may use one. It must be declared, and that the user may change it was checked before
// the script ran. A read-only script declares keys that the user may read, and changes none.
func (s *scriptCaller) mayUse(key []byte, access command.Access) bool {
	op := s.call.op
	i := slices.IndexFunc(op.DeclaredKeys(), func(k []byte) bool { return bytes.Equal(k, key) })
	return i >= 0 && (access&command.Reads == 0 || !op.IsWriteOnly(i))
}

// mayDo reports whether the script's user may do an operation to its key, and to its member's, as mayTouch does for arguments.
func (s *scriptCaller) mayDo(op *engine.Op) bool {
	if s.call.op.Options&engine.DeclaredOnly == 0 {
		return true
	}
	access, member := command.AccessOf(op, 0), op.MemberKey()
	return (!op.Verb.HasOneKey() || s.mayUse(op.Key, access)) && (member == nil || s.mayUse(member, access))
}

// limit carries out a limiter command.
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
		r.Ops[i].MaxWait = min(r.Ops[i].MaxWait, 0) // granted now or denied
		if !c.Tx.Apply(&r.Ops[i], &results[i]) {
			c.Fail(ErrSeveralInScript.With(wideName(row, &r.Ops[i])))
			return
		}
		c.Tx.Spend(results[i].Work)
	}
	row.Reply(&c.Writer, r.Ops, results)
}

// wideName is the word by which a limiter command is about more than one limiter.
func wideName(row *command.Row, op *engine.Op) string {
	if op.Verb == engine.Reserve && op.Request().Verb == engine.Acquire {
		return "AS"
	}
	return strings.ToUpper(row.Name)
}

// manyAnswers is the number of elements that take much longer to look up than the value takes to be copied.
const manyAnswers = 1000

// ReadsAll implements [transaction.Commands].
func (e *Executor) ReadsAll(op *engine.Op, held int) bool {
	row := command.RowOf(op.Args)
	return row != nil && (row.ReadsAll || row.Answers != nil && row.Answers(op.Args, held) >= manyAnswers)
}

// Weigh implements [transaction.Commands]: a script is taken to need as many steps as before.
func (e *Executor) Weigh(op *engine.Op, held int) (work int) {
	if len(op.Args) == 0 {
		return store.OpWork
	}
	row := command.RowOf(op.Args)
	switch {
	case row == nil:
		return store.OpWork
	case op.Verb == engine.Command:
		return row.WeighData(op.Args, held)
	case row.Cost == command.ScriptRun && len(op.Args) > 1:
		if program := e.programOf(row, op.Args[1]); program != nil && program.Steps() > 0 {
			return store.OpWork + program.Steps()*workOfStep
		}
	}
	return command.MaxBatchWork
}
