package script

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/digits"
	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// Bounds of a reply.
const (
	maxReplyDepth = 200
	maxReply      = 16 << 20
)

// replyWriter makes a reply from a script's result.
type replyWriter struct {
	run    *interpreter.Run
	resp3  bool   // false is 0 and not null, as Redis replies after redis.setresp(3)
	failed string // the error to reply instead
}

func appendError(reply []byte, text string) []byte {
	return append(append(append(reply, '-'), oneLine(text)...), "\r\n"...)
}

func appendHeader(reply []byte, kind byte, n int64) []byte {
	return append(digits.Append(append(reply, kind), n), "\r\n"...)
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

func (w *replyWriter) write(reply []byte, v value.Value, depth int) []byte {
	if w.failed != "" {
		return reply
	}
	if len(reply) > maxReply {
		return w.fail("ERR the script's reply is larger than 16777216 bytes")
	}
	if w.run.Spend(3); w.run.Left() < 0 {
		return w.fail(BudgetError)
	}
	switch v.Kind() {
	case value.StringKind:
		w.run.Spend(len(v.Text()) / interpreter.BytesPerStep)
		return appendBulk(reply, v.Text())
	case value.NumberKind:
		return appendHeader(reply, ':', ctext.ToInt64(v.Float()))
	case value.BoolKind:
		if v.IsTrue() {
			return append(reply, ":1\r\n"...)
		}
		if w.resp3 {
			return append(reply, ":0\r\n"...)
		}
	case value.TableKind:
		if depth >= maxReplyDepth {
			return w.fail("ERR the script's reply has more than " + strconv.Itoa(maxReplyDepth) + " levels")
		}
		return w.table(reply, v.Table(), depth)
	}
	return append(reply, "$-1\r\n"...)
}

// table writes an array, or what a single field makes of a table.
func (w *replyWriter) table(reply []byte, t *value.Table, depth int) []byte {
	if !t.HasFields() {
		return w.items(reply, t, depth)
	}
	if v := t.GetString("err"); v.IsString() {
		return appendError(reply, v.Text())
	}
	if v := t.GetString("ok"); v.IsString() {
		return append(append(append(reply, '+'), oneLine(v.Text())...), "\r\n"...)
	}
	if v := t.GetString("double"); v.IsNumber() {
		var text [32]byte
		return appendBulk(reply, ctext.AppendNumber(text[:0], v.Float(), 17))
	}
	if inner := t.GetString("map").Table(); inner != nil {
		return w.pairs(reply, inner, depth, true)
	}
	if inner := t.GetString("set").Table(); inner != nil {
		return w.pairs(reply, inner, depth, false)
	}
	if v := t.GetString("big_number"); v.IsString() {
		return appendBulk(reply, oneLine(v.Text()))
	}
	if inner := t.GetString("verbatim_string").Table(); inner != nil {
		if v := inner.GetString("string"); v.IsString() && inner.GetString("format").IsString() {
			return appendBulk(reply, v.Text())
		}
	}
	return w.items(reply, t, depth)
}

// items writes an array up to the first nil.
func (w *replyWriter) items(reply []byte, t *value.Table, depth int) []byte {
	items := t.Items()
	reply = appendHeader(reply, '*', int64(len(items)))
	for _, v := range items {
		reply = w.write(reply, v, depth+1)
	}
	return reply
}

// pairs writes the keys of a table, with their values for a map.
func (w *replyWriter) pairs(reply []byte, t *value.Table, depth int, values bool) []byte {
	var keys []value.Value
	for key, _ := t.Next(value.Nil); !key.IsNil(); key, _ = t.Next(key) {
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
			reply = w.write(reply, t.Get(key), depth+1)
		}
	}
	return reply
}

// oneLine is a text as it may stand in a reply.
func oneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.TrimRight(text, "\r\n"))
}
