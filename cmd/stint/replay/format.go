package replay

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// parser reads lines of one format. It allocates nothing for a line.
type parser interface {
	// parse returns the time of a line and sets the values of the fields that the parser was made for. They are valid
	// until the next line is read.
	parse(line []byte, values [][]byte) (now int64, err error)
}

// Reasons for which a line is not read.
var (
	errShape   = errors.New("the line does not match the format")
	errNoField = errors.New("a field of the key, or the time, is missing")
)

// formats are the formats of logs. The guess of the first that recognises a line counts.
var formats = []struct {
	name   string
	is     func(line []byte) bool
	fields []string // that a key may name; nil if lines name them
	open   func(fields []string, timeField string, c *clock) parser
}{
	{"json", func(line []byte) bool { return line[0] == '{' }, nil, newJSONLines},
	{"combined", func(line []byte) bool {
		return bytes.Contains(line, []byte(" [")) && bytes.Contains(line, []byte(`] "`))
	}, combinedFields, newCombined},
}

// FormatNames lists the names of the formats of logs.
func FormatNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// newParser makes a parser for the fields. An empty format is guessed from the first line.
func newParser(format string, first []byte, fields []string, timeField string, c *clock) (parser, string, error) {
	for _, f := range formats {
		if f.name != format && (format != "" || len(first) == 0 || !f.is(first)) {
			continue
		}
		for _, field := range fields {
			if f.fields != nil && !slices.Contains(f.fields, field) {
				return nil, "", fmt.Errorf("lines in the format %s have no field '%s'; choose one of %s", f.name, field, strings.Join(f.fields, " "))
			}
		}
		return f.open(fields, timeField, c), f.name, nil
	}
	return nil, "", fmt.Errorf("the format cannot be guessed from the first line, '%s'; name it with --format %s", shorten(first), strings.Join(FormatNames(), "|"))
}

// shorten returns the beginning of a line.
func shorten(line []byte) string {
	const most = 120
	if len(line) > most {
		return printable(string(line[:most])) + "…"
	}
	return printable(string(line))
}

// request returns a field of a request such as GET /path?query HTTP/1.1.
func request(text []byte, field string) []byte {
	method, rest, _ := bytes.Cut(text, []byte(" "))
	if field == "method" {
		return method
	}
	uri := rest
	at := bytes.LastIndexByte(rest, ' ')
	if at >= 0 {
		uri = rest[:at]
	}
	switch field {
	case "protocol":
		if at < 0 {
			return nil
		}
		return rest[at+1:]
	case "path":
		uri, _, _ = bytes.Cut(uri, []byte("?"))
	}
	return uri
}

// quoted returns the text between the quote that text begins with and the next, and the text after it. A backslash
// protects the byte after it.
func quoted(text []byte) (inside, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, false
	}
	from := 1
	for {
		at := bytes.IndexByte(text[from:], '"')
		if at < 0 {
			return nil, nil, false
		}
		at += from
		slashes := 0
		for text[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return text[1:at], text[at+1:], true
		}
		from = at + 1
	}
}
