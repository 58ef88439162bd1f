package replay

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// timeFields are the names of the time, if none is given.
var timeFields = []string{"time", "timestamp", "@timestamp", "ts", "time_iso8601", "msec", "start_time", "date"}

// jsonLines reads a JSON object from each line. A name such as request.remote_ip finds a field of an object in it.
type jsonLines struct {
	clock   *clock
	fields  []string
	times   []string
	time    []byte
	timeAt  int // the position in times of the name that was found
	values  [][]byte
	scratch []byte
}

func newJSONLines(fields []string, timeField string, c *clock) parser {
	p := &jsonLines{clock: c, fields: fields, times: timeFields}
	if timeField != "" {
		p.times = []string{timeField}
	}
	return p
}

func (p *jsonLines) parse(line []byte, values [][]byte) (int64, error) {
	p.time, p.timeAt, p.values, p.scratch = nil, len(p.times), values, p.scratch[:0]
	clear(values)
	rest, ok := p.object(bytes.TrimSpace(line), "", 0)
	if !ok || len(rest) > 0 {
		return 0, errShape
	}
	for _, v := range values {
		if v == nil {
			return 0, errNoField
		}
	}
	if p.time == nil {
		return 0, errNoField
	}
	return p.clock.any(p.time)
}

// deepest bounds the objects within objects that are read.
const deepest = 32

// object reads an object, whose fields have names that begin with prefix, and returns the text after it.
func (p *jsonLines) object(text []byte, prefix string, depth int) (rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '{' || depth == deepest {
		return nil, false
	}
	text = blank(text[1:])
	if len(text) > 0 && text[0] == '}' {
		return blank(text[1:]), true
	}
	for {
		name, after, ok := quoted(text)
		if after = blank(after); !ok || len(after) == 0 || after[0] != ':' {
			return nil, false
		}
		if text, ok = p.value(blank(after[1:]), prefix, name, depth); !ok || len(text) == 0 {
			return nil, false
		}
		switch text[0] {
		case '}':
			return blank(text[1:]), true
		case ',':
			text = blank(text[1:])
		default:
			return nil, false
		}
	}
}

// value reads the value of a field and keeps it if it is wanted.
func (p *jsonLines) value(text []byte, prefix string, name []byte, depth int) (rest []byte, ok bool) {
	if len(text) == 0 {
		return nil, false
	}
	var found []byte
	switch text[0] {
	case '"':
		if found, rest, ok = quoted(text); !ok {
			return nil, false
		}
		if bytes.IndexByte(found, '\\') >= 0 {
			found = p.unescape(found)
		}
	case '{':
		if inner, is := p.leadsTo(prefix, name); is {
			return p.object(text, inner, depth+1)
		}
		rest, ok = skipNested(text)
		return blank(rest), ok
	case '[':
		rest, ok = skipNested(text)
		return blank(rest), ok
	default:
		end := bytes.IndexAny(text, ",} \t")
		if end <= 0 {
			return nil, false
		}
		if found, rest = text[:end], text[end:]; string(found) == "null" {
			return blank(rest), true
		}
	}
	for i, f := range p.fields {
		if isName(f, prefix, name) {
			p.values[i] = found
		}
	}
	for i, f := range p.times[:p.timeAt] {
		if isName(f, prefix, name) {
			p.time, p.timeAt = found, i
		}
	}
	return blank(rest), true
}

// isName reports whether a wanted field is the one with this prefix and name.
func isName(wanted, prefix string, name []byte) bool {
	return len(wanted) == len(prefix)+len(name) && strings.HasPrefix(wanted, prefix) && wanted[len(prefix):] == string(name)
}

// leadsTo returns the prefix of the names in an object, if some wanted field has it.
func (p *jsonLines) leadsTo(prefix string, name []byte) (inner string, is bool) {
	end := len(prefix) + len(name)
	for _, wanted := range [2][]string{p.fields, p.times} {
		for _, f := range wanted {
			if len(f) > end+1 && f[end] == '.' && isName(f[:end], prefix, name) {
				return f[:end+1], true
			}
		}
	}
	return "", false
}

// skipNested returns the text after an object or array.
func skipNested(text []byte) (rest []byte, ok bool) {
	depth := 0
	for len(text) > 0 {
		switch text[0] {
		case '"':
			if _, text, ok = quoted(text); !ok {
				return nil, false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if text = text[1:]; depth == 0 {
			return text, true
		}
	}
	return nil, false
}

func blank(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	return text
}

// unescape resolves backslashes. The result is in scratch, after earlier ones of the same line.
func (p *jsonLines) unescape(text []byte) []byte {
	start := len(p.scratch)
	for len(text) > 0 {
		c := text[0]
		if c != '\\' || len(text) == 1 {
			p.scratch, text = append(p.scratch, c), text[1:]
			continue
		}
		c, text = text[1], text[2:]
		switch at := strings.IndexByte("bfnrt", c); {
		case at >= 0:
			c = "\b\f\n\r\t"[at]
		case c == 'u' && len(text) >= 4:
			r, _ := hex(text[:4])
			p.scratch, text = utf8.AppendRune(p.scratch, r), text[4:]
			continue
		}
		p.scratch = append(p.scratch, c)
	}
	return p.scratch[start:len(p.scratch):len(p.scratch)]
}

// hex reads four digits; halves of a pair of surrogates become U+FFFD.
func hex(text []byte) (r rune, ok bool) {
	for _, c := range text {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 {
			return utf8.RuneError, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
