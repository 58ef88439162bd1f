package resp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine/digits"
)

// Writer appends replies to Buf, in the protocol version the client chose.
type Writer struct {
	Buf   []byte
	RESP3 bool
	Shape Shape // of the reply to be converted next, see FromRESP2
	Words int   // written so far
}

// Int writes an integer.
func (w *Writer) Int(n int64) { w.Ints(n) }

// Integers writes an array of integers. Most answers of limiters are one.
func (w *Writer) Integers(values ...int64) {
	w.Array(len(values))
	w.Ints(values...)
}

// Ints writes integers one after the other. It is fast for -1 to 99,999,999.
func (w *Writer) Ints(values ...int64) {
	w.Words += len(values)
	b := slices.Grow(w.Buf, maxIntBytes*len(values))
	at := len(b)
	b = b[:cap(b)]
	for _, n := range values {
		to := b[at : at+maxIntBytes] // one check of the bounds
		switch {
		case n >= 0 && n <= 9:
			to[0], to[1], to[2], to[3] = ':', '0'+byte(n), '\r', '\n'
			at += 4
		case n >= 10 && n <= 99:
			to[0], to[1], to[2], to[3], to[4] = ':', '0'+byte(n/10), '0'+byte(n%10), '\r', '\n'
			at += 5
		case n >= 100 && n < 1e8:
			to[0] = ':'
			text, length := digits.Short(uint64(n))
			binary.LittleEndian.PutUint64(to[1:], text)
			to[length+1], to[length+2] = '\r', '\n'
			at += length + 3
		case n == -1:
			at += copy(to, ":-1\r\n")
		default:
			at += len(append(digits.Append(append(to[:0], ':'), n), "\r\n"...))
		}
	}
	w.Buf = b[:at]
}

// maxIntBytes is the room that an integer takes at most.
const maxIntBytes = len(":-9223372036854775808\r\n")

// Double writes a number that is not whole: a double in RESP3, a bulk string in RESP2.
func (w *Writer) Double(f float64) {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !w.RESP3 {
		w.BulkString(text)
		return
	}
	w.Buf = append(append(append(w.Buf, ','), text...), '\r', '\n')
}

// Bool writes 1 or 0: the replies of Redis commands are integers in both protocols.
func (w *Writer) Bool(b bool) {
	if b {
		w.Int(1)
	} else {
		w.Int(0)
	}
}

// Array opens an array of n elements.
func (w *Writer) Array(n int) { w.Buf = redcon.AppendArray(w.Buf, n) }

// Map opens a map of n pairs: an array of 2n elements in RESP2.
func (w *Writer) Map(n int) {
	if !w.RESP3 {
		w.Array(2 * n)
		return
	}
	w.prefix('%', n)
}

// Set opens a set of n elements: an array in RESP2.
func (w *Writer) Set(n int) {
	if !w.RESP3 {
		w.Array(n)
		return
	}
	w.prefix('~', n)
}

// Push opens n elements that answer no command: an array in RESP2.
func (w *Writer) Push(n int) {
	if !w.RESP3 {
		w.Array(n)
		return
	}
	w.prefix('>', n)
}

func (w *Writer) prefix(kind byte, n int) {
	w.Buf = append(strconv.AppendInt(append(w.Buf, kind), int64(n), 10), '\r', '\n')
}

// Bulk writes a binary-safe string.
func (w *Writer) Bulk(b []byte) {
	w.Words++
	w.Buf = redcon.AppendBulk(w.Buf, b)
}

// BulkString is Bulk for a string.
func (w *Writer) BulkString(s string) {
	w.Words++
	w.Buf = redcon.AppendBulkString(w.Buf, s)
}

// Status writes a simple string, such as OK.
func (w *Writer) Status(s string) { w.Buf = redcon.AppendString(w.Buf, s) }

// Null writes the absence of a value.
func (w *Writer) Null() {
	w.Words++
	if w.RESP3 {
		w.Buf = append(w.Buf, "_\r\n"...)
		return
	}
	w.Buf = redcon.AppendNull(w.Buf)
}

// NullArray writes the absence of an array.
func (w *Writer) NullArray() {
	if w.RESP3 {
		w.Null()
		return
	}
	w.Buf = append(w.Buf, "*-1\r\n"...)
}

// Verbatim writes text for people to read: a verbatim string in RESP3, a bulk string in RESP2.
func (w *Writer) Verbatim(text string) {
	if !w.RESP3 {
		w.BulkString(text)
		return
	}
	w.prefix('=', len(text)+4)
	w.Buf = append(append(append(w.Buf, "txt:"...), text...), '\r', '\n')
}

// Error writes an error. The text starts with its code, such as ERR. It may repeat bytes of the caller: line ends
// become spaces, and bytes that are not printable or not UTF-8 become escapes such as \x1b, since texts of errors end
// up in logs and terminals.
func (w *Writer) Error(text string) {
	w.Buf = append(appendPrintable(append(w.Buf, '-'), text), '\r', '\n')
}

func appendPrintable(b []byte, text string) []byte {
	for at := 0; at < len(text); {
		c, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case c == '\r' || c == '\n':
			b = append(b, ' ')
		case c == utf8.RuneError && size == 1, c < utf8.RuneSelf && !strconv.IsPrint(c):
			b = fmt.Appendf(b, `\x%02x`, text[at])
		case !strconv.IsPrint(c):
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, text[at:at+size]...)
		}
		at += size
	}
	return b
}
