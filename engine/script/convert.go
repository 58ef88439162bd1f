package script

import (
	"bytes"
	"strconv"
	"unsafe"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// converter makes Lua's values from a command's reply in RESP2.
type converter struct {
	L       *interpreter.Thread
	reply   []byte
	isError bool // the reply itself is an error
}

// line returns the rest of the current line and goes on to the next one.
func (c *converter) line() []byte {
	end := bytes.IndexByte(c.reply, '\r')
	if end < 0 || end+2 > len(c.reply) {
		c.bad()
	}
	line := c.reply[:end]
	c.reply = c.reply[end+2:]
	return line
}

func (c *converter) bad() { c.L.End("ERR internal error: a command's reply is malformed") }

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

func (c *converter) value(depth int) value.Value {
	line := c.line()
	if len(line) == 0 || depth > maxReplyDepth {
		c.bad()
	}
	switch line[0] {
	case ':':
		return value.Number(float64(c.number(line)))
	case '+':
		return singleField(c.L, "ok", string(line[1:]))
	case '-':
		t := errorTable(c.L, string(line[1:]))
		t.Table().SetString("ignore_error_stats_update", value.True)
		c.isError = depth == 0
		return t
	case '$':
		n := int(c.number(line))
		if n < 0 {
			return value.False
		}
		if n+2 > len(c.reply) {
			c.bad()
		}
		text := value.String(unsafe.String(unsafe.SliceData(c.reply), n))
		c.reply = c.reply[n+2:]
		return text
	case '*':
		n := int(c.number(line))
		if n < 0 {
			return value.False
		}
		c.L.Charge(10 + 2*n)
		t := c.L.NewTable(n, 0)
		for i := range n {
			t.SetInt(i+1, c.value(depth+1))
		}
		return value.OfTable(t)
	}
	c.bad()
	return value.Nil
}
