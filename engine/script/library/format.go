package library

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/stintdb/stint/engine/digits"
	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// formatPart is a text of a format, or a directive, such as %-10.3f, and the kind of its argument.
type formatPart struct {
	text             string // of a directive ""
	flags            string
	width, precision int // precision -1: none
	conversion       byte
	takes            value.Kind // nil if there is no such conversion
}

// nextPart reads the part of a format that begins at i, and returns where the next part begins.
func nextPart(format string, i int) (p formatPart, next int, problem string) {
	if format[i] != '%' {
		for next = i + 1; next < len(format) && format[next] != '%'; next++ {
		}
		return formatPart{text: format[i:next]}, next, ""
	}
	if i++; i < len(format) && format[i] == '%' {
		return formatPart{text: "%"}, i + 1, ""
	}
	if next, problem = p.read(format, i); next < len(format) {
		switch p.conversion = format[next]; p.conversion {
		case 'c', 'd', 'i', 'o', 'u', 'x', 'X', 'e', 'E', 'f', 'g', 'G':
			p.takes = value.NumberKind
		case 'q', 's':
			p.takes = value.StringKind
		}
	}
	return p, next + 1, problem
}

// stringFormat is string.format, with the rules of C's printf.
func stringFormat(L *interpreter.Thread) int {
	format := L.CheckString(1)
	L.ChargeBytes(len(format) * 4)
	var out []byte
	arg := 1
	for at := 0; at < len(format); {
		p, next, problem := nextPart(format, at)
		if at = next; p.text != "" {
			out = append(out, p.text...)
			continue
		}
		arg++
		switch {
		case arg > L.Top():
			L.BadArgument(arg, "no value")
		case problem != "":
			L.Fail("%s", problem)
		case p.takes == value.NumberKind:
			out = p.convert(L, out, value.Number(L.CheckNumber(arg)))
		case p.takes == value.StringKind:
			out = p.convert(L, out, value.String(L.CheckString(arg)))
		default:
			L.Fail("invalid option '%%%s' to 'format'", strings.Trim(string([]byte{p.conversion}), "\x00"))
		}
	}
	return L.PushText(out)
}

// directFormat is the [interpreter.Direct] of a constant format, which it reads once.
func directFormat(s interpreter.Site) interpreter.Direct {
	var parts []formatPart
	var kinds []value.Kind // of the arguments
	format := ""
	if s.First.IsString() {
		format = s.First.Text()
	}
	for at := 0; at < len(format); {
		p, next, problem := nextPart(format, at)
		if at, parts = next, append(parts, p); p.text == "" {
			kinds = append(kinds, p.takes)
		}
		if problem != "" || p.text == "" && p.takes == value.NilKind {
			parts = nil
			break
		}
	}
	return func(L *interpreter.Thread, args []value.Value) (value.Value, bool) {
		if parts == nil || len(args) <= len(kinds) {
			return value.Nil, false
		}
		for i, kind := range kinds {
			if args[i+1].Kind() != kind {
				return value.Nil, false
			}
		}
		L.ChargeBytes(len(format) * 4)
		var room [64]byte
		out := room[:0]
		for i := range parts {
			if p := &parts[i]; p.text != "" {
				out = append(out, p.text...)
			} else {
				args = args[1:]
				out = p.convert(L, out, args[0])
			}
		}
		L.ChargeBytes(len(out))
		return L.Text(out), true
	}
}

// read reads flags, width and precision.
func (p *formatPart) read(format string, i int) (next int, problem string) {
	start := i
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		i++
	}
	if p.flags = format[start:i]; len(p.flags) >= 6 {
		return i, "invalid format (repeated flags)"
	}
	digits := func() (n int) {
		for end := i + 2; i < end && i < len(format) && ctext.IsDigit(format[i]); i++ {
			n = n*10 + int(format[i]-'0')
		}
		return n
	}
	p.width, p.precision = digits(), -1
	if i < len(format) && format[i] == '.' {
		i++
		p.precision = digits()
	}
	if i < len(format) && ctext.IsDigit(format[i]) {
		problem = "invalid format (width or precision too long)"
	}
	return i, problem
}

func (p *formatPart) has(flag byte) bool { return strings.IndexByte(p.flags, flag) >= 0 }

// convert appends an argument as the conversion wants it, and takes the price.
func (p *formatPart) convert(L *interpreter.Thread, out []byte, v value.Value) []byte {
	before := len(out)
	switch p.conversion {
	case 'c':
		out = append(out, untilZero(p.pad(nil, []byte{byte(ctext.ToInt64(v.Float()))}))...)
	case 'd', 'i':
		switch n := ctext.ToInt64(v.Float()); {
		case p.flags == "" && p.width == 0 && p.precision < 0:
			out = digits.Append(out, n)
		case n == 0 && p.precision == 0: // no digit, but a sign
			out = p.pad(out, []byte(p.plus()))
		default:
			out = p.print(out, p.flags, 'd', n)
		}
	case 'q':
		L.ChargeBytes(len(v.Text()) * 8)
		out = quote(out, v.Text())
	case 's':
		out = p.string(L, out, v.Text())
	case 'o', 'u', 'x', 'X':
		out = p.unsigned(out, ctext.ToUint64(v.Float()))
	default:
		L.Charge(ctext.WritePrice(v.Float(), p.precision, p.conversion))
		out = p.float(out, v.Float())
	}
	L.Charge(8 + (len(out)-before)/interpreter.BytesPerStep)
	return out
}

// print appends a number as C's printf does, which Go's follows but for what the callers see to.
func (p *formatPart) print(out []byte, flags string, verb byte, number any) []byte {
	if p.precision < 0 {
		return fmt.Appendf(out, "%"+flags+"*"+string(verb), p.width, number)
	}
	return fmt.Appendf(out, "%"+flags+"*.*"+string(verb), p.width, p.precision, number)
}

func (p *formatPart) string(L *interpreter.Thread, out []byte, s string) []byte {
	if p.precision < 0 && len(s) >= 100 {
		L.ChargeBytes(len(s))
		return append(out, s...)
	}
	L.ChargeBytes(len(s) / 2)
	text := untilZero([]byte(s))
	if p.precision >= 0 && p.precision < len(text) {
		text = text[:p.precision]
	}
	return p.pad(out, text)
}

// untilZero is a text as C reads it.
func untilZero(text []byte) []byte {
	if end := bytes.IndexByte(text, 0); end >= 0 {
		return text[:end]
	}
	return text
}

// pad appends a text, filled up with blanks to the width.
func (p *formatPart) pad(out, text []byte) []byte {
	fill := bytes.Repeat([]byte{' '}, max(p.width-len(text), 0))
	if p.has('-') {
		return append(append(out, text...), fill...)
	}
	return append(append(out, fill...), text...)
}

// plus is the sign of a number that is not negative.
func (p *formatPart) plus() string {
	switch {
	case p.has('+'):
		return "+"
	case p.has(' '):
		return " "
	}
	return ""
}

// unsigned appends a number that has no sign. "#" asks for another octal digit, or for 0x before a number that is not 0.
func (p *formatPart) unsigned(out []byte, n uint64) []byte {
	d, flags, verb := *p, strings.NewReplacer("+", "", " ", "").Replace(p.flags), p.conversion
	switch {
	case verb == 'u':
		verb = 'd'
	case !p.has('#'):
	case n == 0 && verb == 'o' && p.precision == 0:
		d.precision = 1
	case n == 0:
		flags = strings.ReplaceAll(flags, "#", "")
	case verb != 'o' && p.has('0') && !p.has('-') && p.precision < 0: // the zeros stand after 0x
		d.precision = p.width - len("0x")
	}
	return d.print(out, flags, verb, n)
}

func (p *formatPart) float(out []byte, x float64) []byte {
	verb := p.conversion
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return p.pad(out, p.noNumber(x))
	case verb == 'f' && p.precision == 0 && p.flags == "" && p.width == 0 && x > 0 && x < 1<<63: // as scripts write times
		return digits.Append(out, int64(math.RoundToEven(x)))
	case verb|0x20 == 'g' && p.precision <= 0:
		d := *p
		if d.precision = 1; p.precision < 0 {
			d.precision = 6
		}
		return d.print(out, p.flags, verb, x)
	}
	return p.print(out, p.flags, verb, x)
}

// noNumber is infinity, or what is no number.
func (p *formatPart) noNumber(x float64) []byte {
	text := p.plus() + "inf"
	if math.IsNaN(x) {
		text = "-nan"
	} else if x < 0 {
		text = "-inf"
	}
	if p.conversion < 'a' {
		text = strings.ToUpper(text)
	}
	return []byte(text)
}

// quote is "%q".
func quote(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, "\\r"...)
		case 0:
			out = append(out, "\\000"...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
