package data

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var scriptRows = []command.Row{{
	Name: "eval", Syntax: "script numkeys [key ...] [arg ...]", Group: "scripting",
	Summary: "Run a Lua script, as Redis does, and keep it for EVALSHA.",
	Example: "return(redis.call('GET',KEYS[1])) 1 counter",
	Cost:    command.ScriptRun, Flags: command.Write | command.MovableKeys | command.NotInScripts, Parse: parseScript, Reply: ReplyData, Data: Code(runBody),
}, {
	Name: "eval_ro", Syntax: "script numkeys [key ...] [arg ...]", Group: "scripting",
	Summary: "Run a Lua script that changes nothing.",
	Example: "return(redis.call('GET',KEYS[1])) 1 counter",
	Cost:    command.ScriptRun, Flags: command.ReadOnly | command.MovableKeys | command.NotInScripts, Parse: parseScript, Reply: ReplyData, Data: Code(runBody),
}, {
	Name: "evalsha", Syntax: "sha1 numkeys [key ...] [arg ...]", Group: "scripting",
	Summary: "Run a Lua script that was loaded, or called, before.",
	Example: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
	Cost:    command.ScriptRun, Flags: command.Write | command.MovableKeys | command.NotInScripts, Parse: parseScript, Reply: ReplyData, Data: Code(runDigest),
}, {
	Name: "evalsha_ro", Syntax: "sha1 numkeys [key ...] [arg ...]", Group: "scripting",
	Summary: "Run a Lua script that was loaded, or called, before, and that changes nothing.",
	Example: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
	Cost:    command.ScriptRun, Flags: command.ReadOnly | command.MovableKeys | command.NotInScripts, Parse: parseScript, Reply: ReplyData, Data: Code(runDigest),
}, {
	Name: "script", Group: "scripting", Summary: "Commands on the scripts that are kept.",
	Sub: []command.Row{{
		Name: "load", Syntax: "script", Group: "scripting", Summary: "Keep a script until SCRIPT FLUSH.",
		Example: "return(1)",
		Cost:    command.ScriptRun, Flags: command.Write | command.NotInScripts, Parse: parseScriptCommand, Reply: ReplyData, Data: Code(loadScript),
	}, {
		Name: "exists", Syntax: "sha1 ...", Group: "scripting", Summary: "Whether scripts are kept.",
		Example: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
		Cost:    command.ValueCopy, Flags: command.Observes | command.NotInScripts, Parse: parseScriptCommand, Reply: ReplyData, Data: Code(existScripts),
	}, {
		Name: "flush", Syntax: "[ASYNC | SYNC]", Group: "scripting", Summary: "Forget all scripts.",
		Cost: command.ValueCopy, Flags: command.Write | command.NotInScripts, Parse: parseScriptCommand, Reply: ReplyData, Data: Code(flushScripts),
	}, {
		Name: "kill", Group: "scripting",
		Summary: "Always an error, because every script ends after a bounded number of steps.",
		Cost:    command.Light, Flags: command.Observes | command.NotInScripts, Run: func(_ command.Session, w *resp.Writer, _ [][]byte) { w.Error(errNotBusy.Error()) },
	}},
}}

// parseScript parses EVAL and EVALSHA into one operation.
func parseScript(r *command.Request) error {
	count, ok := command.ParseRedisInt(r.Args[2])
	switch {
	case !ok:
		return command.ErrNotInteger
	case count < 0:
		return errNegativeKeys
	case count > int64(len(r.Args)-3):
		return ErrManyScriptKeys
	}
	for _, key := range r.Args[3 : 3+count] {
		if err := r.Key(key); err != nil {
			return err
		}
	}
	op := engine.Op{Verb: engine.Script, Tokens: scriptcache.Dialect, Args: r.KeepArgs(r.Args), KeyFrom: 3, KeyCount: uint32(count), Database: r.Database}
	if isReadOnlyScript(r.Args[0]) {
		op.Options = engine.Peek
	}
	r.Ops = append(r.Ops, op)
	return nil
}

// isReadOnlyScript reports whether a command is EVAL_RO or EVALSHA_RO, whose script must not write.
func isReadOnlyScript(name []byte) bool {
	return command.IsWord(name, "EVAL_RO") || command.IsWord(name, "EVALSHA_RO")
}

// parseScriptCommand parses SCRIPT LOAD, EXISTS and FLUSH into one operation.
func parseScriptCommand(r *command.Request) error {
	op := engine.Op{Verb: engine.Script, Tokens: scriptcache.Dialect, Args: r.KeepArgs(r.Args)}
	if command.IsWord(r.Args[1], "EXISTS") {
		op.Options = engine.Peek
	}
	r.Ops = append(r.Ops, op)
	return nil
}

func runBody(c *Call) {
	body := c.Args[1]
	program, err := c.executor.programs.compile(body)
	if err != nil {
		c.Fail(err)
		return
	}
	runScript(c, program)
	if !c.Tx.ReadOnly() {
		keepScript(c, program, body)
	}
}

// keepScript stores a script that was called with its text, for EVALSHA.
func keepScript(c *Call, program *script.Program, body []byte) {
	var digest scriptDigest
	copy(digest[:], program.SHA1())
	if _, kept := c.Tx.Script(digest[:]); !kept {
		c.Tx.KeepScript(body, false)
	}
}

func runDigest(c *Call) {
	digest, program := c.executor.programs.ofName(c.Args[1])
	body, found := c.Tx.Script(digest)
	if !found {
		c.Fail(errNoScript)
		return
	}
	if program == nil {
		var err error
		if program, err = c.executor.programs.compile(body); err != nil {
			c.Fail(err)
			return
		}
	}
	runScript(c, program)
}

func runScript(c *Call, program *script.Program) {
	if program.DeclaresWrites() && isReadOnlyScript(c.Args[0]) {
		c.Fail(errScriptWrites)
		return
	}
	caller := c.caller()
	caller.noWrites, caller.resp3, caller.asked = program.NoWrites(), false, ""
	caller.most, caller.began, caller.expired = 0, time.Time{}, false
	if c.Tx.Alone() {
		caller.most = c.executor.ScriptTime
	}
	// In a cluster, MONITOR shows the calls once: of the attempt that the leader makes before it proposes the script.
	caller.isWatched = c.Tx.Alone() && c.executor.isWatched()
	from, to := c.op.KeyFrom, c.op.KeyFrom+c.op.KeyCount
	if keys, argv := c.Args[from:to], c.Args[to:]; c.op.Options&engine.Unread == 0 {
		c.Writer.Buf = program.Run(c.Writer.Buf, keys, argv, caller)
	} else {
		program.RunUnread(keys, argv, caller)
	}
	if caller.expired {
		c.Tx.Drop()
	}
	if is, changes := transaction.IsAttempt(c.Tx); is {
		program.NoteAttempt(changes)
	}
	if caller.isWatched {
		caller.show()
	}
	c.script.call = nil
}

// caller returns what carries out the commands of the script. The next script reuses it.
func (c *Call) caller() *scriptCaller {
	if c.script == nil {
		c.script = &scriptCaller{}
	}
	s := c.script
	s.call, s.inner.Tx, s.inner.executor = c, c.Tx, c.executor
	s.isUnlimited = len(c.op.Who) == 0 && c.op.Options&engine.DeclaredOnly == 0 && c.executor.Owns == nil
	return s
}

func loadScript(c *Call) {
	body := c.Args[2]
	program, err := c.executor.programs.compile(body)
	if err != nil {
		c.Fail(err)
		return
	}
	if !c.Tx.KeepScript(body, true) {
		c.Fail(errManyScripts.With(scriptcache.MaxLoaded, engine.MaxScriptBytes))
		return
	}
	c.Writer.BulkString(program.SHA1())
}

func existScripts(c *Call) {
	c.Writer.Array(len(c.Args) - 2)
	for _, arg := range c.Args[2:] {
		var digest scriptDigest
		_, found := c.Tx.Script(digest.read(arg))
		c.Writer.Bool(found)
	}
}

func flushScripts(c *Call) {
	if len(c.Args) > 3 || len(c.Args) == 3 && !command.IsWord(c.Args[2], "ASYNC") && !command.IsWord(c.Args[2], "SYNC") {
		c.Fail(errScriptFlush)
		return
	}
	c.Tx.DropScripts()
	c.executor.programs.clear()
	c.Writer.Status("OK")
}
