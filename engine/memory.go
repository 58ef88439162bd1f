package engine

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// memory hands out the store's large blocks and counts them. Blocks hold no pointers; those of offHeapBytes and more
// come from the operating system directly, so that the garbage collector neither scans them nor counts them when it
// decides how far the heap may grow.
type memory struct {
	max    atomic.Int64 // bytes, 0 for no bound
	used   atomic.Int64
	frozen atomic.Int64 // bytes of what a Frozen keeps, which are not in used

	governed bool // by operations: the bound is not held here

	buffers sync.Pool // of *[compactBytes]byte
}

const offHeapBytes = 4 << 10

// allows reports whether that many more bytes stay within the bound.
func (m *memory) allows(bytes int64) bool {
	max := m.max.Load()
	return max <= 0 || m.governed || bytes <= 0 || m.used.Load()+bytes <= max
}

// block returns n zero bytes, aligned to 8.
func (m *memory) block(n int) []byte {
	m.used.Add(int64(n))
	return newBlock(n)
}

func newBlock(n int) []byte {
	if n >= offHeapBytes {
		if b := mapBlock(n); b != nil {
			return b
		}
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

func (m *memory) free(b []byte) {
	m.used.Add(-int64(len(b)))
	freeBlock(b)
}

func freeBlock(b []byte) {
	if len(b) >= offHeapBytes {
		unmapBlock(b)
	}
}

// slots is block for an index.
func (m *memory) slots(n int) []uint64 { return slotsOf(m.block(n * slotBytes)) }

func (m *memory) freeSlots(s []uint64) {
	if len(s) > 0 {
		m.free(bytesOf(s))
	}
}

// copyBlock is block for what a Frozen keeps.
func (m *memory) copyBlock(n int) []byte {
	m.frozen.Add(int64(n))
	return newBlock(n)
}

func (m *memory) freeCopy(b []byte) {
	m.frozen.Add(-int64(len(b)))
	freeBlock(b)
}

func slotsOf(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/slotBytes)
}

func bytesOf(s []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*slotBytes)
}
