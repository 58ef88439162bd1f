package script

import (
	"strings"

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
	"call":               func(L *interpreter.Thread) int { return callCommand(L, true, false) },
	"pcall":              func(L *interpreter.Thread) int { return callCommand(L, false, false) },
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
	return singleField(L, "err", text)
}

func singleField(L *interpreter.Thread, name, text string) value.Value {
	t := L.NewTable(0, 1)
	t.SetString(name, value.String(text))
	return value.OfTable(t)
}

// callCommand is redis.call, and redis.pcall, which returns errors. With unused, the script does nothing with the result.
func callCommand(L *interpreter.Thread, raises, unused bool) int {
	m := machineOf(L)
	problem := m.readArgs(L)
	if problem != "" {
		L.Charge(callPrice)
		if raises {
			failTable(L, problem)
		}
		L.Push(errorTable(L, problem))
		return 1
	}
	L.Charge(callPrice + 2*len(m.args) + len(m.bytes)/interpreter.BytesPerStep)
	m.calling = true
	var steps int
	m.reply, steps = m.caller.Call(m.reply[:0], m.args)
	m.calling = false
	L.Charge(steps)
	if unused && len(m.reply) > 0 && strings.IndexByte(":+$", m.reply[0]) >= 0 {
		L.ChargeBytes(len(m.reply))
		return 0
	}
	c := converter{L: L, reply: m.reply}
	v := c.value(0)
	L.ChargeBytes(len(m.reply))
	if raises && c.isError {
		L.Raise(v)
	}
	L.Push(v)
	return 1
}

// readArgs puts the arguments of a command into m.args, or says why it can't.
func (m *machine) readArgs(L *interpreter.Thread) (problem string) {
	n := L.Top()
	if n == 0 {
		return "ERR Please specify at least one argument for this redis lib call"
	}
	m.bytes, m.ends = m.bytes[:0], m.ends[:0]
	for i := 1; i <= n; i++ {
		switch v := L.Get(i); v.Kind() {
		case value.StringKind:
			text := v.Text()
			L.ChargeBytes(len(text))
			m.bytes = append(m.bytes, text...)
		case value.NumberKind:
			m.bytes = ctext.AppendNumber(m.bytes, v.Float(), 17)
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
	L.Push(errorTable(L, text))
	return 1
}

func statusReply(L *interpreter.Thread) int {
	L.Charge(replyPrice)
	if text, ok := onlyString(L); ok {
		L.Push(singleField(L, "ok", text))
	} else {
		L.Push(errorTable(L, wrongArguments))
	}
	return 1
}

func sha1Hex(L *interpreter.Thread) int {
	if L.Top() != 1 {
		failTable(L, "ERR wrong number of arguments")
	}
	text, _ := interpreter.AsText(L.Get(1))
	L.Charge(20 + len(text)/8)
	return L.PushString(SHA1([]byte(text)))
}

// writeLog checks its arguments and does nothing: a script has no log of its own.
func writeLog(L *interpreter.Thread) int {
	if L.Top() < 2 {
		failTable(L, "ERR redis.log() requires two arguments or more.")
	}
	level, is := L.AsNumber(L.Get(1))
	if !is {
		failTable(L, "ERR First argument must be a number (log level).")
	}
	if n := ctext.ToInt64(level); n < 0 || n > 3 {
		failTable(L, "ERR Invalid debug level.")
	}
	return 0
}

func setResp(L *interpreter.Thread) int {
	if L.Top() != 1 {
		failTable(L, "ERR redis.setresp() requires one argument.")
	}
	version, _ := L.AsNumber(L.Get(1))
	switch ctext.ToInt64(version) {
	case 2:
	case 3:
		failTable(L, "ERR redis.setresp(3) is not supported.")
	default:
		failTable(L, "ERR RESP version must be 2 or 3.")
	}
	return 0
}

func setReplication(L *interpreter.Thread) int {
	if L.Top() != 1 {
		failTable(L, "ERR redis.set_repl() requires two arguments.")
	}
	if flags, _ := L.AsNumber(L.Get(1)); ctext.ToInt64(flags)&^3 != 0 {
		failTable(L, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

// failTable raises an error as redis.call does: a table without a place in its text.
func failTable(L *interpreter.Thread, text string) { L.Raise(errorTable(L, text)) }
