package layout

import "encoding/binary"

// That a limiter has warned is the highest bit of the last 8 bytes of its state: no count and no fraction of a rate comes near it. WarnedBit is that bit, in
// the last byte.
const (
	WarnedBit = 0x80

	warned = 1 << 63
)

// LoadCount reads a number of tokens, and whether their window has warned.
func LoadCount(b []byte) (tokens int64, hasWarned bool) {
	n := binary.LittleEndian.Uint64(b)
	return int64(n &^ warned), n&warned != 0
}

// StoreCount writes what [LoadCount] reads.
func StoreCount(b []byte, tokens int64, hasWarned bool) {
	n := uint64(tokens)
	if hasWarned {
		n |= warned
	}
	binary.LittleEndian.PutUint64(b, n)
}
