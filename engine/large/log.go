package large

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
)

// A log is changes of a value, one after the other: the change, a varint, and what the change needs.
const (
	opInsert      = 1 + iota // place, bytes
	opSet                    // place, bytes
	opPut                    // length of the name; the name; bytes of the field's value or the score
	opDelete                 // length of the name; the name
	opDeleteRange            // place, and as bytes a varint, the end
)

// log notes a change, and counts it. All parts but the number together are preceded by their length.
func (v *Value) log(op byte, number uint64, parts ...[]byte) {
	v.Version++
	if !v.Logs {
		return
	}
	v.Log = binary.AppendUvarint(append(v.Log, op), number)
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	v.Log = binary.AppendUvarint(v.Log, uint64(size))
	for _, p := range parts {
		v.Log = append(v.Log, p...)
	}
}

// ValidLog reports whether bytes are a log of changes.
func ValidLog(log []byte) bool {
	r := engine.PartReader{Rest: log}
	for len(r.Rest) > 0 && !r.Bad {
		r.Byte()
		r.Uvarint()
		r.Text()
	}
	return !r.Bad
}

// Redo carries out the changes of a valid log that begins after a version, but for those that the value has already. It
// reports false, and has changed the value in part, if they are not changes of this value.
func (v *Value) Redo(after uint64, log []byte) (ok bool) {
	r := engine.PartReader{Rest: log}
	if after > v.Version {
		return false
	}
	for ; len(r.Rest) > 0; after++ {
		op, number := r.Byte(), r.Uvarint()
		part := r.Text()
		if after >= v.Version && !v.redo(op, number, part) {
			return false
		}
	}
	return true
}

func (v *Value) redo(op byte, number uint64, part []byte) (ok bool) {
	if op == opPut || op == opDelete {
		if v.Kind == engine.ListKind || number > uint64(len(part)) {
			return false
		}
		return v.redoNamed(op, part[:number:number], part[number:])
	}
	place, n := int(number), uint64(v.Len())
	switch {
	case op == opInsert && v.Kind == engine.ListKind && number <= n:
		v.Insert(place, part)
	case op == opSet && v.Kind == engine.ListKind && number < n:
		v.SetAt(place, part)
	case op == opDeleteRange:
		to, size := binary.Uvarint(part)
		if size <= 0 || number > to || to > n || number == 0 && v.Kind == engine.StreamKind {
			return false
		}
		v.DeleteRange(place, int(to))
	default:
		return false
	}
	return true
}

func (v *Value) redoNamed(op byte, name, rest []byte) (ok bool) {
	switch {
	case v.Kind == engine.StreamKind && (op == opDelete && len(name) == 0 || op == opPut && !datatype.ValidStreamPart(name, rest)):
		return false
	case op == opDelete:
		return v.Delete(name)
	case v.Kind != engine.SortedSetKind:
		v.Put(name, rest)
	case len(rest) != scoreBytes || scoreOf(rest) != scoreOf(rest): // not a number
		return false
	default:
		v.SetScore(name, scoreOf(rest))
	}
	return true
}
