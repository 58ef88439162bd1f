package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The bounds of JSON. A name is compared with those before it.
const (
	maxDepth = 4
	maxNames = 64
)

// usualItems is the number of fields that most requests have at most.
const usualItems = 4

// parser reads JSON. It is stricter than encoding/json, which takes an object with a name twice, and knows the length
// of all.
type parser struct {
	text string
	at   int
}

// decode reads one JSON value, in UTF-8.
func decode(body []byte) (v value, bad *badRequest) {
	p := parser{text: string(body)}
	err := p.value(&v, 0)
	if p.space(); err == nil && p.at < len(p.text) {
		err = errors.New("something follows the value")
	}
	if err != nil {
		return value{}, badJSON(err.Error())
	}
	return v, nil
}

// space skips white space.
func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next returns the first byte after white space, 0 at the end.
func (p *parser) next() byte {
	if p.space(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) unexpected() error {
	if p.at >= len(p.text) {
		return errors.New("it ends too early")
	}
	return fmt.Errorf("invalid character %q at byte %d", p.text[p.at], p.at+1)
}

func (p *parser) value(v *value, depth int) (err error) {
	switch c := p.next(); {
	case c == '"':
		v.kind = scalar
		v.text, err = p.string()
		return err
	case c == '[' || c == '{':
		if depth == maxDepth {
			return fmt.Errorf("it is nested more than %d deep", maxDepth)
		}
		if v.kind = array; c == '{' {
			v.kind = object
		}
		return p.items(v, depth+1)
	}
	return p.word(v)
}

// items reads the elements of an array, or the fields of an object.
func (p *parser) items(v *value, depth int) error {
	p.at++
	end := byte(']')
	if v.kind == object {
		end = '}'
	}
	if p.next() == end {
		p.at++
		return nil
	}
	v.items = make([]value, 0, usualItems)
	for {
		name := ""
		if v.kind == object {
			var err error
			if name, err = p.name(v); err != nil {
				return err
			}
		}
		v.items = append(v.items, value{name: name})
		if err := p.value(&v.items[len(v.items)-1], depth); err != nil {
			return err
		}
		switch p.next() {
		case ',':
			p.at++
		case end:
			p.at++
			return nil
		default:
			return p.unexpected()
		}
	}
}

// name reads the name of the next field of v, and the colon.
func (p *parser) name(v *value) (name string, err error) {
	if p.next() != '"' {
		return "", p.unexpected()
	}
	name, err = p.string()
	switch {
	case err != nil:
		return "", err
	case v.has(name):
		return "", fmt.Errorf("%q is there twice", clip(name))
	case len(v.items) == maxNames:
		return "", fmt.Errorf("an object may have at most %d fields", maxNames)
	case p.next() != ':':
		return "", p.unexpected()
	}
	p.at++
	return name, nil
}

// string reads a string. One without escapes is a part of the text.
func (p *parser) string() (text string, err error) {
	begin, escaped := p.at, false
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if escaped {
				return unescape(p.text[begin:p.at])
			}
			return p.text[begin+1 : p.at-1], nil
		case c == '\\':
			escaped = true
			p.at++
		case c < ' ':
			return "", p.unexpected()
		}
	}
	return "", p.unexpected()
}

func unescape(quoted string) (text string, err error) {
	if err = json.Unmarshal([]byte(quoted), &text); err == nil && strings.ContainsRune(text, utf8.RuneError) && hasLoneSurrogate(quoted) {
		err = errSurrogate
	}
	return text, err
}

var errSurrogate = errors.New("half of a surrogate pair is not a character; send UTF-8")

// hasLoneSurrogate reports whether the escapes of a string have half of a surrogate pair, in place of which
// encoding/json reads the same character for each.
func hasLoneSurrogate(quoted string) bool {
	for i := 0; i+1 < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		if i++; quoted[i] != 'u' {
			continue
		}
		r := escapedRune(quoted[i+1:])
		if i += 4; !utf16.IsSurrogate(r) {
			continue
		}
		if rest, is := strings.CutPrefix(quoted[i+1:], `\u`); !is || utf16.DecodeRune(r, escapedRune(rest)) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

// escapedRune reads four hexadecimal digits.
func escapedRune(digits string) rune {
	n, _ := strconv.ParseUint(digits[:min(4, len(digits))], 16, 16)
	return rune(n)
}

// word reads a number, a truth value or null.
func (p *parser) word(v *value) error {
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n,:[]{}\"", p.text[p.at]) < 0 {
		p.at++
	}
	text := p.text[begin:p.at]
	if !isInteger(text) && !json.Valid([]byte(text)) {
		p.at = begin
		return p.unexpected()
	}
	if text != "null" {
		v.kind, v.text = scalar, text
	}
	return nil
}

// isInteger reports whether a word is a number of digits only, which most numbers are.
func isInteger(word string) bool {
	return word != "" && (word[0] != '0' || len(word) == 1) && strings.Trim(word, "0123456789") == ""
}
