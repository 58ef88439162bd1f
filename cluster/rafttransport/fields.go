package rafttransport

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// fields writes the fields of messages into a frame, or reads them from one: messageFields lists the fields of each
// message once, for both. Numbers have eight bytes, little-endian; strings of bytes have a length of four bytes before
// them. Writing changes nothing in a message, because several goroutines may send the same message.
type fields struct {
	writes bool
	b      []byte // the frame so far when writing, the rest of it when reading
	err    error  // the first error of reading; all later fields read as zero
}

var errShort = errors.New("it ends within a field")

// take returns the next n bytes, or nil.
func (f *fields) take(n uint64) []byte {
	if f.err != nil || n > uint64(len(f.b)) {
		f.err = errors.Join(f.err, errShort)
		f.b = nil
		return nil
	}
	taken := f.b[:n:n]
	f.b = f.b[n:]
	return taken
}

func (f *fields) byte(v *byte) {
	if f.writes {
		f.b = append(f.b, *v)
	} else if b := f.take(1); b != nil {
		*v = b[0]
	}
}

// byteAs is byte for other types of small numbers.
func byteAs[T ~int | ~uint8](f *fields, v *T) {
	b := byte(*v)
	f.byte(&b)
	if !f.writes {
		*v = T(b)
	}
}

func (f *fields) bool(v *bool) {
	b := byte(0)
	if *v {
		b = 1
	}
	f.byte(&b)
	if f.writes {
		return
	}
	if *v = b == 1; b > 1 && f.err == nil {
		f.err = errors.New("a truth value is neither 0 nor 1")
	}
}

func (f *fields) uint32(v *uint32) {
	if f.writes {
		f.b = binary.LittleEndian.AppendUint32(f.b, *v)
	} else if b := f.take(4); b != nil {
		*v = binary.LittleEndian.Uint32(b)
	}
}

func (f *fields) uint64(v *uint64) {
	if f.writes {
		f.b = binary.LittleEndian.AppendUint64(f.b, *v)
	} else if b := f.take(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

func (f *fields) int64(v *int64) {
	u := uint64(*v)
	f.uint64(&u)
	if !f.writes {
		*v = int64(u)
	}
}

// bytes reads a string of bytes, which stays in the memory of the frame. An empty string is read as nil.
func (f *fields) bytes(v *[]byte) {
	n := uint32(len(*v))
	f.uint32(&n)
	if f.writes {
		f.b = append(f.b, *v...)
	} else if *v = f.take(uint64(n)); n == 0 {
		*v = nil
	}
}

func (f *fields) string(v *string) {
	b := []byte(*v)
	f.bytes(&b)
	if !f.writes {
		*v = string(b)
	}
}

// noTime stands for a time that is not set.
const noTime = math.MinInt64

// time writes or reads a time in nanoseconds.
func (f *fields) time(v *time.Time) {
	at := int64(noTime)
	if !v.IsZero() {
		at = v.UnixNano()
	}
	f.int64(&at)
	if f.writes {
		return
	}
	if *v = (time.Time{}); at != noTime && f.err == nil {
		*v = time.Unix(0, at)
	}
}

// end returns the error of reading. It is an error if a frame has more than its fields.
func (f *fields) end() error {
	if f.err == nil && len(f.b) > 0 {
		return errors.New("it goes on behind its fields")
	}
	return f.err
}
