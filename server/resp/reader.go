// Package resp is the server's part of the Redis serialization protocol: a reader of commands that checks all bounds
// before it allocates memory, and a writer of replies in RESP2 and RESP3.
package resp

import (
	"bytes"
	"errors"
	"unsafe"
)

// Limits bounds one command. All are counts of bytes except MaxArgs.
type Limits struct {
	MaxArgs   int // arguments of one command, its name included
	MaxBulk   int // one argument
	MaxInline int // a command in the inline form
}

// tlsHandshake is the first byte of a connection by TLS.
const tlsHandshake = 0x16

// maxHeader is the longest line that can hold a count or a length, its CRLF excluded.
const maxHeader = 32

// Reader takes commands off the front of a buffer. The zero value with Limits set is ready; it keeps scratch space, so
// the arguments it returns are valid until the next call.
type Reader struct {
	Limits Limits
	args   [][]byte
	need   int // the least length of the incomplete command at the front of the buffer
}

// Next reads the command at the front of b. It returns its arguments, as slices of b, and its length in bytes. A length
// of 0 without an error asks for more bytes; no arguments with a length above 0 is an empty command, to be skipped.
func (r *Reader) Next(b []byte) (args [][]byte, length int, err error) {
	if len(b) == 0 || len(b) < r.need {
		return nil, 0, nil
	}
	if b[0] == '*' {
		args, length, err = r.multibulk(b)
	} else if b[0] == tlsHandshake {
		return nil, 0, ErrTLS
	} else {
		args, length, err = r.inline(b)
	}
	if length > 0 {
		r.need = 0
	}
	return args, length, err
}

// Bytes is the memory of the scratch space.
func (r *Reader) Bytes() int { return cap(r.args) * int(unsafe.Sizeof(r.args)) }

// Forget releases the buffers of the last arguments, and scratch space for more than a few of them. The state of an
// incomplete command is kept.
func (r *Reader) Forget() {
	if clear(r.args[:cap(r.args)]); cap(r.args) > keepArgs {
		r.args = nil
	}
}

// Reset makes the reader like a new one, but for scratch space that no argument is left in.
func (r *Reader) Reset() {
	r.Forget()
	*r = Reader{args: r.args[:0]}
}

// keepArgs is the number of arguments with scratch space between large commands.
const keepArgs = 128

func (r *Reader) multibulk(b []byte) ([][]byte, int, error) {
	count, at, err := header(b, 1)
	switch {
	case err == errHeaderTooLong: //nolint:errorlint // header returns it unwrapped, and this runs for every argument
		return nil, 0, errCountTooLong
	case err != nil || count > int64(r.Limits.MaxArgs):
		return nil, 0, errMultibulkLength
	case at == 0:
		return nil, 0, nil
	case count <= 0:
		return nil, at, nil
	}
	args := r.args[:0]
	for range count {
		if at >= len(b) {
			return r.incomplete(at + 1)
		}
		if b[at] != '$' {
			return nil, 0, errNotBulk.With(printable(b[at]))
		}
		size, start := shortHeader(b, at+1)
		if start == 0 {
			size, start, err = header(b, at+1)
		}
		switch {
		case err == errHeaderTooLong: //nolint:errorlint // header returns it unwrapped, and this runs for every argument
			return nil, 0, errLengthTooLong
		case err != nil || size < 0 || size > int64(r.Limits.MaxBulk):
			return nil, 0, errBulkLength
		case start == 0:
			return r.incomplete(len(b) + 1)
		}
		end := start + int(size)
		if end+2 > len(b) {
			return r.incomplete(end + 2)
		}
		if b[end] != '\r' || b[end+1] != '\n' {
			return nil, 0, errLineEnd
		}
		args = append(args, b[start:end:end])
		at = end + 2
	}
	r.args = args
	return args, at, nil
}

func (r *Reader) incomplete(need int) ([][]byte, int, error) {
	r.need = need
	return nil, 0, nil
}

var (
	errHeaderTooLong = errors.New("header too long")
	errHeader        = errors.New("not a number")
)

// shortHeader is header for a decimal of one or two digits, as most are; next is 0 if it is not one.
func shortHeader(b []byte, at int) (value int64, next int) {
	if at+4 > len(b) {
		return 0, 0
	}
	line := b[at : at+4]
	tens, ones := line[0]-'0', line[1]-'0'
	switch {
	case tens > 9:
	case line[1] == '\r' && line[2] == '\n':
		return int64(tens), at + 3
	case ones <= 9 && line[2] == '\r' && line[3] == '\n':
		return int64(tens)*10 + int64(ones), at + 4
	}
	return 0, 0
}

// header reads the decimal and CRLF at b[at:]. next is 0 when the line is not whole yet.
func header(b []byte, at int) (value int64, next int, err error) {
	start := at
	negative := at < len(b) && b[at] == '-'
	if negative {
		at++
	}
	first := at
	for ; at < len(b) && b[at] != '\r'; at++ {
		c := b[at] - '0'
		if at-start >= maxHeader {
			return 0, 0, errHeaderTooLong
		}
		if c > 9 || value > 1<<53 {
			return 0, 0, errHeader
		}
		value = value*10 + int64(c)
	}
	if at+1 >= len(b) {
		return 0, 0, nil
	}
	if at == first || b[at+1] != '\n' {
		return 0, 0, errHeader
	}
	if negative {
		value = -value
	}
	return value, at + 2, nil
}

func printable(c byte) byte {
	if c < ' ' || c > '~' {
		return '?'
	}
	return c
}

func (r *Reader) inline(b []byte) ([][]byte, int, error) {
	line := b
	end := bytes.IndexByte(b, '\n')
	if end >= 0 {
		line = b[:end]
	}
	if len(line) > r.Limits.MaxInline {
		return nil, 0, errInlineTooBig
	}
	if end < 0 {
		return r.incomplete(len(b) + 1)
	}
	args, err := splitInline(r.args[:0], bytes.TrimSuffix(line, []byte{'\r'}))
	if err == nil && len(args) > r.Limits.MaxArgs {
		err = errMultibulkLength
	}
	if err != nil {
		return nil, 0, err
	}
	r.args = args
	return args, end + 1, nil
}
