package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
)

var redisConstants = map[string]lua.LValue{
	"LOG_DEBUG": lua.LNumber(0), "LOG_VERBOSE": lua.LNumber(1), "LOG_NOTICE": lua.LNumber(2), "LOG_WARNING": lua.LNumber(3),
	"REPL_NONE": lua.LNumber(0), "REPL_AOF": lua.LNumber(1), "REPL_SLAVE": lua.LNumber(2), "REPL_REPLICA": lua.LNumber(2), "REPL_ALL": lua.LNumber(3),
	"REDIS_VERSION": lua.LString("7.0.15"), "REDIS_VERSION_NUM": lua.LNumber(0x0007000f),
}

var redisFunctions = map[string]lua.LGFunction{
	"call":               func(L *lua.LState) int { return callCommand(L, true, false) },
	"pcall":              func(L *lua.LState) int { return callCommand(L, false, false) },
	"error_reply":        errorReply,
	"status_reply":       statusReply,
	"sha1hex":            sha1Hex,
	"log":                writeLog,
	"replicate_commands": func(L *lua.LState) int { return interpreter.PushBool(L, true) },
	"setresp":            setResp,
	"set_repl":           setReplication,
}

// Prices in steps.
const (
	callPrice  = 80
	replyPrice = 40 // a table with one field
)

// errorTable is an error as a script sees it.
func errorTable(text string) *lua.LTable {
	return singleField("err", text)
}

func singleField(name, text string) *lua.LTable {
	t := interpreter.NewTable(0, 1)
	t.RawSetString(name, lua.LString(text))
	return t
}

// callCommand is redis.call, and redis.pcall, which returns errors. With unused, the script does nothing with the
// result.
func callCommand(L *lua.LState, raises, unused bool) int {
	r, m := interpreter.Of(L), machineOf(L)
	problem := m.readArgs(L)
	if problem != "" {
		r.Charge(L, callPrice)
		if raises {
			failTable(L, problem)
		}
		L.Push(errorTable(problem))
		return 1
	}
	r.Charge(L, callPrice+2*len(m.args)+len(m.bytes)/interpreter.BytesPerStep)
	m.calling = true
	var steps int
	m.reply, steps = m.caller.Call(m.reply[:0], m.args)
	m.calling = false
	r.Charge(L, steps)
	if unused && len(m.reply) > 0 && strings.IndexByte(":+$", m.reply[0]) >= 0 {
		r.ChargeBytes(L, len(m.reply))
		return 0
	}
	c := converter{r: r, L: L, reply: m.reply}
	value := c.value(0)
	r.ChargeBytes(L, len(m.reply))
	if t, is := value.(*lua.LTable); is && c.isError {
		if raises {
			r.Raise(L, t)
		}
	}
	L.Push(value)
	return 1
}

// readArgs puts the arguments of a command into m.args, or says why it can't.
func (m *machine) readArgs(L *lua.LState) (problem string) {
	r := &m.run
	n := L.GetTop()
	if n == 0 {
		return "ERR Please specify at least one argument for this redis lib call"
	}
	m.bytes, m.ends = m.bytes[:0], m.ends[:0]
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			r.ChargeBytes(L, len(v))
			m.bytes = append(m.bytes, v...)
		case lua.LNumber:
			m.bytes = ctext.AppendNumber(m.bytes, float64(v), 17)
		default:
			return "ERR Lua redis lib command arguments must be strings or integers"
		}
		m.ends = append(m.ends, len(m.bytes))
	}
	m.args = m.args[:0]
	start := 0
	for _, end := range m.ends {
		m.args = append(m.args, m.bytes[start:end:end])
		start = end
	}
	return ""
}

// onlyString returns the single argument of a function, if it is a string.
func onlyString(L *lua.LState) (string, bool) {
	s, is := L.Get(1).(lua.LString)
	return string(s), is && L.GetTop() == 1
}

const wrongArguments = "ERR wrong number or type of arguments"

func errorReply(L *lua.LState) int {
	interpreter.Of(L).Charge(L, replyPrice)
	text, ok := onlyString(L)
	interpreter.Of(L).ChargeBytes(L, 4*len(text)) // it is searched, cut and put together
	switch {
	case !ok:
		text = wrongArguments
	case strings.HasPrefix(text, "-"):
		code, rest, found := strings.Cut(text[1:], " ")
		if !found {
			code, rest = "ERR", code
		}
		text = code + " " + strings.Trim(rest, "\r\n")
	case strings.Contains(text, " "):
		code, rest, _ := strings.Cut(text, " ")
		text = code + " " + strings.Trim(rest, "\r\n")
	default:
		text = "ERR " + strings.Trim(text, "\r\n")
	}
	L.Push(errorTable(text))
	return 1
}

func statusReply(L *lua.LState) int {
	interpreter.Of(L).Charge(L, replyPrice)
	if text, ok := onlyString(L); ok {
		L.Push(singleField("ok", text))
	} else {
		L.Push(errorTable(wrongArguments))
	}
	return 1
}

func sha1Hex(L *lua.LState) int {
	r := interpreter.Of(L)
	if L.GetTop() != 1 {
		failTable(L, "ERR wrong number of arguments")
	}
	text, _ := interpreter.AsText(L.Get(1))
	r.Charge(L, 20+len(text)/8)
	return interpreter.PushString(L, SHA1([]byte(text)))
}

// writeLog checks its arguments and does nothing: a script has no log of its own.
func writeLog(L *lua.LState) int {
	r := interpreter.Of(L)
	if L.GetTop() < 2 {
		failTable(L, "ERR redis.log() requires two arguments or more.")
	}
	level, is := r.AsNumber(L, L.Get(1))
	if !is {
		failTable(L, "ERR First argument must be a number (log level).")
	}
	if n := ctext.ToInt64(level); n < 0 || n > 3 {
		failTable(L, "ERR Invalid debug level.")
	}
	return 0
}

func setResp(L *lua.LState) int {
	r := interpreter.Of(L)
	if L.GetTop() != 1 {
		failTable(L, "ERR redis.setresp() requires one argument.")
	}
	version, _ := r.AsNumber(L, L.Get(1))
	switch ctext.ToInt64(version) {
	case 2:
	case 3:
		failTable(L, "ERR redis.setresp(3) is not supported.")
	default:
		failTable(L, "ERR RESP version must be 2 or 3.")
	}
	return 0
}

func setReplication(L *lua.LState) int {
	r := interpreter.Of(L)
	if L.GetTop() != 1 {
		failTable(L, "ERR redis.set_repl() requires two arguments.")
	}
	if flags, _ := r.AsNumber(L, L.Get(1)); ctext.ToInt64(flags)&^3 != 0 {
		failTable(L, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

// failTable raises an error as redis.call does: a table without a place in its text.
func failTable(L *lua.LState, text string) { interpreter.Of(L).Raise(L, errorTable(text)) }
