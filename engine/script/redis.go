package script

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

var redisConstants = map[string]value.Value{
	"LOG_DEBUG": value.Number(0), "LOG_VERBOSE": value.Number(1), "LOG_NOTICE": value.Number(2), "LOG_WARNING": value.Number(3),
	"REPL_NONE": value.Number(0), "REPL_AOF": value.Number(1), "REPL_SLAVE": value.Number(2), "REPL_REPLICA": value.Number(2), "REPL_ALL": value.Number(3),
	"REDIS_VERSION": value.String("7.0.15"), "REDIS_VERSION_NUM": value.Number(0x0007000f),
}

var redisFunctions = map[string]interpreter.GoFunction{
	"call":               anyCall.function,
	"pcall":              anyPcall.function,
	"error_reply":        errorReply,
	"status_reply":       statusReply,
	"sha1hex":            sha1Hex,
	"log":                writeLog,
	"replicate_commands": func(L *interpreter.Thread) int { return L.PushBool(true) },
	"setresp":            setResp,
	"set_repl":           setReplication,
}

// Prices in steps.
const (
	callPrice  = 80
	replyPrice = 40 // a table with one field
)

// errorTable is an error as a script sees it.
func errorTable(L *interpreter.Thread, text string) value.Value {
	return onlyField(L, "err", value.String(text))
}

// onlyField is a table with one field.
func onlyField(L *interpreter.Thread, name string, v value.Value) value.Value {
	t := L.NewTable(0, 1)
	t.SetString(name, v)
	return value.OfTable(t)
}

// redisDirects call commands without a frame.
var redisDirects = map[string]func(interpreter.Site) interpreter.Direct{
	"call":  func(s interpreter.Site) interpreter.Direct { return newCall(s, true).direct },
	"pcall": func(s interpreter.Site) interpreter.Direct { return newCall(s, false).direct },
}

// commandCall is a place of a script that calls a command, or all places that do so by a variable.
type commandCall struct {
	raises bool // redis.call, which raises an error where redis.pcall returns it
	unused bool // the script does nothing with the result
	name   string
	row    atomic.Pointer[any] // what the caller knows by the name, once it was asked
}

var (
	anyCall  = &commandCall{raises: true}
	anyPcall = &commandCall{}
)

func newCall(s interpreter.Site, raises bool) *commandCall {
	c := &commandCall{raises: raises, unused: s.Unused}
	if s.First.IsString() {
		c.name = s.First.Text()
	}
	return c
}

// function is the call as a function of the library.
func (c *commandCall) function(L *interpreter.Thread) int {
	return L.Push(c.call(L, L.Args()))
}

func (c *commandCall) direct(L *interpreter.Thread, args []value.Value) (value.Value, bool) {
	return c.call(L, args), true
}

func (c *commandCall) call(L *interpreter.Thread, args []value.Value) value.Value {
	m := machineOf(L)
	size, problem := m.readArgs(L, args)
	if problem != "" {
		L.Charge(callPrice)
		t := errorTable(L, problem)
		if c.raises {
			L.Raise(t)
		}
		return t
	}
	L.Charge(callPrice + 2*len(args) + size/interpreter.BytesPerStep)
	reply, steps := m.caller.Call(m.replyRoom(), m.args, c.rowOf(m.caller))
	L.Charge(steps)
	if c.unused && len(reply) > 0 && reply[0] != '-' && reply[0] != '*' {
		L.ChargeBytes(len(reply))
		return value.Nil
	}
	m.keepReply(reply)
	r := converter{L: L, reply: reply}
	v := r.value(0)
	L.ChargeBytes(len(reply))
	if c.raises && r.isError {
		L.Raise(v)
	}
	return v
}

// Sizes of the room for replies, in bytes.
const (
	replyRoom  = 4 << 10
	leastReply = 256 // for which there is room at least
)

// replyRoom is where a command writes its reply. Texts of replies stay where they are written, for as long as the run.
func (m *machine) replyRoom() []byte {
	if cap(m.replies)-len(m.replies) < leastReply {
		m.replies = make([]byte, 0, replyRoom)
	}
	return m.replies[len(m.replies):]
}

// keepReply keeps the room of a reply from being used again. A reply for which there was no room has its own.
func (m *machine) keepReply(reply []byte) {
	if len(reply) <= cap(m.replies)-len(m.replies) {
		m.replies = m.replies[:len(m.replies)+len(reply)]
	}
}

// rowOf is what the caller knows of the command, if the script has its name as a constant.
func (c *commandCall) rowOf(caller Caller) any {
	if c.name == "" {
		return nil
	}
	row := c.row.Load()
	if row == nil {
		found := caller.Find(c.name)
		row = &found
		c.row.Store(row)
	}
	return *row
}

// readArgs makes m.args of the arguments of a command, or says why it can't. Texts are read where they stand. It returns
// the number of bytes of all.
func (m *machine) readArgs(L *interpreter.Thread, args []value.Value) (size int, problem string) {
	if len(args) == 0 {
		return 0, "ERR Please specify at least one argument for this redis lib call"
	}
	list := slices.Grow(m.args[:0], len(args))[:len(args)]
	m.args, m.numbers = list, m.numbers[:0]
	steps := 0
	for i, v := range args {
		switch {
		case v.IsString():
			list[i] = v.Bytes() // commands do not change their arguments
			steps += len(list[i]) / interpreter.BytesPerStep
		case v.IsNumber():
			start := len(m.numbers)
			m.numbers = ctext.AppendNumber(m.numbers, v.Float(), 17)
			list[i] = m.numbers[start:len(m.numbers):len(m.numbers)]
		default:
			L.Charge(steps)
			return 0, "ERR Lua redis lib command arguments must be strings or integers"
		}
		size += len(list[i])
	}
	L.Charge(steps)
	return size, ""
}

// onlyString returns the single argument of a function, if it is a string.
func onlyString(L *interpreter.Thread) (string, bool) {
	if v := L.Get(1); v.IsString() {
		return v.Text(), L.Top() == 1
	}
	return "", false
}

const wrongArguments = "ERR wrong number or type of arguments"

func errorReply(L *interpreter.Thread) int {
	L.Charge(replyPrice)
	text, ok := onlyString(L)
	L.ChargeBytes(4 * len(text)) // it is searched, cut and put together
	if ok {
		code, rest, found := strings.Cut(strings.TrimPrefix(text, "-"), " ")
		if !found {
			code, rest = "ERR", code
		}
		text = code + " " + strings.Trim(rest, "\r\n")
	} else {
		text = wrongArguments
	}
	return L.Push(errorTable(L, text))
}

func statusReply(L *interpreter.Thread) int {
	L.Charge(replyPrice)
	if text, ok := onlyString(L); ok {
		return L.Push(onlyField(L, "ok", value.String(text)))
	}
	return L.Push(errorTable(L, wrongArguments))
}

func sha1Hex(L *interpreter.Thread) int {
	check(L, L.Top() == 1, "ERR wrong number of arguments")
	text, _ := value.AsText(L.Get(1))
	L.Charge(20 + len(text)/8)
	return L.PushString(SHA1([]byte(text)))
}

// writeLog checks its arguments and does nothing: a script has no log of its own.
func writeLog(L *interpreter.Thread) int {
	check(L, L.Top() >= 2, "ERR redis.log() requires two arguments or more.")
	level, is := L.AsNumber(L.Get(1))
	check(L, is, "ERR First argument must be a number (log level).")
	n := ctext.ToInt64(level)
	check(L, n >= 0 && n <= 3, "ERR Invalid debug level.")
	return 0
}

func setResp(L *interpreter.Thread) int {
	check(L, L.Top() == 1, "ERR redis.setresp() requires one argument.")
	version, _ := L.AsNumber(L.Get(1))
	n := ctext.ToInt64(version)
	check(L, n == 2 || n == 3, "ERR RESP version must be 2 or 3.")
	m := machineOf(L)
	check(L, m.caller.UseRESP3(n == 3), "ERR redis.setresp(3) is not supported.")
	m.resp3 = n == 3
	return 0
}

func setReplication(L *interpreter.Thread) int {
	check(L, L.Top() == 1, "ERR redis.set_repl() requires two arguments.")
	flags, _ := L.AsNumber(L.Get(1))
	check(L, ctext.ToInt64(flags)&^3 == 0, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	return 0
}

// check raises an error unless a condition holds, as redis.call does: a table without a place in its text.
func check(L *interpreter.Thread, ok bool, problem string) {
	if !ok {
		L.Raise(errorTable(L, problem))
	}
}
