package offheap

import "sync"

const (
	// PieceBytes is the size of the blocks of which a large store has most. They are cut from larger ones: the system
	// bounds the number of mappings of a process, on Linux to 65,530.
	PieceBytes   = 64 << 10
	regionPieces = 64
)

// roomBytes is the capacity of a smaller block, which takes memory only for the pages in use, so that it can grow at
// its place. It differs from PieceBytes, because Free finds out by the capacity where a block is from.
const roomBytes = 2 * PieceBytes

// pieces are cut from regions that are never unmapped. A free piece takes addresses, and no memory.
type pieces struct {
	bytes  int
	sparse bool // most of a piece may be unused, so that huge pages would waste memory

	mu   sync.Mutex
	free [][]byte
}

var (
	full  = pieces{bytes: PieceBytes}
	rooms = pieces{bytes: roomBytes, sparse: true}
)

// take returns nil when the system refuses.
func (p *pieces) take() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		region := mapBlock(regionPieces * p.bytes)
		if region == nil {
			return nil
		}
		if p.sparse {
			avoidHugePages(region)
		}
		for from := len(region); from > 0; from -= p.bytes { // the first piece is taken first
			p.free = append(p.free, region[from-p.bytes:from:from])
		}
	}
	last := len(p.free) - 1
	piece := p.free[last]
	p.free = p.free[:last]
	return piece
}

// give takes a piece back, to be taken again. Only the bytes of the block are other than 0.
func (p *pieces) give(block []byte) {
	if !discard(block) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, block[:p.bytes])
}
