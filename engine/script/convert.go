package script

import (
	"bytes"
	"strconv"

	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// converter makes Lua's values from a command's reply, in RESP2 or RESP3.
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

// number reads the number after the kind in the current line, and goes on to the next line.
func (c *converter) number() (n int64) {
	reply, first := c.reply, 1
	if len(reply) > 1 && reply[1] == '-' {
		first = 2
	}
	i := first
	for ; i < len(reply) && reply[i]-'0' <= 9; i++ {
		n = n*10 + int64(reply[i]-'0')
	}
	if i == first || i+1 >= len(reply) || reply[i] != '\r' {
		c.bad()
	}
	if c.reply = reply[i+2:]; first == 2 {
		return -n
	}
	return n
}

func (c *converter) value(depth int) value.Value {
	if len(c.reply) == 0 || depth > maxReplyDepth {
		c.bad()
	}
	switch c.reply[0] {
	case ':':
		return value.Number(float64(c.number()))
	case '+':
		return onlyField(c.L, "ok", value.String(string(c.line()[1:])))
	case '-':
		t := errorTable(c.L, string(c.line()[1:]))
		t.Table().SetString("ignore_error_stats_update", value.True)
		c.isError = depth == 0
		return t
	case '$':
		n := int(c.number())
		if n < 0 {
			return value.False
		}
		if n+2 > len(c.reply) {
			c.bad()
		}
		text := value.OfBytes(c.reply[:n])
		c.reply = c.reply[n+2:]
		return text
	case '*':
		n := int(c.number())
		if n < 0 {
			return value.False
		}
		c.L.Charge(10 + 2*n)
		t := c.L.NewTable(n, 0)
		for i := range n {
			t.SetInt(i+1, c.value(depth+1))
		}
		return value.OfTable(t)
	case '_':
		c.line()
		return value.Nil
	case '#':
		return value.Bool(string(c.line()) == "#t")
	case ',':
		return c.double(c.line()[1:])
	case '%':
		return c.fields("map", depth)
	case '~':
		return c.fields("set", depth)
	}
	c.bad()
	return value.Nil
}

// double makes a table with the number as its only field, as Redis does, because a plain number of a script becomes an
// integer in the script's reply.
func (c *converter) double(text []byte) value.Value {
	number, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		c.bad()
	}
	c.L.Charge(replyPrice)
	return onlyField(c.L, "double", value.Number(number))
}

// fields makes a table from a map, or from a set, whose members have the value true.
func (c *converter) fields(kind string, depth int) value.Value {
	n := int(c.number())
	c.L.Charge(10 + 4*n)
	t := c.L.NewTable(0, 0)
	for range n {
		key, of := c.value(depth+1), value.True
		if kind == "map" {
			of = c.value(depth + 1)
		}
		if key.IsNil() {
			c.bad()
		}
		t.Set(key, of)
	}
	c.L.Charge(replyPrice)
	return onlyField(c.L, kind, value.OfTable(t))
}
