package replay

import (
	"bytes"
	"slices"
)

// csvLines reads comma-separated values, whose first line names the columns. A value in quotes may hold commas, and "" for a quote, but no
// end of a line.
type csvLines struct {
	clock     *clock
	fields    []string
	timeField string
	columns   []int // of the fields, -1 if there is no such column; nil until the header was read
	time      int
	count     int
	scratch   []byte
}

func newCSV(fields []string, timeField string, c *clock) parser {
	return &csvLines{clock: c, fields: fields, timeField: timeField}
}

func (p *csvLines) parse(line []byte, values [][]byte) (int64, error) {
	if p.columns == nil {
		return 0, p.header(line)
	}
	p.scratch = p.scratch[:0]
	clear(values)
	var stamp []byte
	for column := 0; ; column++ {
		value, rest, more, ok := p.next(line)
		if !ok {
			return 0, errShape
		}
		if column == p.time {
			stamp = value
		}
		for i, at := range p.columns {
			if at == column {
				values[i] = value
			}
		}
		if line = rest; !more {
			if column+1 != p.count {
				return 0, errShape
			}
			break
		}
	}
	if stamp == nil || slices.Contains(p.columns, -1) {
		return 0, errNoField
	}
	return p.clock.any(stamp)
}

// header reads the names of the columns.
func (p *csvLines) header(line []byte) error {
	var names []string
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	for more := true; more; {
		name, rest, another, ok := p.next(line)
		if !ok {
			return errShape
		}
		names, line, more = append(names, string(bytes.TrimSpace(name))), rest, another
	}
	p.columns, p.time, p.count = []int{}, -1, len(names)
	for _, f := range p.fields {
		p.columns = append(p.columns, slices.Index(names, f))
	}
	times := timeFields
	if p.timeField != "" {
		times = []string{p.timeField}
	}
	for _, f := range slices.Backward(times) {
		if at := slices.Index(names, f); at >= 0 {
			p.time = at
		}
	}
	return errNoRequest
}

// next cuts one value off a line.
func (p *csvLines) next(line []byte) (value, rest []byte, more, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		value, rest, more = bytes.Cut(line, []byte(","))
		return value, rest, more, true
	}
	start := len(p.scratch)
	line = line[1:]
	for {
		at := bytes.IndexByte(line, '"')
		if at < 0 {
			return nil, nil, false, false
		}
		p.scratch, line = append(p.scratch, line[:at]...), line[at+1:]
		switch {
		case len(line) == 0:
			return p.scratch[start:len(p.scratch):len(p.scratch)], nil, false, true
		case line[0] == ',':
			return p.scratch[start:len(p.scratch):len(p.scratch)], line[1:], true, true
		case line[0] != '"':
			return nil, nil, false, false
		}
		p.scratch, line = append(p.scratch, '"'), line[1:]
	}
}
