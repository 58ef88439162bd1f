package script

import (
	"bytes"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
)

// converter makes Lua's values from a command's reply in RESP2.
type converter struct {
	r       *interpreter.Run
	L       *lua.LState
	reply   []byte
	isError bool // the reply itself is an error
}

// line returns the rest of the current line and steps past it.
func (c *converter) line() []byte {
	end := bytes.IndexByte(c.reply, '\r')
	if end < 0 || end+2 > len(c.reply) {
		c.bad()
	}
	line := c.reply[:end]
	c.reply = c.reply[end+2:]
	return line
}

func (c *converter) bad() { c.r.End(c.L, "ERR internal error: a command's reply is malformed") }

func (c *converter) number(line []byte) int64 {
	if len(line) == 2 && ctext.IsDigit(line[1]) {
		return int64(line[1] - '0')
	}
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if err != nil {
		c.bad()
	}
	return n
}

func (c *converter) value(depth int) lua.LValue {
	line := c.line()
	if len(line) == 0 || depth > maxReplyDepth {
		c.bad()
	}
	switch line[0] {
	case ':':
		return interpreter.NumberValue(float64(c.number(line)))
	case '+':
		return singleField("ok", string(line[1:]))
	case '-':
		t := errorTable(string(line[1:]))
		t.RawSetString("ignore_error_stats_update", lua.LTrue)
		c.isError = depth == 0
		return t
	case '$':
		n := int(c.number(line))
		if n < 0 {
			return lua.LFalse
		}
		if n+2 > len(c.reply) {
			c.bad()
		}
		value := lua.LString(c.reply[:n])
		c.reply = c.reply[n+2:]
		return value
	case '*':
		n := int(c.number(line))
		if n < 0 {
			return lua.LFalse
		}
		c.r.Charge(c.L, 10+2*n)
		t := interpreter.NewTable(n, 0)
		for i := range n {
			t.RawSetInt(i+1, c.value(depth+1))
		}
		return t
	}
	c.bad()
	return lua.LNil
}
