package recent

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// requests are the recorded requests of one policy.
type requests struct {
	level atomic.Int32 // the callers that are recorded: see isKept

	mu      sync.Mutex
	chunks  []*chunk // the oldest first
	spare   *chunk   // one that was dropped, nil if there is none
	from    int64    // earlier requests are not there
	leftOut int64
}

// chunk holds requests, one after the other: the time since the first in nanoseconds, the tokens, shifted by one bit,
// which is set if they were denied, the id, the number of fields, and the fields. Numbers are uvarints, and the length
// is before every text.
type chunk struct {
	level   int // at which it began
	first   int64
	last    int64
	callers [callerBits / 64]uint64 // a bit for the hash of each
	used    int
	bytes   [chunkBytes]byte
}

// A list is thinned out only if about fewestCallers have a bit, so that half of them are enough to look at.
const (
	callerBits    = 1024
	fewestCallers = 100
)

// note keeps a request, and reports whether the level has changed.
func (r *requests) note(seed maphash.Seed, hash uint64, id []byte, fields [][]byte, now, tokens int64,
	denied bool) (changed bool) {
	size := 4*binary.MaxVarintLen64 + len(id)
	for _, f := range fields {
		size += binary.MaxVarintLen16 + len(f)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if size > maxRequest {
		r.leftOut++
		return false
	}
	before := r.level.Load()
	r.append(seed, hash, size, &Request{now, tokens, denied, id, fields})
	return r.level.Load() != before
}

// append adds a request, which takes at most size bytes, and makes room for it.
func (r *requests) append(seed maphash.Seed, hash uint64, size int, q *Request) {
	c := r.newest()
	if c == nil || c.used+size > chunkBytes {
		r.makeRoom(seed, q.At)
		if !isKept(hash, int(r.level.Load())) {
			return
		}
		if c = r.newest(); c == nil || c.used+size > chunkBytes {
			c = r.begin(q.At)
		}
	}
	c.add(hash, q)
}

// begin adds an empty chunk.
func (r *requests) begin(first int64) *chunk {
	c := r.spare
	if r.spare = nil; c == nil {
		c = new(chunk)
	}
	c.level, c.first, c.last, c.used = int(r.level.Load()), first, first, 0
	clear(c.callers[:])
	r.chunks = append(r.chunks, c)
	return c
}

func (r *requests) newest() *chunk {
	if len(r.chunks) == 0 {
		return nil
	}
	return r.chunks[len(r.chunks)-1]
}

func (c *chunk) add(hash uint64, q *Request) {
	bit := hash >> 32 % callerBits
	c.callers[bit/64] |= 1 << (bit % 64)
	c.last = max(c.last, q.At)
	what := uint64(max(q.Tokens, 0)) << 1
	if q.Denied {
		what |= 1
	}
	b := binary.AppendUvarint(c.bytes[:c.used], uint64(max(0, q.At-c.first)))
	b = appendText(binary.AppendUvarint(b, what), q.ID)
	b = binary.AppendUvarint(b, uint64(len(q.Fields)))
	for _, f := range q.Fields {
		b = appendText(b, f)
	}
	c.used = len(b)
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// makeRoom drops the chunks before the window. Where that is not enough, it leaves out half of the callers, or with few
// of them the oldest chunk. With room to spare it records twice as many callers from here on.
func (r *requests) makeRoom(seed maphash.Seed, now int64) {
	old := 0
	for old < len(r.chunks) && r.chunks[old].last < now-int64(Window) {
		r.from = max(r.from, r.chunks[old].last+1)
		old++
	}
	r.drop(old)
	level := r.level.Load()
	switch {
	case len(r.chunks) < maxChunks:
		if level > 0 && len(r.chunks) < maxChunks/4 && now-r.from >= int64(Window) {
			r.level.Store(level - 1)
		}
	case r.callers() < fewestCallers || level == maxLevel:
		r.from = r.chunks[0].last + 1
		r.drop(1)
	default:
		r.level.Store(level + 1)
		r.thin(seed)
	}
}

// drop drops the oldest chunks.
func (r *requests) drop(count int) {
	if count > 0 {
		r.spare = r.chunks[0]
		r.chunks = slices.Delete(r.chunks, 0, count)
	}
}

// callers estimates how many callers there are, and is never too high.
func (r *requests) callers() (count int) {
	var all [callerBits / 64]uint64
	for _, c := range r.chunks {
		for i, word := range c.callers {
			all[i] |= word
		}
	}
	for _, word := range all {
		count += bits.OnesCount64(word)
	}
	return count
}

// thin drops the requests of callers that are not recorded at the level.
func (r *requests) thin(seed maphash.Seed) {
	level := int(r.level.Load())
	old := r.chunks
	r.chunks = make([]*chunk, 0, maxChunks)
	for _, c := range old {
		c.each(func(q *Request, size int) {
			hash := maphash.Bytes(seed, q.ID)
			if !isKept(hash, level) {
				return
			}
			to := r.newest()
			if to == nil || to.used+size+binary.MaxVarintLen64 > chunkBytes {
				to = r.begin(q.At)
			}
			to.add(hash, q)
		})
	}
}

// each calls visit for the requests of a chunk, with the bytes they take. The texts lie in the chunk.
func (c *chunk) each(visit func(q *Request, size int)) {
	for b := c.bytes[:c.used]; len(b) > 0; {
		before := len(b)
		var q Request
		after, b2 := number(b)
		what, b2 := number(b2)
		q.At, q.Tokens, q.Denied = c.first+int64(after), int64(what>>1), what&1 == 1
		q.ID, b2 = text(b2)
		count, b2 := number(b2)
		if count > 0 {
			q.Fields = make([][]byte, count)
		}
		for i := range q.Fields {
			q.Fields[i], b2 = text(b2)
		}
		b = b2
		visit(&q, before-len(b))
	}
}

func number(b []byte) (n uint64, rest []byte) {
	n, size := binary.Uvarint(b)
	return n, b[size:]
}

func text(b []byte) (text, rest []byte) {
	n, b := number(b)
	return b[:n:n], b[n:]
}

// idleSince reports whether no request has come since a time.
func (r *requests) idleSince(from int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.newest()
	return c == nil || c.last < from
}

// list returns the requests since a time from callers that were recorded the whole time.
func (r *requests) list(seed maphash.Seed, from int64) (l Requests) {
	r.mu.Lock()
	var chunks []*chunk
	level := int(r.level.Load())
	for _, c := range r.chunks {
		if c.last >= from {
			copied := *c
			chunks = append(chunks, &copied)
			level = max(level, c.level)
		}
	}
	l.From, l.LeftOut = max(from, r.from), r.leftOut
	r.mu.Unlock()
	l.OneIn = 1 << level
	for _, c := range chunks {
		c.each(func(q *Request, _ int) {
			if q.At >= l.From && isKept(maphash.Bytes(seed, q.ID), level) {
				l.All = append(l.All, *q)
			}
		})
	}
	return l
}
