package arena

import "sync/atomic"

// LargeCounts counts, for each shard, the segments of more than SegmentBytes, which have one record each, and the values in
// blocks. It may be read without the locks of the shards.
type LargeCounts struct {
	total   atomic.Int64
	ofShard []atomic.Int32 // by the numbers of shards
	// long are the shards that since ofShard was 0 have had such a segment, or a value in blocks with an element of more
	// than longElement bytes.
	long  []atomic.Bool
	longs atomic.Int32 // of them
}

// longElement is the size of an element beyond which it takes long to find or change elements beside it.
const longElement = 1 << 10

// Init begins to count.
func (l *LargeCounts) Init(shards int) {
	l.ofShard, l.long = make([]atomic.Int32, shards), make([]atomic.Bool, shards)
}

// Any reports whether anything is counted.
func (l *LargeCounts) Any() bool { return l.total.Load() != 0 }

// AnyLong reports whether any shard may have long elements.
func (l *LargeCounts) AnyLong() bool { return l.longs.Load() != 0 }

// Of reports whether anything of a shard is counted, and whether it may have long elements.
func (l *LargeCounts) Of(shard uint32) (any, long bool) {
	return l.ofShard[shard].Load() > 0, l.long[shard].Load()
}

// Count counts a segment that a shard gets, or gives back, if it is large.
func (l *LargeCounts) Count(shard uint32, bytes, change int) {
	if bytes > SegmentBytes {
		l.Add(shard, change)
		l.NoteLongest(shard, bytes)
	}
}

// Add counts values in blocks.
func (l *LargeCounts) Add(shard uint32, values int) {
	l.total.Add(int64(values))
	if l.ofShard[shard].Add(int32(values)) == 0 && l.long[shard].Swap(false) {
		l.longs.Add(-1)
	}
}

// NoteLongest notes the bytes of the longest element of a value, which is counted.
func (l *LargeCounts) NoteLongest(shard uint32, bytes int) {
	if bytes > longElement && l.ofShard[shard].Load() > 0 && !l.long[shard].Swap(true) {
		l.longs.Add(1)
	}
}

// Clear counts nothing of a shard any more.
func (l *LargeCounts) Clear(shard uint32) { l.Add(shard, -int(l.ofShard[shard].Load())) }
