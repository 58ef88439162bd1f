package keyspace

import (
	"github.com/stintdb/stint/engine/internal/arena"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/internal/offheap"
	"github.com/stintdb/stint/engine/internal/tagindex"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/spread"
)

// memory hands out the store's large blocks and counts them. Their contents hold no pointers.
type memory struct {
	purse.Counts               // of keys whose limit has its home elsewhere
	lentKeys      atomic.Int64 // keys with loans
	LendsToMany   atomic.Bool  // a key has up to layout.MaxLoans holders, else up to layout.FewLoans
	max           atomic.Int64 // bytes, 0 for no bound
	used          atomic.Int64
	large         arena.LargeCounts
	snapshotBytes atomic.Int64 // bytes that a Snapshot holds, which are not in used

	// growing is the number of bytes by which the states of logs and leases can still grow, if all reach their limits.
	growing atomic.Int64

	replicated bool // the bound is kept by operations, not here

	buffers   sync.Pool // of *[arena.SegmentBytes]byte
	databases database.Counts

	Denied spread.Table // tells denied callers when to come back; it is here because all shards share it
}

// reserveShare divides the bound: at most one such part of it is reserved for the logs and leases of existing keys.
const reserveShare = 8

// reserve returns the part of the memory bound, in bytes, that new keys may not take: logs and leases grow into it.
func (m *memory) reserve() int64 { return min(m.growing.Load(), m.max.Load()/reserveShare) }

// fits reports whether the bound has room for more bytes. New keys may not take the reserve.
func (m *memory) fits(bytes int64, newKeys bool) bool {
	max := m.max.Load()
	if max <= 0 || bytes <= 0 {
		return true
	}
	if newKeys {
		max -= m.reserve()
	}
	return m.used.Load()+bytes <= max
}

// allows is fits, but always true in a replicated store: operations keep its bound.
func (m *memory) allows(bytes int64, newKeys bool) bool {
	return m.replicated || m.fits(bytes, newKeys)
}

// block returns n zero bytes, aligned to 8.
func (m *memory) block(n int) []byte {
	m.used.Add(int64(n))
	return offheap.New(n)
}

// extend returns a block with n bytes at its place. Its capacity has room for them, and they are zero.
func (m *memory) extend(b []byte, n int) []byte {
	m.used.Add(int64(n - len(b)))
	return b[:n]
}

func (m *memory) free(b []byte) {
	m.used.Add(-int64(len(b)))
	offheap.Free(b)
}

// pages hands out the memory of an index, and of the blocks of large values.
type pages struct{ m *memory }

// Slots implements [tagindex.Memory].
func (p pages) Slots(n int) []uint64 { return offheap.Words(p.m.block(n * tagindex.SlotBytes)) }

// FreeSlots implements [tagindex.Memory].
func (p pages) FreeSlots(s []uint64) {
	if len(s) > 0 {
		p.m.free(offheap.Bytes(s))
	}
}

// Block implements [blocks.Memory].
func (p pages) Block(n int) []byte { return p.m.block(n) }

// Free implements [blocks.Memory].
func (p pages) Free(b []byte) { p.m.free(b) }

// copyBlock is block for the copies of a Snapshot.
func (m *memory) copyBlock(n int) []byte {
	m.snapshotBytes.Add(int64(n))
	return offheap.New(n)
}

func (m *memory) freeCopy(b []byte) {
	m.snapshotBytes.Add(-int64(len(b)))
	offheap.Free(b)
}

// Bytes is the memory of all entries, tables and room to grow included.
func (m *memory) Bytes() int64 { return m.used.Load() }

// ReservedBytes is the part of the bound that is reserved for the logs and leases of existing keys: their growth up to
// their limits, but at most an eighth of the bound.
func (m *memory) ReservedBytes() int64 { return m.reserve() }

// SetMaxBytes changes the bound on the memory of entries; 0 is none. Keys already there stay.
func (m *memory) SetMaxBytes(bytes int64) { m.max.Store(bytes) }

// IsReplicated reports whether operations alone decide on new keys.
func (m *memory) IsReplicated() bool { return m.replicated }

// SnapshotBytes is the memory of the records that a [Snapshot] has copied and not visited yet. It is not part of Bytes.
func (m *memory) SnapshotBytes() int64 { return m.snapshotBytes.Load() }

// LentKeys is the number of keys with loans. Those whose loans have ended count until they are dropped.
func (m *memory) LentKeys() int64 { return m.lentKeys.Load() }

// LastDatabase is the highest number of a database with keys.
func (m *memory) LastDatabase() int { return m.databases.Last() }
