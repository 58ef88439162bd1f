package library

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
)

// directive is one %-10.3f of a format.
type directive struct {
	left, plus, blank, alternate, zero bool
	width, precision                   int // precision -1: none
}

// stringFormat is string.format, with the rules of C's printf.
func stringFormat(L *interpreter.Thread) int {
	format := L.CheckString(1)
	L.ChargeBytes(len(format) * 4)
	var out []byte
	arg := 1
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out = append(out, format[i])
			continue
		}
		i++
		if i < len(format) && format[i] == '%' {
			out = append(out, '%')
			continue
		}
		arg++
		if arg > L.Top() {
			L.BadArgument(arg, "no value")
		}
		d, next := readDirective(L, format, i)
		i = next
		conversion := byte(0)
		if i < len(format) {
			conversion = format[i]
		}
		before := len(out)
		out = d.convert(L, out, conversion, arg)
		L.Charge(8 + (len(out)-before)/interpreter.BytesPerStep)
	}
	return L.PushText(out)
}

// readDirective reads flags, width and precision.
func readDirective(L *interpreter.Thread, format string, i int) (d directive, next int) {
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
		L.Fail("invalid format (repeated flags)")
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
		L.Fail("invalid format (width or precision too long)")
	}
	return d, i
}

// convert appends an argument as the conversion wants it.
func (d directive) convert(L *interpreter.Thread, out []byte, conversion byte, arg int) []byte {
	switch conversion {
	case 'c':
		d.zero = false
		text := d.pad(nil, "", []byte{byte(L.CheckInt(arg))})
		if end := bytes.IndexByte(text, 0); end >= 0 { // as a string of C ends
			text = text[:end]
		}
		return append(out, text...)
	case 'd', 'i':
		n := ctext.ToInt64(L.CheckNumber(arg))
		magnitude := uint64(n)
		if n < 0 {
			magnitude = -magnitude
		}
		return d.integer(out, d.sign(n < 0), strconv.FormatUint(magnitude, 10))
	case 'o', 'u', 'x', 'X':
		return d.unsigned(out, ctext.ToUint64(L.CheckNumber(arg)), conversion)
	case 'e', 'E', 'f', 'g', 'G':
		x := L.CheckNumber(arg)
		L.Charge(ctext.WritePrice(x, d.precision, conversion))
		return d.float(out, x, conversion)
	case 'q':
		s := L.CheckString(arg)
		L.ChargeBytes(len(s) * 8)
		return quote(out, s)
	case 's':
		s := L.CheckString(arg)
		if d.precision < 0 && len(s) >= 100 {
			L.ChargeBytes(len(s))
			return append(out, s...)
		}
		L.ChargeBytes(len(s) / 2)
		if end := strings.IndexByte(s, 0); end >= 0 {
			s = s[:end]
		}
		if d.precision >= 0 && d.precision < len(s) {
			s = s[:d.precision]
		}
		d.zero = false
		return d.pad(out, "", []byte(s))
	}
	shown := ""
	if conversion != 0 {
		shown = string([]byte{conversion})
	}
	L.Fail("invalid option '%%%s' to 'format'", shown)
	return nil
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
	var digits []byte
	switch {
	case math.IsNaN(x):
		digits, d.zero = []byte("nan"), false
	case math.IsInf(x, 0):
		digits, d.zero = []byte("inf"), false
	case conversion|0x20 == 'g':
		digits = appendShortest(nil, math.Abs(x), max(precision, 1), d.alternate)
	default:
		digits = strconv.AppendFloat(nil, math.Abs(x), conversion|0x20, precision, 64)
		if d.alternate && precision == 0 {
			digits = withPoint(digits)
		}
	}
	if conversion < 'a' {
		digits = bytes.ToUpper(digits)
	}
	return d.pad(out, sign, digits)
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
