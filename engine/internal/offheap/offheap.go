// Package offheap allocates blocks of memory that hold no pointers. Large ones come from the operating system: the
// garbage collector neither scans them nor counts them when it decides how far the heap may grow.
package offheap

import "unsafe"

// minBytes is the size of the smallest block that does not come from the Go heap.
const minBytes = 4 << 10

// New returns n zero bytes, aligned to 8. As far as its capacity reaches, it may be made larger: the further bytes
// are zero.
func New(n int) (block []byte) {
	switch {
	case n == PieceBytes:
		block = full.take()
	case n > PieceBytes && n != roomBytes: // Free knows those of rooms by their capacity
		block = mapBlock(n)
	case n >= minBytes:
		block = rooms.take()
	}
	if block != nil {
		return block[:n]
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// Free gives a whole block of New back; it must not be used afterwards.
func Free(b []byte) {
	switch {
	case cap(b) == PieceBytes:
		full.give(b)
	case cap(b) == roomBytes:
		rooms.give(b)
	case len(b) >= minBytes:
		unmapBlock(b)
	}
}

// Words returns a block of New as 64-bit words.
func Words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), cap(b)/8)[:len(b)/8]
}

// Bytes is the reverse of Words.
func Bytes(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), cap(words)*8)[:len(words)*8]
}
