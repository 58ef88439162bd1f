package library

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
)

// jsonNull is cjson.null.
var jsonNull = &lua.LUserData{Metatable: interpreter.BasicMeta}

var jsonConstants = map[string]lua.LValue{"null": jsonNull, "_NAME": lua.LString("cjson"), "_VERSION": lua.LString("2.1.0")}

var jsonFunctions = map[string]lua.LGFunction{
	"encode":                  jsonEncode,
	"decode":                  jsonDecode,
	"new":                     func(L *lua.LState) int { L.Push(interpreter.Builtins["(cjson)"]); return 1 },
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

func jsonSetting(L *lua.LState, i int, setting *int, least, most int) {
	r := interpreter.Of(L)
	if interpreter.Absent(L, i) {
		return
	}
	n := r.CheckInt(L, i)
	if n < least || n > most {
		r.BadArgument(L, i, "expected integer between "+ctext.NumberText(float64(least))+" and "+ctext.NumberText(float64(most)))
	}
	*setting = n
}

func jsonNumber(setting func(o *jsonOptions) *int, least, most int) lua.LGFunction {
	return func(L *lua.LState) int {
		value := setting(&keptBy(interpreter.Of(L)).json)
		jsonSetting(L, 1, value, least, most)
		return interpreter.PushInt(L, *value)
	}
}

func jsonFlag(L *lua.LState, i int, setting *bool) {
	if interpreter.Absent(L, i) {
		return
	}
	switch v := L.Get(i).(type) {
	case lua.LBool:
		*setting = bool(v)
	case lua.LString:
		if v != "on" && v != "off" && v != "null" {
			interpreter.Of(L).BadArgument(L, i, "invalid option '"+string(v)+"'")
		}
		*setting = v == "on"
	default:
		interpreter.Of(L).BadType(L, i, "string")
	}
}

func jsonBool(setting func(o *jsonOptions) *bool) lua.LGFunction {
	return func(L *lua.LState) int {
		value := setting(&keptBy(interpreter.Of(L)).json)
		jsonFlag(L, 1, value)
		return interpreter.PushBool(L, *value)
	}
}

func jsonSparse(L *lua.LState) int {
	o := &keptBy(interpreter.Of(L)).json
	jsonFlag(L, 1, &o.sparseConvert)
	jsonSetting(L, 2, &o.sparseRatio, 0, math.MaxInt32)
	jsonSetting(L, 3, &o.sparseSafe, 0, math.MaxInt32)
	return interpreter.PushBool(L, o.sparseConvert) + interpreter.PushInt(L, o.sparseRatio) + interpreter.PushInt(L, o.sparseSafe)
}

// jsonEncoder writes JSON as cjson does.
type jsonEncoder struct {
	L       *lua.LState
	r       *interpreter.Run
	options *jsonOptions
	out     []byte
}

func jsonEncode(L *lua.LState) int {
	r := interpreter.Of(L)
	if L.GetTop() != 1 {
		r.BadArgument(L, 1, "expected 1 argument")
	}
	e := jsonEncoder{L: L, r: r, options: &keptBy(r).json}
	e.value(L.Get(1), 0)
	r.ChargeBytes(L, len(e.out))
	return interpreter.PushString(L, string(e.out))
}

func (e *jsonEncoder) fail(v lua.LValue, reason string) {
	e.r.Fail(e.L, "Cannot serialise %s: %s", interpreter.TypeName(v), reason)
}

func (e *jsonEncoder) value(v lua.LValue, depth int) {
	e.r.Charge(e.L, 2)
	switch v := v.(type) {
	case lua.LString:
		e.text(string(v))
	case lua.LNumber:
		e.number(v)
	case lua.LBool:
		e.out = append(e.out, v.String()...)
	case *lua.LTable:
		e.table(v, depth+1)
	default:
		if v != lua.LNil && v != jsonNull {
			e.fail(v, "type not supported")
		}
		e.out = append(e.out, "null"...)
	}
}

func (e *jsonEncoder) number(v lua.LNumber) {
	if x := float64(v); (math.IsInf(x, 0) || math.IsNaN(x)) && !e.options.encodeInvalid {
		e.fail(v, "must not be NaN or Inf")
	}
	e.out = ctext.AppendNumber(e.out, float64(v), e.options.precision)
}

func (e *jsonEncoder) text(s string) {
	const digits = "0123456789abcdef"
	e.r.ChargeBytes(e.L, len(s)*4)
	e.out = append(e.out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '/':
			e.out = append(e.out, '\\', c)
		case c == '\b':
			e.out = append(e.out, `\b`...)
		case c == '\t':
			e.out = append(e.out, `\t`...)
		case c == '\n':
			e.out = append(e.out, `\n`...)
		case c == '\f':
			e.out = append(e.out, `\f`...)
		case c == '\r':
			e.out = append(e.out, `\r`...)
		case c < ' ' || c == 0x7f:
			e.out = append(e.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			e.out = append(e.out, c)
		}
	}
	e.out = append(e.out, '"')
}

func (e *jsonEncoder) table(t *lua.LTable, depth int) {
	if depth > e.options.encodeDepth {
		e.r.Fail(e.L, "Cannot serialise, excessive nesting (%d)", depth)
	}
	keys := e.r.PairsOf(e.L, t)
	if most, is := arrayLength(keys); is && most > 0 && e.dense(t, most, len(keys)) {
		e.out = append(e.out, '[')
		for i := 1; i <= most; i++ {
			if i > 1 {
				e.out = append(e.out, ',')
			}
			e.value(t.RawGet(interpreter.NumberValue(float64(i))), depth)
		}
		e.out = append(e.out, ']')
		return
	}
	e.out = append(e.out, '{')
	for i, key := range keys {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		switch key := key.(type) {
		case lua.LString:
			e.text(string(key))
		case lua.LNumber:
			e.out = append(e.out, '"')
			e.number(key)
			e.out = append(e.out, '"')
		default:
			e.fail(key, "table key must be a number or string")
		}
		e.out = append(e.out, ':')
		e.value(t.RawGet(key), depth)
	}
	e.out = append(e.out, '}')
}

// dense reports whether a table with whole numbers as keys becomes an array.
func (e *jsonEncoder) dense(t *lua.LTable, most, items int) bool {
	o := e.options
	if o.sparseRatio > 0 && most > items*o.sparseRatio && most > o.sparseSafe {
		if !o.sparseConvert {
			e.fail(t, "excessively sparse array")
		}
		return false
	}
	return true
}
