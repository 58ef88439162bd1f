package library

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
)

var stringFunctions = map[string]lua.LGFunction{
	"byte":    stringByte,
	"char":    stringChar,
	"dump":    stringDump,
	"find":    func(L *lua.LState) int { return find(L, true) },
	"format":  stringFormat,
	"gfind":   gmatch,
	"gmatch":  gmatch,
	"gsub":    gsub,
	"len":     func(L *lua.LState) int { return interpreter.PushInt(L, len(interpreter.Of(L).CheckString(L, 1))) },
	"lower":   func(L *lua.LState) int { return mapBytes(L, 'A', 'Z') },
	"match":   func(L *lua.LState) int { return find(L, false) },
	"rep":     stringRep,
	"reverse": stringReverse,
	"sub":     stringSub,
	"upper":   func(L *lua.LState) int { return mapBytes(L, 'a', 'z') },
}

// position makes an index that may count from the end one that counts from the start.
func position(i, length int) int {
	if i < 0 {
		i += length + 1
	}
	return max(i, 0)
}

func stringByte(L *lua.LState) int {
	r := interpreter.Of(L)
	s := r.CheckString(L, 1)
	from := position(r.OptLong(L, 2, 1), len(s))
	to := position(r.OptLong(L, 3, from), len(s))
	from, to = max(from, 1), min(to, len(s))
	if from > to {
		return 0
	}
	if to-from+1 > interpreter.MaxUnpacked {
		r.Fail(L, "stack overflow (string slice too long)")
	}
	r.Charge(L, (to-from)/interpreter.SlotsPerStep)
	for i := from; i <= to; i++ {
		L.Push(interpreter.NumberValue(float64(s[i-1])))
	}
	return to - from + 1
}

func stringChar(L *lua.LState) int {
	r := interpreter.Of(L)
	text := make([]byte, L.GetTop())
	for i := range text {
		c := r.CheckInt(L, i+1)
		if c < 0 || c > 255 {
			r.BadArgument(L, i+1, "invalid value")
		}
		text[i] = byte(c)
	}
	r.ChargeBytes(L, len(text))
	return interpreter.PushString(L, string(text))
}

func stringDump(L *lua.LState) int {
	interpreter.Of(L).CheckFunction(L, 1)
	interpreter.Of(L).Fail(L, "unable to dump given function")
	return 0
}

func mapBytes(L *lua.LState, first, last byte) int {
	r := interpreter.Of(L)
	s := r.CheckString(L, 1)
	r.ChargeBytes(L, len(s)*4)
	text := []byte(s)
	for i, c := range text {
		if c >= first && c <= last {
			text[i] = c ^ 0x20
		}
	}
	return interpreter.PushString(L, string(text))
}

func stringRep(L *lua.LState) int {
	r := interpreter.Of(L)
	s, n := r.CheckString(L, 1), r.CheckInt(L, 2)
	if n <= 0 || s == "" {
		return interpreter.PushString(L, "")
	}
	if n > interpreter.Budget*interpreter.BytesPerStep/len(s) {
		r.End(L, interpreter.BudgetError)
	}
	r.ChargeBytes(L, n*len(s))
	return interpreter.PushString(L, strings.Repeat(s, n))
}

func stringReverse(L *lua.LState) int {
	r := interpreter.Of(L)
	s := r.CheckString(L, 1)
	r.ChargeBytes(L, len(s)*4)
	text := make([]byte, len(s))
	for i := range len(s) {
		text[len(s)-1-i] = s[i]
	}
	return interpreter.PushString(L, string(text))
}

func stringSub(L *lua.LState) int {
	r := interpreter.Of(L)
	s := r.CheckString(L, 1)
	from := max(position(r.CheckLong(L, 2), len(s)), 1)
	to := min(position(r.OptLong(L, 3, -1), len(s)), len(s))
	if from > to {
		return interpreter.PushString(L, "")
	}
	return interpreter.PushString(L, s[from-1:to])
}

// find is string.find and string.match.
func find(L *lua.LState, wantsPlace bool) int {
	r := interpreter.Of(L)
	s, pattern := r.CheckString(L, 1), r.CheckString(L, 2)
	start := position(r.OptLong(L, 3, 1), len(s)) - 1
	start = min(max(start, 0), len(s))
	if wantsPlace && (lua.LVAsBool(L.Get(4)) || !strings.ContainsAny(pattern, "^$*+?.([%-")) {
		r.ChargeBytes(L, (len(s)-start)*2)
		at := strings.Index(s[start:], pattern)
		if at < 0 {
			L.Push(lua.LNil)
			return 1
		}
		interpreter.PushInt(L, start+at+1)
		return 1 + interpreter.PushInt(L, start+at+len(pattern))
	}
	anchored := strings.HasPrefix(pattern, "^")
	m := matcher{L: L, r: r, text: s, pattern: strings.TrimPrefix(pattern, "^")}
	for ; start <= len(s); start++ {
		if end, ok := m.matchAt(start); ok {
			if wantsPlace {
				interpreter.PushInt(L, start+1)
				interpreter.PushInt(L, end)
				return 2 + m.pushCaptures(-1, -1)
			}
			return m.pushCaptures(start, end)
		}
		if anchored {
			break
		}
	}
	L.Push(lua.LNil)
	return 1
}

func gmatch(L *lua.LState) int {
	r := interpreter.Of(L)
	s, pattern := r.CheckString(L, 1), r.CheckString(L, 2)
	at := 0
	r.Charge(L, 10)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		m := matcher{L: L, r: interpreter.Of(L), text: s, pattern: pattern}
		for ; at <= len(s); at++ {
			if end, ok := m.matchAt(at); ok {
				start := at
				at = end
				if end == start {
					at++
				}
				return m.pushCaptures(start, end)
			}
		}
		L.Push(lua.LNil)
		return 1
	}))
	return 1
}

func gsub(L *lua.LState) int {
	r := interpreter.Of(L)
	s, pattern := r.CheckString(L, 1), r.CheckString(L, 2)
	switch L.Get(3).(type) {
	case lua.LString, lua.LNumber, *lua.LTable, *lua.LFunction:
	default:
		r.BadArgument(L, 3, "string/function/table expected")
	}
	most := r.OptInt(L, 4, len(s)+1)
	anchored := strings.HasPrefix(pattern, "^")
	m := matcher{L: L, r: r, text: s, pattern: strings.TrimPrefix(pattern, "^")}
	var out strings.Builder
	at, n := 0, 0
	for n < most {
		end, ok := m.matchAt(at)
		if ok {
			n++
			before := out.Len()
			m.replace(&out, at, end, L.Get(3))
			r.Charge(L, 5+2*(out.Len()-before)/interpreter.BytesPerStep)
		}
		switch {
		case ok && end > at:
			at = end
		case at < len(s):
			out.WriteByte(s[at])
			at++
		default:
			at++
		}
		if at > len(s) || anchored {
			break
		}
	}
	if at < len(s) {
		out.WriteString(s[at:])
	}
	r.ChargeBytes(L, len(s))
	interpreter.PushString(L, out.String())
	return 1 + interpreter.PushInt(L, n)
}

// replace writes the replacement of a match.
func (m *matcher) replace(out *strings.Builder, start, end int, by lua.LValue) {
	var value lua.LValue
	switch by := by.(type) {
	case *lua.LFunction:
		m.r.Charge(m.L, interpreter.InvokePrice)
		m.L.Push(by)
		n := m.pushCaptures(start, end)
		m.L.Call(n, 1)
		value = m.L.Get(-1)
		m.L.Pop(1)
	case *lua.LTable:
		m.L.Push(interpreter.Builtins["(get)"])
		m.L.Push(by)
		m.L.Push(m.capture(0, start, end))
		m.L.Call(2, 1)
		value = m.L.Get(-1)
		m.L.Pop(1)
	default:
		text, _ := interpreter.AsText(by)
		m.expand(out, text, start, end)
		return
	}
	text, is := interpreter.AsText(value)
	switch {
	case lua.LVIsFalse(value):
		out.WriteString(m.text[start:end])
	case is:
		out.WriteString(text)
	default:
		m.r.Fail(m.L, "invalid replacement value (a %s)", interpreter.TypeName(value))
	}
}

// expand writes a replacement with %1 and its like.
func (m *matcher) expand(out *strings.Builder, text string, start, end int) {
	for i := 0; i < len(text); i++ {
		next := strings.IndexByte(text[i:], '%')
		if next < 0 {
			out.WriteString(text[i:])
			return
		}
		out.WriteString(text[i : i+next])
		i += next + 1
		switch {
		case i >= len(text):
			out.WriteByte(0)
		case !ctext.IsDigit(text[i]):
			out.WriteByte(text[i])
		case text[i] == '0':
			out.WriteString(m.text[start:end])
		default:
			part, _ := interpreter.AsText(m.capture(int(text[i]-'1'), start, end))
			out.WriteString(part)
		}
		m.r.ChargeBytes(m.L, end-start)
	}
}
