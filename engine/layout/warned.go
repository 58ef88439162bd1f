package layout

import "encoding/binary"

// That a limiter has warned is the highest bit of a number of its state that does not come near it: a count, the
// fraction of a rate, a size. WarnedBit is that bit, in the last byte of the number.
const (
	WarnedBit = 0x80

	warned = 1 << 63
)

// LoadCount reads a number of tokens, and whether their window has warned.
func LoadCount(b []byte) (tokens int64, hasWarned bool) {
	n := binary.LittleEndian.Uint64(b)
	return int64(n &^ warned), n&warned != 0
}

// LoadSize reads a size of 4 bytes beside the bit.
func LoadSize(b []byte) int { return int(binary.LittleEndian.Uint32(b) &^ (1 << 31)) }

// StoreSize writes a size, and leaves the bit as it is.
func StoreSize(b []byte, size int) {
	binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)&(1<<31)|uint32(size))
}

// StoreCount writes what [LoadCount] reads.
func StoreCount(b []byte, tokens int64, hasWarned bool) {
	n := uint64(tokens)
	if hasWarned {
		n |= warned
	}
	binary.LittleEndian.PutUint64(b, n)
}
