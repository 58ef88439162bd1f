package script

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
)

// Bounds of a reply.
const (
	maxReplyDepth = 200
	maxReply      = 16 << 20
)

// replyWriter makes a reply from a script's result.
type replyWriter struct {
	run    *interpreter.Run
	failed string // the error to reply instead
}

func appendError(reply []byte, text string) []byte {
	return append(append(append(reply, '-'), oneLine(text)...), "\r\n"...)
}

func appendHeader(reply []byte, kind byte, n int64) []byte {
	return append(strconv.AppendInt(append(reply, kind), n, 10), "\r\n"...)
}

func appendBulk[T string | []byte](reply []byte, text T) []byte {
	reply = appendHeader(reply, '$', int64(len(text)))
	return append(append(reply, text...), "\r\n"...)
}

func (w *replyWriter) fail(text string) []byte {
	if w.failed == "" {
		w.failed = text
	}
	return nil
}

func (w *replyWriter) write(reply []byte, v lua.LValue, depth int) []byte {
	if w.failed != "" {
		return reply
	}
	if len(reply) > maxReply {
		return w.fail("ERR the script's reply is larger than 16777216 bytes")
	}
	if w.run.Spend(3); w.run.Left() < 0 {
		return w.fail(BudgetError)
	}
	switch v := v.(type) {
	case lua.LString:
		w.run.Spend(len(v) / interpreter.BytesPerStep)
		return appendBulk(reply, string(v))
	case lua.LNumber:
		return appendHeader(reply, ':', ctext.ToInt64(float64(v)))
	case lua.LBool:
		if v {
			return append(reply, ":1\r\n"...)
		}
	case *lua.LTable:
		if depth >= maxReplyDepth {
			return w.fail("ERR the script's reply has more than " + strconv.Itoa(maxReplyDepth) + " levels")
		}
		return w.table(reply, v, depth)
	}
	return append(reply, "$-1\r\n"...)
}

// table writes an array, or what a single field makes of a table.
func (w *replyWriter) table(reply []byte, t *lua.LTable, depth int) []byte {
	if text, is := t.RawGetString("err").(lua.LString); is {
		return appendError(reply, string(text))
	}
	if text, is := t.RawGetString("ok").(lua.LString); is {
		return append(append(append(reply, '+'), oneLine(string(text))...), "\r\n"...)
	}
	if x, is := t.RawGetString("double").(lua.LNumber); is {
		var text [32]byte
		return appendBulk(reply, ctext.AppendNumber(text[:0], float64(x), 17))
	}
	if inner, is := t.RawGetString("map").(*lua.LTable); is {
		return w.pairs(reply, inner, depth, true)
	}
	if inner, is := t.RawGetString("set").(*lua.LTable); is {
		return w.pairs(reply, inner, depth, false)
	}
	if text, is := interpreter.AsText(t.RawGetString("big_number")); is {
		return appendBulk(reply, oneLine(text))
	}
	if inner, is := t.RawGetString("verbatim_string").(*lua.LTable); is {
		text, is := interpreter.AsText(inner.RawGetString("string"))
		if _, has := interpreter.AsText(inner.RawGetString("format")); is && has {
			return appendBulk(reply, text)
		}
	}
	n := 0
	for t.RawGetInt(n+1) != lua.LNil {
		n++
	}
	reply = appendHeader(reply, '*', int64(n))
	for i := 1; i <= n && w.failed == ""; i++ {
		reply = w.write(reply, t.RawGetInt(i), depth+1)
	}
	return reply
}

// pairs writes the keys of a table, with their values for a map.
func (w *replyWriter) pairs(reply []byte, t *lua.LTable, depth int, values bool) []byte {
	var keys []lua.LValue
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		keys = append(keys, key)
	}
	n := len(keys)
	if values {
		n *= 2
	}
	reply = appendHeader(reply, '*', int64(n))
	for _, key := range keys {
		reply = w.write(reply, key, depth+1)
		if values {
			reply = w.write(reply, t.RawGet(key), depth+1)
		}
	}
	return reply
}

// oneLine is a text as it may stand in a reply.
func oneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.TrimRight(text, "\r\n"))
}
