package library

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/digits"
	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// directive is one %-10.3f of a format.
type directive struct {
	left, plus, blank, alternate, zero bool
	width, precision                   int // precision -1: none
}

// formatPart is a text of a format, or a directive and the kind of its argument.
type formatPart struct {
	text string // of a directive ""
	directive
	conversion byte
	takes      value.Kind // nil if there is no such conversion
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
	if p.directive, next, problem = readDirective(format, i); next < len(format) {
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
			L.Fail("invalid option '%%%s' to 'format'", strings.Trim(string(rune(p.conversion)), "\x00"))
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

// readDirective reads flags, width and precision.
func readDirective(format string, i int) (d directive, next int, problem string) {
	start := i
	for ; i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0; i++ {
		switch format[i] {
		case '-':
			d.left = true
		case '+':
			d.plus = true
		case ' ':
			d.blank = true
		case '#':
			d.alternate = true
		case '0':
			d.zero = true
		}
	}
	if i-start >= 6 {
		return d, i, "invalid format (repeated flags)"
	}
	digits := func() (n int) {
		for end := i + 2; i < end && i < len(format) && ctext.IsDigit(format[i]); i++ {
			n = n*10 + int(format[i]-'0')
		}
		return n
	}
	d.width, d.precision = digits(), -1
	if i < len(format) && format[i] == '.' {
		i++
		d.precision = digits()
	}
	if i < len(format) && ctext.IsDigit(format[i]) {
		problem = "invalid format (width or precision too long)"
	}
	return d, i, problem
}

// convert appends an argument as the conversion wants it, and takes the price.
func (p *formatPart) convert(L *interpreter.Thread, out []byte, v value.Value) []byte {
	d, before := p.directive, len(out)
	switch p.conversion {
	case 'c':
		d.zero = false
		out = append(out, untilZero(d.pad(nil, "", []byte{byte(ctext.ToInt64(v.Float()))}))...)
	case 'd', 'i':
		n := ctext.ToInt64(v.Float())
		magnitude := uint64(n)
		if n < 0 {
			magnitude = -magnitude
		}
		out = d.integer(out, d.sign(n < 0), strconv.FormatUint(magnitude, 10))
	case 'q':
		L.ChargeBytes(len(v.Text()) * 8)
		out = quote(out, v.Text())
	case 's':
		out = d.string(L, out, v.Text())
	case 'o', 'u', 'x', 'X':
		out = d.unsigned(out, ctext.ToUint64(v.Float()), p.conversion)
	default:
		L.Charge(ctext.WritePrice(v.Float(), d.precision, p.conversion))
		out = d.float(out, v.Float(), p.conversion)
	}
	L.Charge(8 + (len(out)-before)/interpreter.BytesPerStep)
	return out
}

func (d directive) string(L *interpreter.Thread, out []byte, s string) []byte {
	if d.precision < 0 && len(s) >= 100 {
		L.ChargeBytes(len(s))
		return append(out, s...)
	}
	L.ChargeBytes(len(s) / 2)
	text := untilZero([]byte(s))
	if d.precision >= 0 && d.precision < len(text) {
		text = text[:d.precision]
	}
	d.zero = false
	return d.pad(out, "", text)
}

// untilZero is a text as C reads it.
func untilZero(text []byte) []byte {
	if end := bytes.IndexByte(text, 0); end >= 0 {
		return text[:end]
	}
	return text
}

func (d directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.plus:
		return "+"
	case d.blank:
		return " "
	}
	return ""
}

// pad appends a text with its sign, filled up to the width.
func (d directive) pad(out []byte, sign string, text []byte) []byte {
	fill := d.width - len(sign) - len(text)
	switch {
	case fill <= 0:
		return append(append(out, sign...), text...)
	case d.left:
		out = append(append(out, sign...), text...)
		return append(out, bytes.Repeat([]byte{' '}, fill)...)
	case d.zero:
		out = append(append(out, sign...), bytes.Repeat([]byte{'0'}, fill)...)
		return append(out, text...)
	}
	out = append(out, bytes.Repeat([]byte{' '}, fill)...)
	return append(append(out, sign...), text...)
}

func (d directive) integer(out []byte, sign, digits string) []byte {
	if d.precision >= 0 {
		d.zero = false
		if d.precision == 0 && digits == "0" {
			digits = ""
		}
		digits = strings.Repeat("0", max(d.precision-len(digits), 0)) + digits
	}
	return d.pad(out, sign, []byte(digits))
}

func (d directive) unsigned(out []byte, n uint64, conversion byte) []byte {
	prefix, base := "", 10
	switch conversion {
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
		if d.alternate && n != 0 {
			prefix = "0" + string(conversion)
		}
	}
	digits := strconv.FormatUint(n, base)
	if conversion == 'X' {
		digits = strings.ToUpper(digits)
	}
	if conversion == 'o' && d.alternate && (n != 0 || d.precision == 0) {
		d.precision = max(d.precision, len(digits)+1)
		if n == 0 {
			d.precision = 1
		}
	}
	return d.integer(out, prefix, digits)
}

func (d directive) float(out []byte, x float64, conversion byte) []byte {
	sign := d.sign(math.Signbit(x) || math.IsNaN(x))
	precision := d.precision
	if precision < 0 {
		precision = 6
	}
	var room [64]byte
	digits := room[:0]
	switch {
	case math.IsNaN(x):
		digits, d.zero = append(digits, "nan"...), false
	case math.IsInf(x, 0):
		digits, d.zero = append(digits, "inf"...), false
	case conversion|0x20 == 'g':
		digits = appendShortest(digits, math.Abs(x), max(precision, 1), d.alternate)
	default:
		digits = appendFloat(digits, math.Abs(x), conversion|0x20, precision)
		if d.alternate && precision == 0 {
			digits = withPoint(digits)
		}
	}
	if conversion < 'a' {
		digits = bytes.ToUpper(digits)
	}
	return d.pad(out, sign, digits)
}

// appendFloat is [strconv.AppendFloat] of a number that is not negative, fast for "%.0f", by which scripts write times.
func appendFloat(dst []byte, x float64, conversion byte, precision int) []byte {
	if conversion == 'f' && precision == 0 && x < 1<<63 {
		return digits.Append(dst, int64(math.RoundToEven(x)))
	}
	return strconv.AppendFloat(dst, x, conversion, precision, 64)
}

// appendShortest is "%g", and "%#g", which keeps the zeros at the end.
func appendShortest(dst []byte, x float64, precision int, zeros bool) []byte {
	if !zeros {
		return strconv.AppendFloat(dst, x, 'g', precision, 64)
	}
	text := strconv.FormatFloat(x, 'e', precision-1, 64)
	exponent, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	if exponent < -4 || exponent >= precision {
		return withPoint([]byte(text))
	}
	return withPoint(strconv.AppendFloat(dst, x, 'f', precision-1-exponent, 64))
}

// withPoint adds a point to digits that have none.
func withPoint(digits []byte) []byte {
	if bytes.IndexByte(digits, '.') >= 0 {
		return digits
	}
	at := bytes.IndexByte(digits, 'e')
	if at < 0 {
		at = len(digits)
	}
	return append(digits[:at:at], append([]byte{'.'}, digits[at:]...)...)
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
