package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/script/ctext"
)

// Kinds of tokens.
const (
	tokenEnd = 1 + iota
	tokenName
	tokenString
	tokenNumber
	tokenMark // a keyword, or a symbol of one byte or several
)

var keywords = map[string]bool{"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true,
	"for": true, "function": true, "if": true, "in": true, "local": true, "nil": true, "not": true, "or": true, "repeat": true,
	"return": true, "then": true, "true": true, "until": true, "while": true}

// token is a word of the source.
type token struct {
	kind   int
	text   string  // as error messages show it
	value  string  // of a string
	number float64 // of a number
	line   int
}

// is reports whether the token is this keyword or symbol.
func (t token) is(mark string) bool { return t.kind == tokenMark && t.text == mark }

// lexer cuts the source into tokens, as Lua 5.1 does.
type lexer struct {
	source  string
	display string // the name of the chunk in messages
	at      int
	line    int
	budget  int // steps that are left for compiling
}

// pay takes steps from the budget of compiling.
func (x *lexer) pay(steps int) {
	if x.budget -= steps; x.budget < 0 {
		x.fail("the source takes too long to compile: too many functions, or different constants in one function", "")
	}
}

// fail ends the parsing with a message; near is the text shown as the place, if there is one.
func (x *lexer) fail(message, near string) {
	if near != "" {
		message += " near '" + near + "'"
	}
	panic(Error(fmt.Sprintf("%s:%d: %s", x.display, x.line, message)))
}

func (x *lexer) peek(ahead int) byte {
	if i := x.at + ahead; i < len(x.source) {
		return x.source[i]
	}
	return 0
}

// newline steps over one end of line, of one or two bytes.
func (x *lexer) newline() {
	first := x.source[x.at]
	x.at++
	if next := x.peek(0); x.at < len(x.source) && (next == '\n' || next == '\r') && next != first {
		x.at++
	}
	x.line++
}

// next returns the next token.
func (x *lexer) next() token {
	for x.at < len(x.source) {
		switch c := x.source[x.at]; {
		case c == '\n' || c == '\r':
			x.newline()
		case ctext.IsSpace(c):
			x.at++
		case c == '-' && x.peek(1) == '-':
			x.comment()
		default:
			return x.word(c)
		}
	}
	return token{kind: tokenEnd, text: "<eof>", line: x.line}
}

func (x *lexer) comment() {
	x.at += 2
	if x.peek(0) == '[' {
		if level := x.bracket(); level >= 0 {
			x.long(level, "comment")
			return
		}
	}
	for x.at < len(x.source) && x.source[x.at] != '\n' && x.source[x.at] != '\r' {
		x.at++
	}
}

// bracket returns the level of the long bracket that begins here, or -1.
func (x *lexer) bracket() int {
	level := 0
	for x.peek(1+level) == '=' {
		level++
	}
	if x.peek(1+level) == '[' {
		return level
	}
	return -1
}

// long reads a string or a comment in long brackets.
func (x *lexer) long(level int, what string) string {
	x.at += level + 2
	if c := x.peek(0); x.at < len(x.source) && (c == '\n' || c == '\r') {
		x.newline()
	}
	var text strings.Builder
	end := "]" + strings.Repeat("=", level) + "]"
	for x.at < len(x.source) {
		switch c := x.source[x.at]; {
		case c == ']' && strings.HasPrefix(x.source[x.at:], end):
			x.at += len(end)
			return text.String()
		case c == '[' && level == 0 && x.peek(1) == '[':
			x.fail("nesting of [[...]] is deprecated", "[")
		case c == '\n' || c == '\r':
			x.newline()
			text.WriteByte('\n')
		default:
			text.WriteByte(c)
			x.at++
		}
	}
	x.fail("unfinished long "+what, "<eof>")
	return ""
}

// symbols are those of several bytes, longest first.
var symbols = []string{"...", "..", "==", "<=", ">=", "~="}

func (x *lexer) word(c byte) token {
	start, line := x.at, x.line
	switch {
	case ctext.IsAlpha(c) || c == '_':
		for isWord(x.peek(0)) {
			x.at++
		}
		text := x.source[start:x.at]
		if keywords[text] {
			return token{kind: tokenMark, text: text, line: line}
		}
		return token{kind: tokenName, text: text, line: line}
	case ctext.IsDigit(c) || c == '.' && ctext.IsDigit(x.peek(1)):
		return x.numeral()
	case c == '"' || c == '\'':
		value := x.quoted(c)
		return token{kind: tokenString, text: string(c) + value + string(c), value: value, line: x.line}
	case c == '[':
		if level := x.bracket(); level >= 0 {
			value := x.long(level, "string")
			return token{kind: tokenString, text: x.source[start:x.at], value: value, line: x.line}
		} else if x.peek(1) == '=' {
			for x.at++; x.peek(0) == '='; x.at++ {
			}
			x.fail("invalid long string delimiter", x.source[start:x.at])
		}
	}
	for _, s := range symbols {
		if strings.HasPrefix(x.source[start:], s) {
			x.at += len(s)
			return token{kind: tokenMark, text: s, line: line}
		}
	}
	x.at++
	text := string([]byte{c})
	if c < ' ' || c == 0x7f {
		text = fmt.Sprintf("char(%d)", c)
	}
	return token{kind: tokenMark, text: text, line: line}
}

func (x *lexer) numeral() token {
	start := x.at
	for ctext.IsDigit(x.peek(0)) || x.peek(0) == '.' {
		x.at++
	}
	if c := x.peek(0); c == 'e' || c == 'E' {
		x.at++
		if c := x.peek(0); c == '+' || c == '-' {
			x.at++
		}
	}
	for isWord(x.peek(0)) {
		x.at++
	}
	text := x.source[start:x.at]
	x.pay(3 * ctext.ReadPrice(text))
	number, ok := ctext.ReadNumber(text)
	if !ok {
		x.fail("malformed number", text)
	}
	return token{kind: tokenNumber, text: text, number: number, line: x.line}
}

var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// quoted reads a string in quotes.
func (x *lexer) quoted(quote byte) string {
	var text strings.Builder
	for x.at++; ; {
		if x.at >= len(x.source) {
			x.fail("unfinished string", "<eof>")
		}
		switch c := x.source[x.at]; c {
		case quote:
			x.at++
			return text.String()
		case '\n', '\r':
			x.fail("unfinished string", string(quote)+text.String())
		case '\\':
			x.at++
			x.escape(quote, &text)
		default:
			text.WriteByte(c)
			x.at++
		}
	}
}

func (x *lexer) escape(quote byte, text *strings.Builder) {
	if x.at >= len(x.source) {
		return // an unfinished string
	}
	c := x.source[x.at]
	switch plain, known := escapes[c]; {
	case known:
		text.WriteByte(plain)
		x.at++
	case c == '\n' || c == '\r':
		x.newline()
		text.WriteByte('\n')
	case ctext.IsDigit(c):
		end := x.at
		for end < len(x.source) && end < x.at+3 && ctext.IsDigit(x.source[end]) {
			end++
		}
		code, _ := strconv.Atoi(x.source[x.at:end])
		x.at = end
		if code > 255 {
			x.fail("escape sequence too large", string(quote)+text.String())
		}
		text.WriteByte(byte(code))
	default:
		text.WriteByte(c)
		x.at++
	}
}

func isWord(c byte) bool { return ctext.IsAlpha(c) || ctext.IsDigit(c) || c == '_' }
