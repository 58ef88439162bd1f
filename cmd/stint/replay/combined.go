package replay

import (
	"bytes"
	"slices"
)

// combinedFields are the fields of a line in the combined format of nginx and Apache. The common format has those up to
// bytes.
var combinedFields = []string{"ip", "ident", "user", "method", "uri", "path", "protocol", "status", "bytes", "referer", "agent"}

type combined struct {
	clock  *clock
	fields []string
	inTail bool // some field follows the time
}

func newCombined(fields []string, _ string, c *clock) parser {
	p := &combined{clock: c, fields: fields}
	for _, f := range fields {
		p.inTail = p.inTail || slices.Index(combinedFields, f) >= slices.Index(combinedFields, "method")
	}
	return p
}

func (p *combined) parse(line []byte, values [][]byte) (int64, error) {
	ip, rest, ok := bytes.Cut(line, []byte(" "))
	open := bytes.IndexByte(rest, '[')
	if !ok || len(ip) == 0 || open < 2 {
		return 0, errShape
	}
	head, rest := rest[:open-1], rest[open+1:]
	end := len(commonLayout)
	if len(rest) <= end || rest[end] != ']' {
		return 0, errTime
	}
	now, err := p.clock.common(rest[:end])
	if err != nil {
		return 0, err
	}
	var tail combinedTail
	if p.inTail {
		if tail, ok = readTail(rest[end+1:]); !ok {
			return 0, errShape
		}
	}
	for i, f := range p.fields {
		switch f {
		case "ip":
			values[i] = ip
		case "ident":
			values[i], _, _ = bytes.Cut(head, []byte(" "))
		case "user":
			_, values[i], _ = bytes.Cut(head, []byte(" "))
		case "status":
			values[i] = tail.status
		case "bytes":
			values[i] = tail.bytes
		case "referer":
			values[i] = tail.referer
		case "agent":
			values[i] = tail.agent
		default:
			values[i] = request(tail.request, f)
		}
	}
	return now, nil
}

// combinedTail is the part of a line after the time.
type combinedTail struct{ request, status, bytes, referer, agent []byte }

func readTail(text []byte) (t combinedTail, ok bool) {
	if len(text) == 0 || text[0] != ' ' {
		return t, false
	}
	if t.request, text, ok = quoted(text[1:]); !ok || len(text) == 0 {
		return t, false
	}
	t.status, text, _ = bytes.Cut(text[1:], []byte(" "))
	t.bytes, text, _ = bytes.Cut(text, []byte(" "))
	if len(text) == 0 {
		return t, true // the common format
	}
	if t.referer, text, ok = quoted(text); !ok || len(text) == 0 {
		return t, ok
	}
	t.agent, _, ok = quoted(text[1:])
	return t, ok
}
