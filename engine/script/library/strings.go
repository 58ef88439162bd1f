package library

import (
	"strings"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

var stringFunctions = map[string]interpreter.GoFunction{
	"byte":    stringByte,
	"char":    stringChar,
	"dump":    stringDump,
	"find":    func(L *interpreter.Thread) int { return find(L, true) },
	"format":  stringFormat,
	"gfind":   gmatch,
	"gmatch":  gmatch,
	"gsub":    gsub,
	"len":     func(L *interpreter.Thread) int { return L.PushInt(len(L.CheckString(1))) },
	"lower":   func(L *interpreter.Thread) int { return mapBytes(L, 'A', 'Z') },
	"match":   func(L *interpreter.Thread) int { return find(L, false) },
	"rep":     stringRep,
	"reverse": stringReverse,
	"sub":     stringSub,
	"upper":   func(L *interpreter.Thread) int { return mapBytes(L, 'a', 'z') },
}

var stringDirects = map[string]func(interpreter.Site) interpreter.Direct{"format": directFormat}

// position makes an index that may count from the end one that counts from the start.
func position(i, length int) int {
	if i < 0 {
		i += length + 1
	}
	return max(i, 0)
}

func stringByte(L *interpreter.Thread) int {
	s := L.CheckString(1)
	from := position(L.OptLong(2, 1), len(s))
	to := position(L.OptLong(3, from), len(s))
	from, to = max(from, 1), min(to, len(s))
	if from > to {
		return 0
	}
	if to-from+1 > interpreter.MaxUnpacked {
		L.Fail("stack overflow (string slice too long)")
	}
	L.Charge((to - from) / interpreter.SlotsPerStep)
	for i := from; i <= to; i++ {
		L.Push(value.Int(int(s[i-1])))
	}
	return to - from + 1
}

func stringChar(L *interpreter.Thread) int {
	text := make([]byte, L.Top())
	for i := range text {
		c := L.CheckInt(i + 1)
		L.Check(c >= 0 && c <= 255, i+1, "invalid value")
		text[i] = byte(c)
	}
	L.ChargeBytes(len(text))
	return L.PushText(text)
}

func stringDump(L *interpreter.Thread) int {
	L.CheckFunction(1)
	L.Fail("unable to dump given function")
	return 0
}

func mapBytes(L *interpreter.Thread, first, last byte) int {
	s := L.CheckString(1)
	L.ChargeBytes(len(s) * 4)
	text := []byte(s)
	for i, c := range text {
		if c >= first && c <= last {
			text[i] = c ^ 0x20
		}
	}
	return L.PushText(text)
}

func stringRep(L *interpreter.Thread) int {
	s, n := L.CheckString(1), L.CheckInt(2)
	if n <= 0 || s == "" {
		return L.PushString("")
	}
	if n > interpreter.Budget*interpreter.BytesPerStep/len(s) {
		L.End(interpreter.BudgetError)
	}
	L.ChargeBytes(n * len(s))
	return L.PushString(strings.Repeat(s, n))
}

func stringReverse(L *interpreter.Thread) int {
	s := L.CheckString(1)
	L.ChargeBytes(len(s) * 4)
	text := make([]byte, len(s))
	for i := range len(s) {
		text[len(s)-1-i] = s[i]
	}
	return L.PushText(text)
}

func stringSub(L *interpreter.Thread) int {
	s := L.CheckString(1)
	from := max(position(L.CheckLong(2), len(s)), 1)
	to := min(position(L.OptLong(3, -1), len(s)), len(s))
	if from > to {
		return L.PushString("")
	}
	return L.PushString(s[from-1 : to])
}

// find is string.find and string.match.
func find(L *interpreter.Thread, wantsPlace bool) int {
	s, pattern := L.CheckString(1), L.CheckString(2)
	start := position(L.OptLong(3, 1), len(s)) - 1
	start = min(max(start, 0), len(s))
	if wantsPlace && (L.Get(4).IsTrue() || !strings.ContainsAny(pattern, "^$*+?.([%-")) {
		L.ChargeBytes((len(s) - start) * 2)
		at := strings.Index(s[start:], pattern)
		if at < 0 {
			return L.Push(value.Nil)
		}
		return L.PushInt(start+at+1) + L.PushInt(start+at+len(pattern))
	}
	anchored := strings.HasPrefix(pattern, "^")
	m := matcher{L: L, text: s, pattern: strings.TrimPrefix(pattern, "^")}
	for ; start <= len(s); start++ {
		if end, ok := m.matchAt(start); ok {
			if wantsPlace {
				return L.PushInt(start+1) + L.PushInt(end) + m.pushCaptures(-1, -1)
			}
			return m.pushCaptures(start, end)
		}
		if anchored {
			break
		}
	}
	return L.Push(value.Nil)
}

func gmatch(L *interpreter.Thread) int {
	s, pattern := L.CheckString(1), L.CheckString(2)
	at := 0
	L.Charge(10)
	return L.Push(interpreter.NewFunction(func(L *interpreter.Thread) int {
		m := matcher{L: L, text: s, pattern: pattern}
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
		return L.Push(value.Nil)
	}))
}

func gsub(L *interpreter.Thread) int {
	s, pattern := L.CheckString(1), L.CheckString(2)
	most := L.OptInt(4, len(s)+1)
	switch L.Get(3).Kind() {
	case value.StringKind, value.NumberKind, value.TableKind, value.FunctionKind:
	default:
		L.BadArgument(3, "string/function/table expected")
	}
	anchored := strings.HasPrefix(pattern, "^")
	m := matcher{L: L, text: s, pattern: strings.TrimPrefix(pattern, "^")}
	var out strings.Builder
	at, n := 0, 0
	for n < most {
		end, ok := m.matchAt(at)
		if ok {
			n++
			before := out.Len()
			m.replace(&out, at, end, L.Get(3))
			L.Charge(5 + 2*(out.Len()-before)/interpreter.BytesPerStep)
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
	L.ChargeBytes(len(s))
	return L.PushString(out.String()) + L.PushInt(n)
}

// replace writes the replacement of a match.
func (m *matcher) replace(out *strings.Builder, start, end int, by value.Value) {
	var v value.Value
	switch by.Kind() {
	case value.FunctionKind:
		m.L.Charge(interpreter.InvokePrice)
		v = m.L.CallPushed(by, func() { m.pushCaptures(start, end) })
	case value.TableKind:
		v = m.L.Index(by, m.capture(0, start, end))
	default:
		text, _ := value.AsText(by)
		m.expand(out, text, start, end)
		return
	}
	text, is := value.AsText(v)
	switch {
	case !v.IsTrue():
		out.WriteString(m.text[start:end])
	case is:
		out.WriteString(text)
	default:
		m.L.Fail("invalid replacement value (a %s)", v.Kind())
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
			part, _ := value.AsText(m.capture(int(text[i]-'1'), start, end))
			out.WriteString(part)
		}
		m.L.ChargeBytes(end - start)
	}
}
