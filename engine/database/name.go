package database

// mark begins the names of keys outside of database 0, and of those in it that begin so themselves: after it come the
// number of the database, a byte, and the key. No text in UTF-8 begins so.
const mark = "\xffdb"

const firstByte = 0xff // of it

const (
	// Most is the largest number of databases.
	Most = 256
	// MaxNameBytes is the most bytes that a name has more than its key.
	MaxNameBytes = len(mark) + 1
)

// Append appends the name of a key: in database 0 nearly always the key itself. Different keys, also of different
// databases, have different names.
func Append(b []byte, number uint8, key []byte) []byte {
	if number == 0 && !IsMarked(key) {
		return append(b, key...)
	}
	return append(append(append(b, mark...), number), key...)
}

// Room has room for one name.
type Room struct{ name []byte }

// NameOf is the name of a key: the key itself, or a text that is valid until the next call.
func (r *Room) NameOf(number uint8, key []byte) []byte {
	if number == 0 && (len(key) == 0 || key[0] != firstByte) {
		return key
	}
	return r.write(number, key)
}

//go:noinline // so that NameOf is inlined
func (r *Room) write(number uint8, key []byte) []byte {
	r.name = Append(r.name[:0], number, key)
	return r.name
}

// MayBeMarked reports whether a key that begins so can begin as names do.
func MayBeMarked(beginning []byte) bool { return len(beginning) > 0 && beginning[0] == firstByte }

// EscapeFrom makes the bytes of b from a position on, a key of database 0, its name.
func EscapeFrom(b []byte, at int) []byte {
	if !IsMarked(b[at:]) {
		return b
	}
	return append(b[:at], Append(nil, 0, b[at:])...)
}

// IsMarked reports whether a key begins as names do.
func IsMarked(key []byte) bool {
	return len(key) >= len(mark) && key[0] == firstByte && string(key[:len(mark)]) == mark
}

// Split is the database and the key of a name. Every text is a name; one that [Append] does not make is that of a key
// in database 0.
func Split(name []byte) (number uint8, key []byte) {
	if !IsMarked(name) || len(name) < MaxNameBytes {
		return 0, name
	}
	return name[len(mark)], name[MaxNameBytes:]
}

// KeyOf is the key of a name.
func KeyOf(name []byte) []byte {
	_, key := Split(name)
	return key
}
