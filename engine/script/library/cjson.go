package library

import (
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// jsonNull is cjson.null.
var jsonNull = value.Reference(value.UserdataKind, unsafe.Pointer(new(uint64)))

var jsonConstants = map[string]value.Value{"null": jsonNull, "_NAME": value.String("cjson"), "_VERSION": value.String("2.1.0")}

var jsonFunctions = map[string]interpreter.GoFunction{
	"encode":                  jsonEncode,
	"decode":                  jsonDecode,
	"new":                     func(L *interpreter.Thread) int { return L.Push(interpreter.Builtins["(cjson)"]) },
	"encode_max_depth":        jsonNumber(func(o *jsonOptions) *int { return &o.encodeDepth }, 1, math.MaxInt32),
	"decode_max_depth":        jsonNumber(func(o *jsonOptions) *int { return &o.decodeDepth }, 1, math.MaxInt32),
	"encode_number_precision": jsonNumber(func(o *jsonOptions) *int { return &o.precision }, 1, 14),
	"encode_sparse_array":     jsonSparse,
	"encode_invalid_numbers":  jsonBool(func(o *jsonOptions) *bool { return &o.encodeInvalid }),
	"decode_invalid_numbers":  jsonBool(func(o *jsonOptions) *bool { return &o.decodeInvalid }),
	"encode_keep_buffer":      jsonBool(func(o *jsonOptions) *bool { return &o.keepBuffer }),
}

// jsonOptions are the settings of cjson, which hold for one run.
type jsonOptions struct {
	encodeDepth, decodeDepth, precision int
	sparseConvert                       bool
	sparseRatio, sparseSafe             int
	encodeInvalid, decodeInvalid        bool
	keepBuffer                          bool
}

var defaultJSON = jsonOptions{encodeDepth: 1000, decodeDepth: 1000, precision: 14, sparseRatio: 2, sparseSafe: 10, decodeInvalid: true, keepBuffer: true}

func jsonSetting(L *interpreter.Thread, i int, setting *int, least, most int) {
	if L.Absent(i) {
		return
	}
	n := L.CheckInt(i)
	L.Check(n >= least && n <= most, 1, "expected integer between "+ctext.NumberText(float64(least))+" and "+ctext.NumberText(float64(most)))
	*setting = n
}

func jsonNumber(setting func(o *jsonOptions) *int, least, most int) interpreter.GoFunction {
	return func(L *interpreter.Thread) int {
		value := setting(&keptBy(L.Run()).json)
		jsonSetting(L, 1, value, least, most)
		return L.PushInt(*value)
	}
}

func jsonFlag(L *interpreter.Thread, i int, setting *bool) {
	if L.Absent(i) {
		return
	}
	if v := L.Get(i); v.Kind() == value.BoolKind {
		*setting = v.IsTrue()
		return
	}
	text := L.CheckString(i)
	L.Check(text == "on" || text == "off" || text == "null", i, "invalid option '"+text+"'")
	*setting = text == "on"
}

func jsonBool(setting func(o *jsonOptions) *bool) interpreter.GoFunction {
	return func(L *interpreter.Thread) int {
		value := setting(&keptBy(L.Run()).json)
		jsonFlag(L, 1, value)
		return L.PushBool(*value)
	}
}

func jsonSparse(L *interpreter.Thread) int {
	o := &keptBy(L.Run()).json
	jsonFlag(L, 1, &o.sparseConvert)
	jsonSetting(L, 2, &o.sparseRatio, 0, math.MaxInt32)
	jsonSetting(L, 3, &o.sparseSafe, 0, math.MaxInt32)
	return L.PushBool(o.sparseConvert) + L.PushInt(o.sparseRatio) + L.PushInt(o.sparseSafe)
}

// jsonEncoder writes JSON as cjson does.
type jsonEncoder struct {
	L       *interpreter.Thread
	options *jsonOptions
	out     []byte
}

func jsonEncode(L *interpreter.Thread) int {
	L.Check(L.Top() == 1, 1, "expected 1 argument")
	e := jsonEncoder{L: L, options: &keptBy(L.Run()).json}
	e.value(L.Get(1), 0)
	L.ChargeBytes(len(e.out))
	return L.PushText(e.out)
}

func (e *jsonEncoder) fail(v value.Value, reason string) {
	e.L.Fail("Cannot serialise %s: %s", v.Kind().String(), reason)
}

func (e *jsonEncoder) value(v value.Value, depth int) {
	e.L.Charge(2)
	switch v.Kind() {
	case value.StringKind:
		e.text(v.Text())
	case value.NumberKind:
		e.number(v)
	case value.BoolKind:
		e.out = strconv.AppendBool(e.out, v.IsTrue())
	case value.TableKind:
		e.table(v.Table(), depth+1)
	default:
		if !v.IsNil() && v != jsonNull {
			e.fail(v, "type not supported")
		}
		e.out = append(e.out, "null"...)
	}
}

func (e *jsonEncoder) number(v value.Value) {
	if x := v.Float(); (math.IsInf(x, 0) || math.IsNaN(x)) && !e.options.encodeInvalid {
		e.fail(v, "must not be NaN or Inf")
	}
	e.out = ctext.AppendNumber(e.out, v.Float(), e.options.precision)
}

func (e *jsonEncoder) text(s string) {
	const digits = "0123456789abcdef"
	e.L.ChargeBytes(len(s) * 4)
	e.out = append(e.out, '"')
	for i := range len(s) {
		c := s[i]
		letter := strings.IndexByte(jsonEscaped, c)
		switch {
		case letter >= 0:
			e.out = append(e.out, '\\', jsonEscapes[letter])
		case c < ' ' || c == 0x7f:
			e.out = append(e.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			e.out = append(e.out, c)
		}
	}
	e.out = append(e.out, '"')
}

func (e *jsonEncoder) table(t *value.Table, depth int) {
	if depth > e.options.encodeDepth {
		e.L.Fail("Cannot serialise, excessive nesting (%d)", depth)
	}
	keys := e.L.PairsOf(t)
	if most, is := arrayLength(keys); is && most > 0 && e.dense(t, most, len(keys)) {
		e.out = append(e.out, '[')
		for i := 1; i <= most; i++ {
			if i > 1 {
				e.out = append(e.out, ',')
			}
			e.value(t.Get(value.Int(i)), depth)
		}
		e.out = append(e.out, ']')
		return
	}
	e.out = append(e.out, '{')
	for i, key := range keys {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		switch key.Kind() {
		case value.StringKind:
			e.text(key.Text())
		case value.NumberKind:
			e.out = append(e.out, '"')
			e.number(key)
			e.out = append(e.out, '"')
		default:
			e.fail(key, "table key must be a number or string")
		}
		e.out = append(e.out, ':')
		e.value(t.Get(key), depth)
	}
	e.out = append(e.out, '}')
}

// dense reports whether a table with whole numbers as keys becomes an array.
func (e *jsonEncoder) dense(t *value.Table, most, items int) bool {
	o := e.options
	if o.sparseRatio > 0 && most > items*o.sparseRatio && most > o.sparseSafe {
		if !o.sparseConvert {
			e.fail(value.OfTable(t), "excessively sparse array")
		}
		return false
	}
	return true
}
