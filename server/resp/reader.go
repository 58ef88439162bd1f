// Package resp is the server's part of the Redis serialization protocol: a reader of commands that checks all bounds
// before it allocates memory, and a writer of replies in RESP2 and RESP3.
package resp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"
)

// Limits bounds one command. All are counts of bytes except MaxArgs. MaxUnfinished is no bound if it is 0.
type Limits struct {
	MaxArgs       int // arguments of one command, its name included
	MaxBulk       int // one argument
	MaxInline     int // a command in the inline form
	MaxUnfinished int // a command whose end has not arrived
	// MaxSkip bounds what is skipped of a command beyond another bound, so that the next command can be read; with 0,
	// nothing is skipped.
	MaxSkip     int
	BeforeLogin bool // the connection has not logged in: errors name the settings of the bounds before a login
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

	// Of the incomplete command at the front of the buffer:
	need int   // its least length
	at   int   // where the first argument that is not whole begins; 0 if that is not known
	left int64 // the number of arguments from that argument on

	skip skip
}

// Next reads the command at the front of b. It returns its arguments, as slices of b, and its length in bytes. A length
// of 0 without an error asks for more bytes. A length above 0 without arguments is the length of bytes to pass over: an
// empty command, or a part of a command that is skipped. An error with a length above 0 is the answer to a skipped
// command, and the next command may follow. After an error with a length of 0 nothing more can be read.
func (r *Reader) Next(b []byte) (args [][]byte, length int, err error) {
	switch {
	case r.IsSkipping():
		return r.skipMore(b, 0)
	case len(b) == 0 || len(b) < r.need && !r.isTooLong(b):
		return nil, 0, nil
	case b[0] == '*':
		args, length, err = r.multibulk(b)
	case b[0] == tlsHandshake:
		return nil, 0, ErrTLS
	default:
		args, length, err = r.inline(b)
	}
	if length > 0 {
		r.need, r.at, r.left = 0, 0, 0
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

// Reset makes the reader like a new one. It keeps scratch space, without any argument in it.
func (r *Reader) Reset() {
	r.Forget()
	*r = Reader{args: r.args[:0]}
}

// keepArgs is the number of arguments with scratch space between large commands.
const keepArgs = 128

func (r *Reader) multibulk(b []byte) ([][]byte, int, error) {
	if r.at > 0 { // the arguments before it were whole, and are not read again with each one that arrives
		if args, end, err := r.arguments(b, r.at, r.left); args == nil {
			return nil, end, err
		}
	}
	count, at := shortHeader(b, 1)
	var err error
	if at == 0 {
		count, at, err = header(b, 1)
	}
	switch {
	case err == errHeaderTooLong: //nolint:errorlint // header returns it unwrapped
		return nil, 0, errCountTooLong
	case err != nil:
		return nil, 0, errMultibulkLength
	case at == 0:
		return nil, 0, nil
	case count <= 0:
		return nil, at, nil
	case count > int64(r.Limits.MaxArgs):
		return r.skipFrom(b, at, tooManyArgs(count, r.Limits), count, 0)
	}
	return r.arguments(b, at, count)
}

// arguments reads arguments from b[at:] to the end of the command. The result is as in Next.
func (r *Reader) arguments(b []byte, at int, count int64) ([][]byte, int, error) {
	args := r.args[:0]
	for left := count; left > 0; left-- {
		var size int64
		var start int
		if at < len(b) && b[at] == '$' {
			size, start = shortHeader(b, at+1)
		}
		if start == 0 {
			var err error
			if size, start, err = bulkHeader(b, at); err != nil {
				return nil, 0, err
			}
		}
		switch {
		case size > int64(r.Limits.MaxBulk):
			return r.skipFrom(b, start, tooLongBulk(size, r.Limits), left, size)
		case start == 0:
			return r.incomplete(b, len(b)+1, at, left)
		}
		end := start + int(size)
		if end+2 > len(b) {
			return r.incomplete(b, end+2, at, left)
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

// incomplete asks for a command of at least need bytes. Its arguments before b[at:] are whole, and left is the number
// of arguments from there on.
func (r *Reader) incomplete(b []byte, need, at int, left int64) ([][]byte, int, error) {
	if r.need, r.at, r.left = need, at, left; r.isTooLong(b) {
		return r.skipFrom(b, at, tooLongUnfinished(r.Limits), left, 0)
	}
	return nil, 0, nil
}

func (r *Reader) isTooLong(unfinished []byte) bool {
	return r.Limits.MaxUnfinished > 0 && len(unfinished) > r.Limits.MaxUnfinished
}

var (
	errHeaderTooLong = errors.New("header too long")
	errHeader        = errors.New("not a number")
)

// shortHeader is header for a decimal of one or two digits, as most are. next is 0 for any other.
func shortHeader(b []byte, at int) (value int64, next int) {
	if at+4 > len(b) {
		return 0, 0
	}
	line := binary.LittleEndian.Uint32(b[at:])
	const lineEnd = '\r' | '\n'<<8
	tens, ones := byte(line)-'0', byte(line>>8)-'0'
	switch {
	case tens > 9:
	case uint16(line>>8) == lineEnd:
		return int64(tens), at + 3
	case ones <= 9 && uint16(line>>16) == lineEnd:
		return int64(tens)*10 + int64(ones), at + 4
	}
	return 0, 0
}

// bulkHeader reads the length of the argument at b[at:]. start is 0 when its line is not whole yet.
func bulkHeader(b []byte, at int) (size int64, start int, err error) {
	if at >= len(b) {
		return 0, 0, nil
	}
	if b[at] != '$' {
		return 0, 0, errNotBulk.With(printable(b[at]))
	}
	size, start, err = header(b, at+1)
	switch {
	case err == errHeaderTooLong: //nolint:errorlint // header returns it unwrapped
		return 0, 0, errLengthTooLong
	case err != nil || size < 0:
		return 0, 0, errBulkLength
	}
	return size, start, nil
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
		return r.skipLine(b, tooLongLine(r.Limits))
	}
	if end < 0 {
		if r.need = len(b) + 1; r.isTooLong(b) {
			return r.skipLine(b, tooLongUnfinished(r.Limits))
		}
		return nil, 0, nil
	}
	args, err := splitInline(r.args[:0], bytes.TrimSuffix(line, []byte{'\r'}))
	switch {
	case err != nil:
		return nil, 0, err
	case len(args) > r.Limits.MaxArgs:
		return r.skipLine(b, tooManyArgs(int64(len(args)), r.Limits))
	}
	r.args = args
	return args, end + 1, nil
}
