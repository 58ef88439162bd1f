package datatype

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Stream is a stream: a sequence that alternates names and values, in the order of the names. The first name is empty,
// and its value is the [StreamHead]. Every other name is the id of an entry, and its value is the entry's fields. A
// stream without entries still has a head.
type Stream []byte

// StreamID is the id of an entry: a time in Unix milliseconds, and a number that tells the entries of a millisecond
// apart. As bytes, both numbers are big-endian, so that the order of the bytes is the order of the ids.
type StreamID struct{ Ms, Seq uint64 }

// MaxStreamID is the largest id.
var MaxStreamID = StreamID{math.MaxUint64, math.MaxUint64}

// StreamIDBytes is the size of an id.
const StreamIDBytes = 16

// ReadStreamID reads an id.
func ReadStreamID(b []byte) StreamID {
	return StreamID{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// Append appends the bytes of an id.
func (id StreamID) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, id.Ms), id.Seq)
}

// Less reports whether the id comes before another one.
func (id StreamID) Less(other StreamID) bool {
	return id.Ms < other.Ms || id.Ms == other.Ms && id.Seq < other.Seq
}

// Next returns the id that follows; that of the largest one is the smallest.
func (id StreamID) Next() StreamID {
	if id.Seq++; id.Seq == 0 {
		id.Ms++
	}
	return id
}

// Previous returns the id that precedes; that of the smallest one is the largest.
func (id StreamID) Previous() StreamID {
	if id.Seq == 0 {
		id.Ms--
	}
	id.Seq--
	return id
}

// StreamHead is what a stream knows beside its entries.
type StreamHead struct {
	Last       StreamID // of the last entry that was added, also if it has been removed
	MaxDeleted StreamID // the largest id that XDEL has removed
	Added      uint64   // the number of entries that were ever added
}

// streamHeadBytes is the size of a head: the two ids and the number.
const streamHeadBytes = 2*StreamIDBytes + 8

// ReadStreamHead reads a head.
func ReadStreamHead(b []byte) StreamHead {
	return StreamHead{ReadStreamID(b), ReadStreamID(b[StreamIDBytes:]), binary.BigEndian.Uint64(b[2*StreamIDBytes:])}
}

// Append appends the bytes of a head.
func (h StreamHead) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(h.MaxDeleted.Append(h.Last.Append(b)), h.Added)
}

// NewStream returns a stream without entries.
func NewStream() Stream {
	return Stream(sequence(nil).splice(0, 0, [][]byte{{}, StreamHead{}.Append(nil)}))
}

// ValidStream reports whether data is a stream.
func ValidStream(data []byte) bool {
	s := sequence(data)
	if !s.valid() || s.count() == 0 || s.count()%2 != 0 || !ValidStreamPart(s.at(0), s.at(1)) || len(s.at(0)) > 0 {
		return false
	}
	for i := 2; i < s.count(); i += 2 {
		if len(s.at(i)) == 0 || !ValidStreamPart(s.at(i), s.at(i+1)) || bytes.Compare(s.at(i-2), s.at(i)) >= 0 {
			return false
		}
	}
	return true
}

// ValidStreamPart reports whether a name and its value are an entry of a stream, or its head.
func ValidStreamPart(name, value []byte) bool {
	if len(name) == 0 {
		return len(value) == streamHeadBytes
	}
	return len(name) == StreamIDBytes && validFields(value)
}

// Len is the number of entries.
func (s Stream) Len() int { return sequence(s).count()/2 - 1 }

// Head returns the stream's head.
func (s Stream) Head() StreamHead { return ReadStreamHead(sequence(s).at(1)) }

// At returns entry i: its id and its fields. They are valid until the stream changes.
func (s Stream) At(i int) (id, fields []byte) {
	return sequence(s).at(2 * (i + 1)), sequence(s).at(2*(i+1) + 1)
}

// Place returns the number of entries before an id, and whether the id is there.
func (s Stream) Place(id []byte) (place int, found bool) {
	from, to := 0, s.Len()
	for from < to {
		middle := (from + to) / 2
		at, _ := s.At(middle)
		switch order := bytes.Compare(at, id); {
		case order == 0:
			return middle, true
		case order < 0:
			from = middle + 1
		default:
			to = middle
		}
	}
	return from, false
}

// Add adds an entry at the end. It changes s.
func (s Stream) Add(id, fields []byte) Stream {
	n := sequence(s).count()
	return Stream(sequence(s).splice(n, n, [][]byte{id, fields}))
}

// Remove removes the entries from from to to-1. It changes s.
func (s Stream) Remove(from, to int) Stream {
	return Stream(sequence(s).splice(2*(from+1), 2*(to+1), nil))
}

// SetHead replaces the stream's head in place.
func (s Stream) SetHead(h StreamHead) { h.Append(sequence(s).at(1)[:0]) }

// The fields of an entry are names and values in turns, each with its length before it as a varint.

// AppendFields appends the bytes of fields: names and values in turns.
func AppendFields(b []byte, fields [][]byte) []byte {
	for _, f := range fields {
		b = append(binary.AppendUvarint(b, uint64(len(f))), f...)
	}
	return b
}

// NextField returns the first name or value of fields, and those that follow.
func NextField(fields []byte) (first, rest []byte) {
	n, size := binary.Uvarint(fields)
	return fields[size : size+int(n)], fields[size+int(n):]
}

// CountFields is the number of names and values.
func CountFields(fields []byte) (n int) {
	for len(fields) > 0 {
		_, fields = NextField(fields)
		n++
	}
	return n
}

func validFields(b []byte) bool {
	words := 0
	for ; len(b) > 0; words++ {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return false
		}
		b = b[size+int(n):]
	}
	return words > 0 && words%2 == 0
}
