package layout

import "encoding/binary"

// Leases is the state of a concurrency limit: who holds it, until when.
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     bytes in use, and the warned bit
//	8       8     end of the last lease, nanoseconds since the Unix epoch
//	16      …     leases: 8 end, 2 length of the holder's name, the name
type Leases []byte

const (
	// LeasesHead is the number of bytes before the leases.
	LeasesHead = 16
	// LeasesWarnedAt is the byte that has [WarnedBit].
	LeasesWarnedAt = 7
	// LeaseHead is the number of bytes of a lease without the name of its holder.
	LeaseHead = 10
	// LeasesFirst is the number of bytes of the smallest state.
	LeasesFirst = 64
)

// Used is the number of bytes of the leases.
func (l Leases) Used() int { return LoadSize(l[4:]) }

// SetUsed changes [Leases.Used].
func (l Leases) SetUsed(n int) { StoreSize(l[4:], n) }

// Last is the end of the last lease, in nanoseconds since the Unix epoch.
func (l Leases) Last() int64 { return int64(binary.LittleEndian.Uint64(l[8:])) }

// SetLast changes [Leases.Last].
func (l Leases) SetLast(at int64) { binary.LittleEndian.PutUint64(l[8:], uint64(at)) }

// At returns the lease at an offset and the offset after it.
func (l Leases) At(offset int) (end int64, holder []byte, next int) {
	end = int64(binary.LittleEndian.Uint64(l[offset:]))
	next = offset + LeaseHead + int(binary.LittleEndian.Uint16(l[offset+8:]))
	return end, l[offset+LeaseHead : next], next
}

// Put writes a lease at an offset and returns the offset after it.
func (l Leases) Put(offset int, end int64, holder []byte) int {
	binary.LittleEndian.PutUint64(l[offset:], uint64(end))
	binary.LittleEndian.PutUint16(l[offset+8:], uint16(len(holder)))
	copy(l[offset+LeaseHead:], holder)
	return offset + LeaseHead + len(holder)
}

// ValidLeases reports whether all offsets of a state are within it.
func ValidLeases(state []byte) bool {
	l := Leases(state)
	if len(l) < LeasesHead || l.Used() < LeasesHead || l.Used() > len(l) {
		return false
	}
	offset := LeasesHead
	for offset < l.Used() {
		if offset+LeaseHead > l.Used() {
			return false
		}
		if offset += LeaseHead + int(binary.LittleEndian.Uint16(l[offset+8:])); offset > l.Used() {
			return false
		}
	}
	return true
}

// PlainLeases lists the leases that have not ended, after a byte that says whether the limiter has warned.
func PlainLeases(state []byte, now int64) (plain []byte) {
	l := Leases(state)
	if l[LeasesWarnedAt]&WarnedBit != 0 {
		plain = append(plain, 1)
	}
	for offset := LeasesHead; offset < l.Used(); {
		end, _, next := l.At(offset)
		if end > now {
			plain = append(plain, l[offset:next]...)
		}
		offset = next
	}
	return plain
}
