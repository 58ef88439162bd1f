package library

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// jsonDecoder reads JSON as cjson does, with its messages.
type jsonDecoder struct {
	L       *interpreter.Thread
	options *jsonOptions
	text    string
	at      int
	token   jsonToken
	depth   int
}

// jsonToken is a token: its name in messages, the problem for an error, its place, and its value.
type jsonToken struct {
	kind  string
	at    int
	value value.Value
}

const jsonError = "T_ERROR"

func jsonDecode(L *interpreter.Thread) int {
	L.Check(L.Top() == 1, 1, "expected 1 argument")
	text := L.CheckString(1)
	if len(text) >= 2 && (text[0] == 0 || text[1] == 0) {
		L.Fail("JSON parser does not support UTF-16 or UTF-32")
	}
	L.ChargeBytes(len(text) * 4)
	d := jsonDecoder{L: L, options: &keptBy(L.Run()).json, text: text}
	d.next()
	v := d.value()
	d.next()
	if d.token.kind != "T_END" {
		d.expected("the end")
	}
	return L.Push(v)
}

func (d *jsonDecoder) expected(what string) {
	found := d.token.kind
	if found == jsonError {
		found = d.token.value.Text()
	}
	d.L.Fail("Expected %s but found %s at character %d", what, found, d.token.at+1)
}

func (d *jsonDecoder) value() value.Value {
	d.L.Charge(3)
	switch d.token.kind {
	case "T_STRING", "T_NUMBER", "T_BOOLEAN", "T_NULL":
		return d.token.value
	case "T_OBJ_BEGIN":
		return d.object()
	case "T_ARR_BEGIN":
		return d.array()
	}
	d.expected("value")
	return value.Nil
}

func (d *jsonDecoder) object() value.Value {
	return d.container("object", "T_OBJ_END", 60, func(t *value.Table, _ int) {
		if d.token.kind != "T_STRING" {
			d.expected("object key string")
		}
		key := d.token.value
		d.next()
		if d.token.kind != "T_COLON" {
			d.expected("colon")
		}
		d.next()
		d.L.Set(t, key, d.value())
	})
}

func (d *jsonDecoder) array() value.Value {
	return d.container("array", "T_ARR_END", 15, func(t *value.Table, i int) { t.SetInt(i, d.value()) })
}

// container reads an object or an array, by a function for each item.
func (d *jsonDecoder) container(name, end string, price int, item func(t *value.Table, i int)) value.Value {
	if d.depth++; d.depth > d.options.decodeDepth {
		d.L.Fail("Found too many nested data structures (%d) at character %d", d.depth, d.at)
	}
	d.L.Charge(price)
	t := d.L.NewTable(0, 0)
	d.next()
	for i := 1; d.token.kind != end; i++ {
		if i > 1 {
			if d.token.kind != "T_COMMA" {
				d.expected("comma or " + name + " end")
			}
			d.next()
		}
		item(t, i)
		d.next()
	}
	d.depth--
	return value.OfTable(t)
}

var jsonMarks = map[byte]string{'{': "T_OBJ_BEGIN", '}': "T_OBJ_END", '[': "T_ARR_BEGIN", ']': "T_ARR_END", ':': "T_COLON", ',': "T_COMMA", 0: "T_END"}

var jsonWords = []struct {
	text, kind string
	value      value.Value
}{{"true", "T_BOOLEAN", value.True}, {"false", "T_BOOLEAN", value.False}, {"null", "T_NULL", jsonNull}}

// next reads a token.
func (d *jsonDecoder) next() {
	for d.at < len(d.text) && strings.IndexByte(" \t\n\r", d.text[d.at]) >= 0 {
		d.at++
	}
	d.token = jsonToken{at: d.at}
	rest := d.text[d.at:]
	if rest == "" {
		d.token.kind = "T_END"
		return
	}
	c := rest[0]
	if kind, is := jsonMarks[c]; is {
		d.token.kind = kind
		if c != 0 {
			d.at++
		}
		return
	}
	if c == '"' {
		d.quoted()
		return
	}
	for _, word := range jsonWords {
		if strings.HasPrefix(rest, word.text) {
			d.token.kind, d.token.value = word.kind, word.value
			d.at += len(word.text)
			return
		}
	}
	plain := c == '-' || ctext.IsDigit(c)
	if invalid := isInvalidNumber(rest); (plain && !invalid) || (invalid && d.options.decodeInvalid) {
		d.number(rest)
		return
	} else if plain {
		d.fault("invalid number")
		return
	}
	d.fault("invalid token")
}

func (d *jsonDecoder) fault(problem string) {
	d.token.kind, d.token.value = jsonError, value.String(problem)
}

// isInvalidNumber reports whether a text begins with a number that JSON does not have: +1, 0x1, 01, inf, nan.
func isInvalidNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	switch {
	case s == "":
		return false
	case s[0] == '0':
		return len(s) > 1 && (s[1]|0x20 == 'x' || ctext.IsDigit(s[1]))
	case s[0] <= '9':
		return false
	}
	return len(s) >= 3 && (strings.EqualFold(s[:3], "inf") || strings.EqualFold(s[:3], "nan"))
}

func (d *jsonDecoder) number(rest string) {
	sign := 0
	if rest[0] == '-' || rest[0] == '+' {
		sign = 1
	}
	digits := rest[sign:]
	var end int
	switch {
	case len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x':
		if end = ctext.NumeralEnd(digits[2:], ctext.IsHex, 'p'); end >= 0 {
			end += 2
		} else {
			end = 1
		}
	case len(digits) >= 8 && strings.EqualFold(digits[:8], "infinity"):
		end = 8
	case len(digits) >= 3 && ctext.IsAlpha(digits[0]):
		end = 3
	default:
		end = ctext.NumeralEnd(digits, ctext.IsDigit, 'e')
	}
	x, ok := 0.0, false
	if end >= 0 {
		x, ok = d.L.ParseNumber(rest[:sign+end])
	}
	if !ok {
		d.fault("invalid number")
		return
	}
	d.token.kind, d.token.value = "T_NUMBER", value.Result(x)
	d.at += sign + end
}

// jsonEscapes are the letters after a backslash, for the bytes of jsonEscaped.
const (
	jsonEscapes = `"\/btnfr`
	jsonEscaped = "\"\\/\b\t\n\f\r"
)

// quoted reads a string.
func (d *jsonDecoder) quoted() {
	var out []byte
	i := d.at + 1
	for ; i < len(d.text) && d.text[i] != 0; i++ {
		c := d.text[i]
		if c == '"' {
			d.token.kind, d.token.value = "T_STRING", value.String(string(out))
			d.at = i + 1
			return
		}
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++
		if i < len(d.text) && d.text[i] == 'u' {
			code, n := unicodeEscape(d.text[i-1:])
			if n == 0 {
				d.at, d.token.at = i-1, i-1
				d.fault("invalid unicode escape code")
				return
			}
			out = utf8.AppendRune(out, code)
			i += n - 2
			continue
		}
		letter := -1
		if i < len(d.text) {
			letter = strings.IndexByte(jsonEscapes, d.text[i])
		}
		if letter < 0 {
			d.at, d.token.at = i-1, i-1
			d.fault("invalid escape code")
			return
		}
		out = append(out, jsonEscaped[letter])
	}
	d.at, d.token.at = i, i
	d.fault("unexpected end of string")
}

// unicodeEscape reads \uXXXX, or two of them for a character beyond 16 bits, and returns the length.
func unicodeEscape(s string) (rune, int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(n), err == nil
	}
	first, ok := unit(s)
	if !ok || first&0xfc00 == 0xdc00 {
		return 0, 0
	}
	if first&0xfc00 != 0xd800 {
		return first, 6
	}
	second, ok := unit(s[6:])
	if !ok || second&0xfc00 != 0xdc00 {
		return 0, 0
	}
	return 0x10000 + (first&0x3ff)<<10 + second&0x3ff, 12
}
